"""A catalog that Apache Paimon's Java library opens, in a JVM of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyspark

from tests import packages

from .java import classpath

DRIVERS = ("org.xerial:sqlite-jdbc:3.46.1.3", "org.postgresql:postgresql:42.7.4", "com.mysql:mysql-connector-j:8.4.0")


def drivers() -> list[str]:
    """The jars by which a JDBC catalog speaks with its database."""
    return [str(packages.fetched(d)) for d in DRIVERS]


def hive_client() -> list[str]:
    """The jars by which a Hive catalog speaks with the metastore: PySpark has them."""
    return [str(Path(pyspark.__file__).parent / "jars" / "*")]


class JavaCatalog:
    """Sends requests to ``CatalogServer``, one after the other.

    Args:
        classes: the folder of the compiled program.
        more: the jars that it needs beside Paimon's and Hadoop's.
    """

    def __init__(self, classes: Path, more: Iterable[str]) -> None:
        jars = [str(classes), *classpath(), *more]
        self._process = subprocess.Popen(
            ["java", "-Xmx512m", "-cp", ":".join(jars), "CatalogServer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None,
            text=True,
        )

    def open(self, options: Mapping[str, str]) -> None:
        """Work with the catalog of these options from now on."""
        self("open", *(f"{k}={v}" for k, v in options.items()))

    def __call__(self, *words: object) -> list[str]:
        """What it answers; AssertionError for an error."""
        self.send(*words)
        return self.answer()

    def send(self, *words: object) -> None:
        """Ask without waiting for the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write("\t".join(map(str, words)) + "\n")
        self._process.stdin.flush()

    def answer(self) -> list[str]:
        """The next answer."""
        status, *words = self.line()
        assert status == "ok", words
        return words

    def line(self) -> list[str]:
        """The next line of answers as it is."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n").split("\t")

    def close(self) -> None:
        """End the JVM."""
        self._process.communicate()


def compiled(folder: Path) -> Path:
    """The folder with the compiled program."""
    source = Path(__file__).parent / "CatalogServer.java"
    subprocess.run(["javac", "-cp", ":".join(classpath()), "-d", str(folder), str(source)], check=True)
    return folder
