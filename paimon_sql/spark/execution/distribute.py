"""Distribution of rows to Python workers: whether it pays, in which Arrow batches, and the workers' answers."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from paimon_sql.spark.execution.executor import catching, results
from paimon_sql.spark.java.catalyst import LogicalPlan
from paimon_sql.spark.jvm.gateway import CONNECTOR, Jvm
from paimon_sql.spark.jvm.session import changed_settings
from paimon_sql.storage.staging.commit_messages import CommitMessage, gather
from paimon_sql.storage.table.table import Table

R = TypeVar("R")
Batches = Iterable[pa.RecordBatch]


def run_on_executors(
    table: Table, rows: DataFrame, work: Callable[[Batches], R], written: Callable[[R], Sequence[CommitMessage]]
) -> list[R]:
    """Run a function on each partition of rows and return the answers.

    Args:
        table: the table that the workers write to.
        rows: the rows, distributed as the function requires.
        work: the function of each worker.
        written: the files that a worker wrote, from its answer.

    Raises:
        PaimonError: a worker failed; the files of all workers are deleted.
    """
    answers = [pickle.loads(found.answer) for found in map_partitions(rows, work).collect()]
    return gather(table, results(answers), written)


def map_partitions(rows: DataFrame, work: Callable[[Batches], R]) -> DataFrame:
    """One row per partition of rows: the pickled answer of the function."""

    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pickled = pickle.dumps(catching(work)(coalesced(batches)))
        yield pa.RecordBatch.from_pydict({"answer": pa.array([pickled], pa.binary())})

    return map_in_arrow(rows, answer, "answer binary")


_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_ROW_LIMITED = {_BYTES: str(2**31 - 1), _ROWS: "4096"}
_BYTE_LIMITED = {_BYTES: str(32 * 1024 * 1024)}
_TARGET_ROWS = 32_768
_TARGET_BYTES = 4 * 1024 * 1024


@contextmanager
def row_limited_batches(frame: DataFrame, *, blobs: bool = False) -> Iterator[None]:
    """Make Spark limit batches of a frame by rows only, unless the session sets a limit of bytes.

    With a limit of bytes Spark recomputes a batch's size for each row, which takes longer than sending it. Batches have
    fewer rows than by default, which bounds wide rows as well.

    Args:
        frame: the rows.
        blobs: whether rows hold blobs: then batches are limited by bytes, since rows do not bound them.
    """
    conf = frame.sparkSession._jsparkSession.sessionState().conf()
    limits = _BYTE_LIMITED if blobs else _ROW_LIMITED
    missing = {key: value for key, value in limits.items() if not conf.contains(key)}
    with changed_settings(conf, {} if conf.contains(_BYTES) else missing):
        yield


def map_in_arrow(
    frame: DataFrame, function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], struct: StructType | str
) -> DataFrame:
    """``frame.mapInArrow`` for columns of any name: PySpark takes a dot in a name for access to a field."""
    names = frame.columns

    def mapped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return function(batch.rename_columns(names) for batch in batches)

    return frame.toDF(*(f"c{i}" for i in range(len(names)))).mapInArrow(mapped, struct)


def coalesced(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Small batches concatenated to larger ones in order, which reduces the cost per batch."""
    pending: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        pending.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= _TARGET_ROWS or size >= _TARGET_BYTES:
            yield pa.concat_batches(pending)
            pending, rows, size = [], 0, 0
    if pending:
        yield pa.concat_batches(pending)


_LOCAL = f"{CONNECTOR}.read.LocalScan"
_FEW_BYTES = 4 * 1024 * 1024
_ONE_TASK_BYTES = 8 * 1024 * 1024
_CHEAP_NODES = frozenset({"Project", "Filter", "LocalLimit", "GlobalLimit", "Union"})
"""Nodes of plans that return at most as many rows as they get, at little cost."""


def few_rows(jvm: Jvm, frame: DataFrame) -> list[pa.RecordBatch] | None:
    """The rows of a query that reads few bytes; None if it reads more, so that workers should process its rows.

    A statement changes at most the rows of its target and its source, so bytes read bound bytes written.
    """
    plan: LogicalPlan = frame._jdf.queryExecution().optimizedPlan()
    read = sum(_bytes(jvm, leaf) for leaf in jvm.items(plan.collectLeaves()))
    return frame.toArrow().to_batches() if read <= _FEW_BYTES else None


def fits_one_task(jvm: Jvm, plan: LogicalPlan) -> bool:
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


def _bytes(jvm: Jvm, leaf: LogicalPlan) -> int:
    """The estimated bytes of a plan's leaf; 0 if its rows are on the driver."""
    if leaf.getClass().getSimpleName() == "DataSourceV2ScanRelation" and jvm.java_class(_LOCAL).isInstance(leaf.scan()):
        return 0
    return int(str(leaf.stats().sizeInBytes()))
