"""Readers of Iceberg's: pyiceberg in an environment of its own, and Iceberg's own Java library."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark

from tests import packages
from tests.environments import environment

PROGRAM = Path(__file__).with_name("pyiceberg_program.py")
VERSION = "1.12.0"
ARTIFACTS = [f"org.apache.iceberg:iceberg-{part}:{VERSION}" for part in ("core", "data", "parquet")]
_FROM_PYSPARK = ("hadoop-client-api", "hadoop-client-runtime", "jcl-over-slf4j")

RUNTIME = f"org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:{VERSION}"
SPARK_PROGRAM = Path(__file__).with_name("iceberg_spark_program.py")

Rows = list[list[Any]]


def current_file(metadata: Path) -> Path:
    """The file of table metadata that readers of a folder look at."""
    return metadata / f"v{(metadata / 'version-hint.text').read_text()}.metadata.json"


def in_order(rows: Rows) -> Rows:
    """Rows in an order that does not hang on who read them."""
    return sorted(rows, key=lambda row: json.dumps(row, default=str))


class PyIceberg:
    """A running pyiceberg."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [str(environment("pyiceberg")), str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def read(self, metadata: Path, state: int | str | None = None, where: str | None = None) -> Rows:
        """The rows of a table by its folder of metadata: of a snapshot, a tag or its newest state."""
        return self.read_file(str(current_file(metadata)), state, where)

    def read_file(self, file: str, state: int | str | None = None, where: str | None = None) -> Rows:
        """The same by a file of metadata."""
        return self._ask({"file": file, "state": state, "filter": where})

    def read_catalog(self, table: str, **catalog: str) -> Rows:
        """The rows of a table by its name in a catalog with such properties."""
        return self._ask({"catalog": catalog, "table": table})

    def described(self, table: str, **catalog: str) -> dict[str, Any]:
        """The metadata of a table, as a catalog has them."""
        found: dict[str, Any] = self._answer({"catalog": catalog, "table": table, "describe": True})
        return found

    def _ask(self, request: dict[str, Any]) -> Rows:
        return in_order(self._answer(request))

    def _answer(self, request: dict[str, Any]) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.write(json.dumps(request) + "\n")
        stdin.flush()
        answer = json.loads(stdout.readline())
        assert "rows" in answer, answer
        return answer["rows"]

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=30)


def java_program(name: str, classes: Path) -> list[str]:
    """The command that runs one of the programs here with Iceberg's Java library, compiled into a folder."""
    jars = Path(pyspark.__file__).parent / "jars"
    own = packages.fetched_together(f"iceberg-{VERSION}", ARTIFACTS)
    hadoop = [j for j in sorted(jars.glob("*.jar")) if j.name.startswith(_FROM_PYSPARK)]
    path = ":".join(map(str, [classes, *own, *hadoop]))
    source = Path(__file__).with_name(f"{name}.java")
    subprocess.run(["javac", "-cp", path, "-d", str(classes), str(source)], check=True)
    return ["java", "-Xmx512m", "-cp", path, name]


class JavaIceberg:
    """Iceberg's Java library in a JVM that stays.

    Args:
        classes: a folder for compiled classes.
    """

    def __init__(self, classes: Path) -> None:
        self._process = subprocess.Popen(
            java_program("IcebergReader", classes),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    @staticmethod
    def available() -> bool:
        """Whether the library can be had: it is fetched by Maven once."""
        return bool(shutil.which("javac") and (shutil.which("mvn") or (packages.CACHE / f"iceberg-{VERSION}").exists()))

    def read(self, table: Path, state: int | str = "") -> Rows:
        """The rows of a table whose metadata stand in its folder."""
        return self.ask("path", str(table), state)

    def read_catalog(self, warehouse: Path, name: str, state: int | str = "") -> Rows:
        """The rows of a table of a Hadoop catalog."""
        return self.ask("warehouse", str(warehouse), name, state)

    def ask(self, *words: object) -> Rows:
        """The rows that a request is answered with."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.write("\t".join(map(str, words)) + "\n")
        stdin.flush()
        rows = []
        while (line := stdout.readline()).strip():
            assert not line.startswith("error"), line
            rows.append(json.loads(line))
        return in_order(rows)

    def close(self) -> None:
        """End the JVM."""
        self._process.communicate(timeout=30)


class IcebergSpark:
    """A Spark of its own with Iceberg's runtime.

    Args:
        warehouse: the folder that its catalogs ``place`` and ``apart`` find tables in.
    """

    def __init__(self, warehouse: Path) -> None:
        jar = packages.fetched(RUNTIME)
        self._process = subprocess.Popen(
            [sys.executable, str(SPARK_PROGRAM), str(warehouse), str(jar)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __call__(self, query: str) -> Rows:
        """The rows of a query."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.write(json.dumps(query) + "\n")
        stdin.flush()
        answer = json.loads(stdout.readline())
        assert "rows" in answer, answer
        return in_order(answer["rows"])

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=30)
