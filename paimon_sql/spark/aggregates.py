"""Aggregates that a scan answers itself: ``COUNT(*)`` of all rows, from metadata or from the keys alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from paimon_sql.format.types import BigIntType, DataField
from paimon_sql.storage.read.task import ReadTask

COUNT = (DataField(-1, "count(*)", BigIntType(False)),)
_COUNT_STAR = "org.apache.spark.sql.connector.expressions.aggregate.CountStar"


def is_count(aggregation: Any) -> bool:
    """Whether an aggregation is nothing but the number of rows."""
    functions = list(aggregation.aggregateExpressions())
    return (
        len(functions) == 1
        and functions[0].getClass().getName() == _COUNT_STAR
        and not len(aggregation.groupByExpressions())
    )


@dataclass(frozen=True)
class CountTask:
    """Counts what a read task would read; the answer is one row."""

    task: ReadTask

    def batches(self) -> Iterator[pa.RecordBatch]:
        """One batch of one row, the number of rows."""
        count = sum(batch.num_rows for batch in self.task.batches())
        yield pa.RecordBatch.from_pydict({COUNT[0].name: pa.array([count], pa.int64())})
