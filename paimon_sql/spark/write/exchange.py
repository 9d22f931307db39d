"""Exchange of Arrow batches between tasks: Spark shuffles chunks of Arrow streams instead of rows.

A row that Spark shuffles is converted to Arrow for Python before (its task is computed there) and after, and written,
compressed and read by itself in between. Chunks cost a copy. They are small, so that Spark's batches of them, which it
limits by rows, are small as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count, pairwise

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.functions import col

from paimon_sql.spark.execution.distribute import map_in_arrow
from paimon_sql.storage.write.distribution import Numbers

Batches = Iterator[pa.RecordBatch]
_STRUCT = "owner int, source int, stream int, start int, chunks int, chunk binary"
"""The task that a stream is for, the one that made it, its number, the place of the chunk in it, how many it has."""
_CHUNK_BYTES = 16 * 1024
_BUFFER_BYTES = 8 * 1024 * 1024
"""Bytes of rows that a task collects before it divides them: streams of few rows are mostly schema."""


def exchange(
    frame: DataFrame, rows_of: Callable[[Batches], Batches], tasks: int, owners: Callable[[pa.RecordBatch], Numbers]
) -> DataFrame:
    """Bring rows to other tasks, as a frame of chunks for `arrived`; the order of a task's rows is kept.

    Args:
        frame: the rows.
        rows_of: computes the rows to exchange from those of a task.
        tasks: the number of tasks afterwards.
        owners: the task of each row of a batch.
    """

    def sent(batches: Batches) -> Batches:
        context = TaskContext.get()
        yield from divided(rows_of(batches), owners, context.partitionId() if context else 0)

    return map_in_arrow(frame, sent, _STRUCT).repartitionById(tasks, col("owner"))


def divided(rows: Iterable[pa.RecordBatch], owners: Callable[[pa.RecordBatch], Numbers], source: int) -> Batches:
    """The rows of a task as chunks of streams, each for one task.

    Args:
        rows: the rows.
        owners: the task of each row of a batch.
        source: the number of the task that has them.
    """
    numbers = count()
    for batch in _gathered(rows):
        numbered = np.asarray(owners(batch))
        order = np.argsort(numbered, kind="stable")
        sorted_rows, found = batch.take(pa.array(order)), numbered[order]
        bounds = [0, *(np.flatnonzero(np.diff(found)) + 1).tolist(), len(found)]
        for start, end in pairwise(bounds):
            stream = _stream(sorted_rows.slice(start, end - start))
            yield _chunks(stream, int(found[start]), source, next(numbers))


def arrived(batches: Iterable[pa.RecordBatch]) -> Batches:
    """The rows of a task from the chunks that are for it, in any order."""
    waiting: dict[tuple[int, int], dict[int, pa.Buffer]] = {}
    for batch in batches:
        places = zip(*(batch.column(name).to_pylist() for name in ("source", "stream", "start", "chunks")), strict=True)
        for (source, number, start, chunks), chunk in zip(places, batch.column("chunk"), strict=True):
            stream = waiting.setdefault((source, number), {})
            stream[start] = chunk.as_buffer()
            if len(stream) == chunks:
                del waiting[source, number]
                with pa.ipc.open_stream(b"".join(stream[at] for at in sorted(stream))) as rows:
                    yield from rows
    if waiting:
        raise AssertionError(f"{len(waiting)} streams of rows lack chunks.")


def _gathered(batches: Iterable[pa.RecordBatch]) -> Batches:
    """Batches put together until they have so many bytes."""
    pending: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            pending.append(batch)
            size += batch.nbytes
        if size >= _BUFFER_BYTES:
            yield pa.concat_batches(pending)
            pending, size = [], 0
    if pending:
        yield pa.concat_batches(pending)


def _stream(rows: pa.RecordBatch) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_batch(rows)
    return sink.getvalue()


def _chunks(stream: pa.Buffer, owner: int, source: int, number: int) -> pa.RecordBatch:
    ends = [*range(0, stream.size, _CHUNK_BYTES), stream.size]
    chunk = pa.Array.from_buffers(pa.binary(), len(ends) - 1, [None, pa.py_buffer(np.array(ends, np.int32)), stream])
    starts = pa.array(ends[:-1], pa.int32())
    owners, sources, numbers, counts = (
        pa.repeat(pa.scalar(value, pa.int32()), len(starts)) for value in (owner, source, number, len(starts))
    )
    names = ["owner", "source", "stream", "start", "chunks", "chunk"]
    return pa.RecordBatch.from_arrays([owners, sources, numbers, starts, counts, chunk], names=names)
