"""Changes that are small enough for the driver: no Python worker is started for them."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame

from paimon_sql.spark.java import Jvm

_FEW_BYTES = 4 * 1024 * 1024


def few_rows(jvm: Jvm, frame: DataFrame) -> list[pa.RecordBatch] | None:
    """The rows of a query that reads little; None if it reads more, so that workers had better deal with its rows.

    A statement changes no more rows than its target and its source have, so the bytes that are read bound those that
    are written.
    """
    plan = frame._jdf.queryExecution().optimizedPlan()
    read = sum(int(leaf.stats().sizeInBytes()) for leaf in jvm.items(plan.collectLeaves()))
    return frame.toArrow().to_batches() if read <= _FEW_BYTES else None
