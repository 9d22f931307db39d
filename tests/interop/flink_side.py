"""Apache Flink with Paimon's connector, on a cluster of its own inside a JVM."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark

from tests import packages

from .conversation import Conversation

VERSION = "1.20.3"
CONNECTOR = "org.apache.paimon:paimon-flink-1.20:1.3.1"
ARTIFACTS = [
    f"org.apache.flink:flink-{part}:{VERSION}"
    for part in ("table-api-java-bridge", "table-planner-loader", "table-runtime", "clients", "connector-files")
]
_FROM_PYSPARK = ("hadoop-client-api", "hadoop-client-runtime", "slf4j-api", "jcl-over-slf4j")
_OPENED = ("lang", "lang.invoke", "lang.reflect", "net", "io", "nio", "text", "time", "util", "util.concurrent")

Rows = list[list[Any]]


def available() -> bool:
    """Whether Flink can be had: it is fetched by Maven once."""
    there = bool(shutil.which("mvn")) or (packages.CACHE / f"flink-{VERSION}").exists()
    return bool(shutil.which("javac")) and there and packages.available(CONNECTOR)


class Flink:
    """Flink's SQL over a warehouse, in batches and streams, as ``FlinkSql`` runs it.

    Args:
        warehouse: the folder that its catalog ``lake`` is over.
        classes: a folder for compiled classes.
    """

    def __init__(self, warehouse: Path, classes: Path) -> None:
        jars = Path(pyspark.__file__).parent / "jars"
        fetched = packages.fetched_together(f"flink-{VERSION}", ARTIFACTS, without=["org.slf4j:*"])
        spark = [j for j in sorted(jars.glob("*.jar")) if j.name.startswith(_FROM_PYSPARK)]
        path = ":".join(map(str, [classes, packages.fetched(CONNECTOR), *fetched, *spark]))
        source = Path(__file__).with_name("FlinkSql.java")
        subprocess.run(["javac", "-cp", path, "-d", str(classes), str(source)], check=True)
        opened = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in _OPENED]
        self._ask = Conversation(
            subprocess.Popen(
                ["java", *opened, "-Xmx1g", "-cp", path, "FlinkSql", str(warehouse)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        )

    def __call__(self, sql: str) -> Rows:
        """Run a statement as a batch; its rows, in an order that does not hang on Flink."""
        rows: Rows = self._answer("batch", _line(sql))
        assert all(kind in ("+I", "+U") for kind, *_ in rows), rows
        return sorted(([*values] for _, *values in rows), key=json.dumps)

    def prepare(self, sql: str) -> None:
        """Have a statement without a job, such as CREATE TEMPORARY TABLE, run before each of the streams to come."""
        self._answer("prepare", _line(sql))

    def start(self, sql: str, savepoint: str = "") -> Stream:
        """Start an INSERT that streams, from a savepoint if one is given."""
        return Stream(self._answer, self._answer("start", _line(sql), savepoint))

    @contextmanager
    def watching(self, sql: str) -> Iterator[Watched]:
        """The changes of a query that streams, until the end of the ``with``."""
        number = self._answer("watch", _line(sql))
        try:
            yield Watched(self._answer, number)
        finally:
            self._answer("leave", number)

    def close(self) -> None:
        """End the JVM."""
        self._ask.close()

    def _answer(self, *words: object) -> Any:
        (answer,) = self._ask(*words)
        return json.loads(answer)


class _Running:
    """A statement that streams.

    Args:
        answer: what asks Flink.
        number: its number there.
    """

    def __init__(self, answer: Any, number: int) -> None:
        self._answer = answer
        self._number = number


class Stream(_Running):
    """An INSERT that streams."""

    def wait(self) -> None:
        """Wait until it is over; AssertionError if it fails."""
        self._answer("await", self._number)

    def stop(self, folder: Path) -> str:
        """End it with a savepoint; where that stands."""
        return str(self._answer("stop", self._number, folder))


class Watched(_Running):
    """A query that streams."""

    def __call__(self, count: int, seconds: int = 30) -> Rows:
        """Its next so many changes, each behind its kind, in an order that does not hang on Flink."""
        found: Rows = self._answer("changes", self._number, count, seconds)
        return sorted(found, key=json.dumps)


def _line(sql: str) -> str:
    return " ".join(sql.split())
