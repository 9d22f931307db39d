"""Apache Paimon's own Java library as a second reader and writer of the tables of the tests."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyspark

from tests import packages

PAIMON = "org.apache.paimon:paimon-bundle:1.4.2"
_FROM_PYSPARK = ("hadoop-client-api", "hadoop-client-runtime", "slf4j-api", "jcl-over-slf4j", "snappy-java", "lz4-java")


def available() -> bool:
    """Whether the library can be had: it is fetched by Maven once."""
    return packages.available(PAIMON) and bool(shutil.which("javac"))


def classpath() -> list[str]:
    """The library and what it needs of Spark's jars."""
    jars = Path(pyspark.__file__).parent / "jars"
    needed = [j for j in sorted(jars.glob("*.jar")) if j.name.startswith(_FROM_PYSPARK)]
    return [str(packages.fetched(PAIMON)), *map(str, needed)]


class JavaPaimon:
    """Calls ``PaimonCheck`` on tables of a warehouse, in a JVM that stays."""

    def __init__(self, source: Path, classes: Path) -> None:
        here = Path(__file__).parent
        own = ("PaimonServer.java", "FilteredRead.java", "GlobalIndexBuild.java", "TableStatistics.java")
        sources = [str(source), *(str(here / name) for name in own)]
        subprocess.run(["javac", "-cp", ":".join(classpath()), "-d", str(classes), *sources], check=True)
        self._java = ["java", "-Xmx1g", "-cp", ":".join([str(classes), *classpath()])]
        self._server = subprocess.Popen(
            [*self._java, "PaimonServer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def close(self) -> None:
        """End the JVM."""
        self._server.communicate()

    def read(self, warehouse: Path, table: str, *options: str) -> list[list[Any]]:
        """The table's rows as Java reads them, without their kinds, which must all be inserts."""
        rows = self.changes(warehouse, table, *options)
        assert all(kind == "+I" for kind, *_ in rows), rows
        return sorted(([*values] for _, *values in rows), key=json.dumps)

    def changes(self, warehouse: Path, table: str, *options: str) -> list[list[Any]]:
        """The table's rows behind their kinds."""
        return [json.loads(line) for line in self._run("read", warehouse, table, options)]

    def filtered(self, warehouse: Path, questions: Path) -> list[tuple[int, list[int]]]:
        """For each line of a file the number of files that a plan leaves, and the first column of the rows read.

        A line is a table, a column, an operator and a value, with tabs between; see ``FilteredRead``.
        """
        asked = [*self._java, "FilteredRead", str(warehouse), str(questions)]
        answer = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
        return [(files, rows) for files, rows in map(json.loads, answer.splitlines())]

    def build_btree(self, warehouse: Path, table: str, column: str) -> None:
        """Build a B-tree global index over a column, of rows that have none yet."""
        asked = [*self._java, "GlobalIndexBuild", str(warehouse), table, column]
        subprocess.run(asked, check=True, capture_output=True, text=True)

    def statistics(self, warehouse: Path, table: str, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The table's statistics as Java reads them, after it has committed those that are given."""
        asked = [*self._java, "TableStatistics", str(warehouse), table, *([json.dumps(given)] if given else [])]
        answer: dict[str, Any] = json.loads(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)
        return answer

    def write(self, warehouse: Path, table: str, rows: Iterable[Sequence[Any]], *options: str) -> None:
        """Append rows in one commit."""
        text = "\n".join(json.dumps(["+I", *row]) for row in rows)
        self._run("write", warehouse, table, options, text)

    def compact(self, warehouse: Path, table: str) -> None:
        """Compact the table fully."""
        self._run("compact", warehouse, table, ())

    def _run(
        self, verb: str, warehouse: Path, table: str, options: Sequence[str], text: str | None = None
    ) -> list[str]:
        arguments, rows = [verb, str(warehouse), table, *options], text.split("\n") if text else []
        request = [str(len(arguments)), *arguments, str(len(rows)), *rows]
        requests, answers = self._server.stdin, self._server.stdout
        assert requests is not None and answers is not None
        requests.write("".join(f"{line}\n" for line in request).encode())
        requests.flush()
        status, size = map(int, answers.readline().split())
        said = answers.read(size).decode()
        assert status == 0, said
        return [line for line in said.splitlines() if line.startswith(("[", "{"))]
