"""A catalog that Apache Paimon's Java library opens, in a JVM of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyspark

from tests import packages

from .conversation import Conversation
from .java import classpath

DRIVERS = ("org.xerial:sqlite-jdbc:3.46.1.3", "org.postgresql:postgresql:42.7.4", "com.mysql:mysql-connector-j:8.4.0")


def drivers() -> list[str]:
    """The jars by which a JDBC catalog speaks with its database."""
    return [str(packages.fetched(d)) for d in DRIVERS]


def hive_client() -> list[str]:
    """The jars by which a Hive catalog speaks with the metastore: PySpark has them."""
    return [str(Path(pyspark.__file__).parent / "jars" / "*")]


class JavaCatalog(Conversation):
    """Sends requests to ``CatalogServer``, one after the other.

    Args:
        classes: the folder of the compiled program.
        more: the jars that it needs beside Paimon's and Hadoop's.
    """

    def __init__(self, classes: Path, more: Iterable[str]) -> None:
        jars = [str(classes), *classpath(), *more]
        program = ["java", "-Xmx512m", "-cp", ":".join(jars), "CatalogServer"]
        super().__init__(subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))

    def open(self, options: Mapping[str, str]) -> None:
        """Work with the catalog of these options from now on."""
        self("open", *(f"{k}={v}" for k, v in options.items()))


def compiled(folder: Path) -> Path:
    """The folder with the compiled program."""
    source = Path(__file__).parent / "CatalogServer.java"
    subprocess.run(["javac", "-cp", ":".join(classpath()), "-d", str(folder), str(source)], check=True)
    return folder
