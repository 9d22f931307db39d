"""Small queries: their rows are processed on the driver or by one task, since distribution costs more than it saves."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from paimon_sql.spark.jvm.gateway import CONNECTOR, Jvm

_LOCAL = f"{CONNECTOR}.read.LocalScan"
_FEW_BYTES = 4 * 1024 * 1024
_ONE_TASK_BYTES = 8 * 1024 * 1024
_CHEAP_NODES = frozenset({"Project", "Filter", "LocalLimit", "GlobalLimit", "Union"})
"""Nodes of plans that return at most as many rows as they get, at little cost."""


def few_rows(jvm: Jvm, frame: DataFrame) -> list[pa.RecordBatch] | None:
    """The rows of a query that reads few bytes; None if it reads more, so that workers should process its rows.

    A statement changes at most the rows of its target and its source, so bytes read bound bytes written.
    """
    plan = frame._jdf.queryExecution().optimizedPlan()
    read = sum(_bytes(jvm, leaf) for leaf in jvm.items(plan.collectLeaves()))
    return frame.toArrow().to_batches() if read <= _FEW_BYTES else None


def fits_one_task(jvm: Jvm, plan: Any) -> bool:
    """Whether an optimized plan returns so few rows that one task writes them faster than several.

    This is decided only for plans that read, filter and compute columns: others may return more rows than they read, or
    benefit from several tasks.
    """
    read, nodes = 0, [plan]
    while nodes and read <= _ONE_TASK_BYTES:
        node = nodes.pop()
        children = jvm.items(node.children())
        if not children:
            read += _bytes(jvm, node)
        elif node.getClass().getSimpleName() not in _CHEAP_NODES:
            return False
        nodes += children
    return read <= _ONE_TASK_BYTES


def _bytes(jvm: Jvm, leaf: Any) -> int:
    """The estimated bytes of a plan's leaf; 0 if its rows are on the driver."""
    if leaf.getClass().getSimpleName() == "DataSourceV2ScanRelation" and jvm.java_class(_LOCAL).isInstance(leaf.scan()):
        return 0
    return int(leaf.stats().sizeInBytes())
