"""Aggregates that a scan answers itself: ``COUNT(*)`` of all rows, from metadata or from the keys alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from paimon_sql.format.types import BigIntType, DataField
from paimon_sql.spark.java import Jvm
from paimon_sql.storage.read.task import ReadTask

COUNT = (DataField(-1, "count(*)", BigIntType(False)),)


def is_count(jvm: Jvm, aggregation: Any) -> bool:
    """Whether an aggregation is nothing but the number of rows."""
    show = jvm.static("org.apache.commons.lang3.ArrayUtils", "toString")
    # A column of that name would stand in back-quotes.
    functions, groups = aggregation.aggregateExpressions(), aggregation.groupByExpressions()
    return bool(show(functions) == "{COUNT(*)}" and show(groups) == "{}")


@dataclass(frozen=True)
class CountTask:
    """Counts what a read task would read; the answer is one row."""

    task: ReadTask

    def batches(self) -> Iterator[pa.RecordBatch]:
        """One batch of one row, the number of rows."""
        yield pa.RecordBatch.from_pydict({COUNT[0].name: pa.array([self.count()], pa.int64())})

    def count(self) -> int:
        """The number of rows."""
        return sum(batch.num_rows for batch in self.task.batches())
