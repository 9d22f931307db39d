"""Arrow batches that Spark sends to Python workers during writes: their size, and the names of their columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

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
    if conf.contains(_BYTES):
        yield
        return
    limits = _BYTE_LIMITED if blobs else _ROW_LIMITED
    missing = {key: value for key, value in limits.items() if not conf.contains(key)}
    for key, value in missing.items():
        conf.setConfString(key, value)
    try:
        yield
    finally:
        for key in missing:
            conf.unsetConf(key)


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
