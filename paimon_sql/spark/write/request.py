"""Write request: all that Spark says about a write before it has the rows, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from paimon_sql.storage.staging.proposal import Overwrite
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import describe_write


class WritePath(Enum):
    """The writers of a statement's rows."""

    DRIVER = "the driver"
    ONE_TASK = "one task"
    TASKS = "tasks that own their buckets"


@dataclass(frozen=True)
class WriteRequest:
    """A request of Spark to a write (Spark: ``WriteBuilder`` and its mixins); EXPLAIN prints it.

    Attributes:
        table: the table with the options of the write.
        overwrite: the rows that are replaced; None appends.
        by_partition: whether Spark brings the rows of a partition together and has its own tasks write them, as it does
            for a dynamic overwrite.
        stream: the id of the streaming query; None for a batch.
        qualified_name: the table's name in Spark, with the catalog; empty if its catalog does not have it yet.
    """

    table: Table
    overwrite: Overwrite | None = None
    by_partition: bool = False
    stream: str | None = None
    qualified_name: tuple[str, ...] = ()

    def describe(self) -> str:
        """One line, for EXPLAIN and the UI."""
        return f"paimon {self.table.name} ({describe_write(self.table, self.overwrite)})"
