"""What an engine is: a Spark session and the few statements in which the engines differ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from bench.dataset import KEY, column_list
from bench.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Engine(ABC):
    """Tables of one format in a Spark session of their own.

    Attributes:
        changes: whether tables of this format can be upserted, compacted and expired.
        kinds: other kinds of tables that the format has.
        write_only_property: the table property that leaves compaction out of writes, where they compact.
    """

    changes: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ()
    write_only_property: ClassVar[str] = ""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings = settings
        self.folder = folder
        self.spark = self.session()

    @abstractmethod
    def session(self) -> SparkSession:
        """Start Spark."""

    @abstractmethod
    def version(self) -> str:
        """What is measured, with its version."""

    @abstractmethod
    def define(self, table: str, columns: str, key: Sequence[str], buckets: int) -> None:
        """Make an empty table, for upserts by a key if that has columns.

        Args:
            table: its name.
            columns: they as they stand in ``CREATE TABLE``.
            key: the names of those of the key.
            buckets: in how many parts a keyed table lies, where its format has such.
        """

    def create(self, table: str, *, keyed: bool) -> None:
        """Make an empty table with the data set's columns, for upserts by ``id`` if it is keyed."""
        self.define(table, column_list(self.settings.variant), [KEY] if keyed else [], self.settings.buckets)

    def use(self, database: str) -> None:
        """Let names of tables mean those of a database, which is made unless it is there."""
        self.rows(f"CREATE DATABASE IF NOT EXISTS {database}")
        self.rows(f"USE {database}")

    def create_kind(self, table: str, kind: str) -> None:
        """Make an empty table of one of the `kinds`."""
        raise TypeError(f"{type(self).__name__} has no tables of the kind {kind}.")

    def named(self, table: str) -> str:
        """A table's name in statements."""
        return table

    def rows(self, statement: str) -> list[Any]:
        """The rows of a statement's answer."""
        rows: list[Any] = self.spark.sql(statement).collect()
        return rows

    def scan(self, table: str) -> None:
        """Read every column of every row, and drop it."""
        self.spark.table(self.named(table)).write.format("noop").mode("overwrite").save()

    def insert(self, table: str, source: str) -> None:
        """Append the rows of a view."""
        self.rows(f"INSERT INTO {self.named(table)} SELECT * FROM {source}")

    def insert_row(self, table: str, literals: str) -> None:
        """Append one row."""
        self.rows(f"INSERT INTO {self.named(table)} VALUES ({literals})")

    def upsert(self, table: str, source: str) -> None:
        """Bring the rows of a view into a keyed table: each replaces the one of its key, or is new."""
        self.rows(
            f"MERGE INTO {self.named(table)} t USING {source} s ON t.{KEY} = s.{KEY} "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    def read_stream(self, table: str, **options: str) -> Any:
        """A stream of a table's changes."""
        return self.spark.readStream.options(**options).table(self.named(table))

    def start_stream(self, writer: Any, table: str) -> Any:
        """Start a stream into a table."""
        return writer.toTable(self.named(table))

    def write_only(self, table: str) -> None:
        """Leave compaction out of later writes, where an engine compacts in them."""
        if self.write_only_property:
            self.rows(f"ALTER TABLE {self.named(table)} SET TBLPROPERTIES ({self.write_only_property})")

    def compact(self, table: str) -> None:
        """Compact a table fully."""
        raise TypeError(f"{type(self).__name__} does not compact.")

    def expire(self, table: str, keep: int) -> None:
        """Expire all but the newest snapshots."""
        raise TypeError(f"{type(self).__name__} does not expire.")

    def snapshots(self, table: str) -> int | None:
        """How many snapshots a table has, None where an engine does not count them."""
        return None

    def drop(self, table: str) -> None:
        """Drop a table with its files, if it is there."""
        self.rows(f"DROP TABLE IF EXISTS {self.named(table)}")
