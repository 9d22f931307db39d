"""How Spark cuts rows into the Arrow batches that it sends to Python workers, while rows are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_UNMEASURED = {_BYTES: str(2**31 - 1), _ROWS: "4096"}
_MEASURED = {_BYTES: str(32 * 1024 * 1024)}
_GOOD_ROWS = 32_768
_GOOD_BYTES = 4 * 1024 * 1024


@contextmanager
def unmeasured_batches(frame: DataFrame, *, blobs: bool = False) -> Iterator[None]:
    """Let Spark cut batches of a frame by rows alone, unless the session says otherwise.

    With a bound of bytes Spark adds up a batch's size anew for each row, which takes longer than all the rest of
    sending it. Batches of fewer rows than usual keep wide rows within bounds, too.

    Args:
        frame: the rows.
        blobs: whether rows hold blobs: then a batch is cut at a number of bytes, as no number of rows bounds it.
    """
    conf = frame.sparkSession._jsparkSession.sessionState().conf()
    if conf.contains(_BYTES):
        yield
        return
    wanted = _MEASURED if blobs else _UNMEASURED
    given = {key: value for key, value in wanted.items() if not conf.contains(key)}
    for key, value in given.items():
        conf.setConfString(key, value)
    try:
        yield
    finally:
        for key in given:
            conf.unsetConf(key)


def map_in_arrow(
    frame: DataFrame, function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], struct: StructType | str
) -> DataFrame:
    """``frame.mapInArrow``, whatever the columns are called: PySpark takes a dot in a name for a field's."""
    names = frame.columns

    def mapped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return function(batch.rename_columns(names) for batch in batches)

    return frame.toDF(*(f"c{i}" for i in range(len(names)))).mapInArrow(mapped, struct)


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of small batches in their order in bigger ones, so that what is done once a batch counts for little."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= _GOOD_ROWS or size >= _GOOD_BYTES:
            yield pa.concat_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.concat_batches(held)
