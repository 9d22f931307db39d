"""Changes that are small enough for the driver: no Python worker is started for them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from paimon_sql.spark.java import CONNECTOR, Jvm

_LOCAL = f"{CONNECTOR}.read.LocalScan"
_FEW_BYTES = 4 * 1024 * 1024


def few_rows(jvm: Jvm, frame: DataFrame) -> list[pa.RecordBatch] | None:
    """The rows of a query that reads little; None if it reads more, so that workers had better deal with its rows.

    A statement changes no more rows than its target and its source have, so the bytes that are read bound those that
    are written.
    """
    plan = frame._jdf.queryExecution().optimizedPlan()
    read = sum(_bytes(jvm, leaf) for leaf in jvm.items(plan.collectLeaves()))
    return frame.toArrow().to_batches() if read <= _FEW_BYTES else None


def _bytes(jvm: Jvm, leaf: Any) -> int:
    """About how many bytes a leaf of a plan gives; none where the driver knows its rows."""
    if leaf.getClass().getSimpleName() == "DataSourceV2ScanRelation":
        local = jvm.constant(_LOCAL, lambda: jvm.cls("java.lang.Class").forName(_LOCAL))
        if local.isInstance(leaf.scan()):
            return 0
    return int(leaf.stats().sizeInBytes())
