"""Queries that read little: their rows are dealt with in one place, since spreading them costs more than it gains."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from paimon_sql.spark.jvm.gateway import CONNECTOR, Jvm

_LOCAL = f"{CONNECTOR}.read.LocalScan"
_FEW_BYTES = 4 * 1024 * 1024
_ONE_TASK_BYTES = 8 * 1024 * 1024
_NO_MORE_ROWS = frozenset({"Project", "Filter", "LocalLimit", "GlobalLimit", "Union"})
"""Nodes of plans that give no more rows than they get, and that work little on them."""


def few_rows(jvm: Jvm, frame: DataFrame) -> list[pa.RecordBatch] | None:
    """The rows of a query that reads little; None if it reads more, so that workers had better deal with its rows.

    A statement changes no more rows than its target and its source have, so the bytes that are read bound those that
    are written.
    """
    plan = frame._jdf.queryExecution().optimizedPlan()
    read = sum(_bytes(jvm, leaf) for leaf in jvm.items(plan.collectLeaves()))
    return frame.toArrow().to_batches() if read <= _FEW_BYTES else None


def fits_one_task(jvm: Jvm, plan: Any) -> bool:
    """Whether an optimized plan gives so few rows that one task writes them sooner than several do.

    Only plans that read, filter and compute columns are looked at: others may give more rows than they read, or have
    work to do that several tasks share.
    """
    read, nodes = 0, [plan]
    while nodes and read <= _ONE_TASK_BYTES:
        node = nodes.pop()
        children = jvm.items(node.children())
        if not children:
            read += _bytes(jvm, node)
        elif node.getClass().getSimpleName() not in _NO_MORE_ROWS:
            return False
        nodes += children
    return read <= _ONE_TASK_BYTES


def _bytes(jvm: Jvm, leaf: Any) -> int:
    """About how many bytes a leaf of a plan gives; none where the driver knows its rows."""
    if leaf.getClass().getSimpleName() == "DataSourceV2ScanRelation" and jvm.java_class(_LOCAL).isInstance(leaf.scan()):
        return 0
    return int(leaf.stats().sizeInBytes())
