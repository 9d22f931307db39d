"""Reading ORC, one stripe after another."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.orc as orc

from paimon_sql.errors import CorruptFileError
from paimon_sql.storage.file_io.base import FileIO
from paimon_sql.storage.file_io.refusals import refusals
from paimon_sql.storage.files.base import FileRead, batch_of, canonical
from paimon_sql.storage.files.orc_tail import TIMESTAMPS, OrcTail, read_tail
from paimon_sql.storage.files.orc_timestamps import StripeTimestamps, WithTail, columns_of, plain_tail


def read_orc(file_io: FileIO, wanted: FileRead) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The wanted columns of an ORC file as canonical batches, each with its first row's position."""
    with refusals("read", wanted.path), file_io.open_input(wanted.path) as source:
        try:
            tail = read_tail(source)
            reader = _open(source, tail)
        except (ValueError, IndexError, pa.ArrowException) as error:
            raise CorruptFileError(f"no ORC file: {error}", path=wanted.path) from error
        try:
            yield from _stripes(source, tail, reader, wanted)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError, IndexError) as error:
            raise CorruptFileError(f"cannot be read as ORC: {error}", path=wanted.path) from error


def _open(source: pa.NativeFile, tail: OrcTail) -> orc.ORCFile:
    if any(tail.kind(column) in TIMESTAMPS for column in range(len(tail.types))):
        return orc.ORCFile(pa.PythonFile(WithTail(source, plain_tail(tail)), mode="r"))
    return orc.ORCFile(source)


def _stripes(
    source: pa.NativeFile, tail: OrcTail, reader: orc.ORCFile, wanted: FileRead
) -> Iterator[tuple[int, pa.RecordBatch]]:
    columns = columns_of(tail, wanted.columns)
    # Arrow takes a dot for a step into a struct.
    names = None if any("." in name for name in columns) else list(columns)
    legacy = wanted.option("orc.timestamp-ltz.legacy.type", "true") == "true"
    first = 0
    for number, stripe in enumerate(tail.stripes):
        if wanted.touches(first, stripe.rows):
            times = StripeTimestamps.of(source, tail, stripe, legacy)
            stored = reader.read_stripe(number, names) if columns else None
            arrays = []
            for field in wanted.wanted:
                if stored is not None and field.name in columns:
                    array = times.complete(stored.column(field.name), columns[field.name], field.type)
                else:
                    array = pa.nulls(stripe.rows)
                arrays.append(canonical(array, field, wanted.path))
            yield from wanted.cut(first, batch_of(arrays, wanted.schema, stripe.rows))
        first += stripe.rows
