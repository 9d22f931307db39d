"""Statements: small classes in a registry with weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from pyhive import hive
from pyspark.sql import SparkSession

from paimon_sql.spark.thrift.server import HOST, PORT, ThriftServer
from tests.faults.history import Role
from tests.faults.model import Row
from tests.faults.processes.party import RecordedJob
from tests.faults.spark.harm import harmed
from tests.faults.tables import TableKind

STATEMENTS: dict[str, Statement] = {}
"""All statements by name."""
TABLE = "db.t"
COLUMNS = "id INT, v STRING, n BIGINT, p STRING"


class Connection:
    """A Spark session, and a Thrift server for the same tables once it is asked for.

    Args:
        spark: the session.
        folder: the round's directory.
    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self._server: ThriftServer | None = None
        spark.udf.register("harmed", harmed, "int")

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        return [tuple(row) for row in self.spark.sql(text).collect()]

    def thrift(self, text: str) -> list[tuple[Any, ...]]:
        """The rows of a statement that Thrift's clients make."""
        if self._server is None:
            self._server = ThriftServer(self.spark, {HOST: "127.0.0.1", PORT: "0"})
        with closing(hive.connect(self._server.host, self._server.port)) as connection:
            cursor = connection.cursor()
            cursor.execute(text)
            return [] if cursor.description is None else cursor.fetchall()

    def either(self, chance: Any) -> Callable[[str], list[tuple[Any, ...]]]:
        """One of the ways to make a statement."""
        return self.thrift if chance.random() < 0.15 else self.sql


class SparkJob(RecordedJob):
    """One statement of a party."""

    connection: Connection

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """The rows of a statement, made in one of the ways."""
        return self.connection.either(self.chance)(text)

    def sure(self) -> None:
        """The statement has certainly changed something: its snapshot must be in the history."""
        self.journal.write("sure", token=self.operation.token)


class Statement(ABC):
    """Something that a party does.

    Attributes:
        name: its name.
        weight: how often it is chosen.
        role: how it changes the history.
    """

    name: str
    weight: float
    role: Role = Role.OTHER

    def __init_subclass__(cls, **arguments: object) -> None:
        super().__init_subclass__(**arguments)
        if hasattr(cls, "name"):
            STATEMENTS[cls.name] = cls()

    def fits(self, kind: TableKind) -> bool:
        """Whether it can be done to such a table."""
        return True

    @abstractmethod
    def run(self, job: SparkJob) -> None:
        """Do it."""


def literal(value: object) -> str:
    """A value as SQL says it."""
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def values_of(rows: Sequence[Row]) -> str:
    """Rows as VALUES says them."""
    return "VALUES " + ", ".join(f"({', '.join(map(literal, row))})" for row in rows)


def query_of(rows: Sequence[Row], *, harms: bool) -> str:
    """A query of rows; tasks of its first attempt fail if it harms."""
    of_id = "harmed(id)" if harms else "id"
    columns = f"{of_id} AS id, v, CAST(n AS BIGINT) AS n, p"
    return f"SELECT /*+ REPARTITION(2) */ {columns} FROM {values_of(rows)} AS s(id, v, n, p)"
