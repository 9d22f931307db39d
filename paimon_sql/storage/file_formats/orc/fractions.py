"""Fractions of seconds before 1970 in ORC files, corrected after Arrow has written them.

Arrow's writer stores such a fraction as negative nanoseconds, which Java refuses to read. So Arrow gets only seconds,
the fractions are recorded, and a finished file with any of them is rewritten: its nanosecond streams are encoded again.
Its row indexes point to the old streams and are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.format.schema import types as t
from paimon_sql.storage.expressions.kernels.conform import map_leaves, rebuild_list
from paimon_sql.storage.file_formats.orc.run_length import decode_unsigned, encode_unsigned
from paimon_sql.storage.file_formats.orc.schema import orc_types
from paimon_sql.storage.file_formats.orc.tail import SUBTYPES, Stream, StreamKind, Stripe, read_tail

_NANOS = {"us": 1_000, "ns": 1}
_PER_SECOND = {"us": 1_000_000, "ns": 1_000_000_000}
_MILLISECOND = 1_000_000


class EarlyFractions:
    """Records the fractions before 1970 of a file's timestamps, by column id and position among its values."""

    def __init__(self, fields: Sequence[t.DataField]) -> None:
        self._fields = fields
        self._types = orc_types(fields)
        self._seen: dict[int, int] = {}
        self._positions: dict[int, list[npt.NDArray[np.int64]]] = {}
        self._nanos: dict[int, list[npt.NDArray[np.int64]]] = {}

    def __bool__(self) -> bool:
        return bool(self._positions)

    def truncate(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the next rows, of the canonical Arrow types, without these fractions, which are recorded."""
        tops = self._types[0].numbers(SUBTYPES)
        columns = []
        for array, field, column in zip(batch.columns, self._fields, tops, strict=True):
            found = [self._record(leaf, values) for leaf, values in self._timestamps(array, field.type, column)]
            columns.append(map_leaves(array, whole_seconds) if any(found) else array)
        return pa.RecordBatch.from_arrays(columns, schema=batch.schema)

    def _record(self, column: int, values: pa.Array) -> bool:
        counts = values.view(pa.int64()).to_numpy(zero_copy_only=False)
        fractions = counts % _PER_SECOND[values.type.unit] * _NANOS[values.type.unit]
        first = self._seen.get(column, 0)
        self._seen[column] = first + len(counts)
        positions = np.flatnonzero((counts < 0) & (fractions > 0))
        if positions.size:
            self._positions.setdefault(column, []).append(positions + first)
            self._nanos.setdefault(column, []).append(fractions[positions])
        return bool(positions.size)

    def _timestamps(self, array: pa.Array, data_type: t.DataType, column: int) -> Iterator[tuple[int, pa.Array]]:
        """Yield the non-null timestamps of a column, per column id of a timestamp in its type."""
        inside = self._types[column].numbers(SUBTYPES)
        match data_type:
            case t.TimestampType() | t.LocalZonedTimestampType():
                yield column, array.drop_null()
            case t.RowType():
                present = array.filter(array.is_valid()) if array.null_count else array
                for i, field in enumerate(data_type.fields):
                    yield from self._timestamps(present.field(i), field.type, inside[i])
            case t.ArrayType():
                yield from self._timestamps(array.flatten(), data_type.element, inside[0])
            case t.MapType():
                entries = pa.StructArray.from_arrays([array.keys, array.items], ["key", "value"])
                flat = rebuild_list(array, pa.list_(entries.type), entries).flatten()
                yield from self._timestamps(flat.field(0), data_type.key, inside[0])
                yield from self._timestamps(flat.field(1), data_type.value, inside[1])

    def corrected(self, data: bytes) -> bytes:
        """Return the file with the corrected fractions."""
        source = pa.BufferReader(data)
        tail = read_tail(source)
        positions = {column: np.concatenate(parts) for column, parts in self._positions.items()}
        nanos = {column: np.concatenate(parts) for column, parts in self._nanos.items()}
        done = dict.fromkeys(positions, 0)
        out, stripes = bytearray(data[: len(b"ORC")]), []
        for stripe in tail.stripes:
            footer = tail.stripe_footer(source, stripe)
            streams, offset = [], len(out)
            for stream in footer.streams:
                if stream.kind in (StreamKind.ROW_INDEX, StreamKind.BLOOM_FILTER, StreamKind.BLOOM_FILTER_UTF8):
                    continue
                content = data[stream.offset : stream.offset + stream.length]
                column = stream.column
                if stream.kind == StreamKind.SECONDARY and column in positions:
                    values = decode_nanos(decode_unsigned(tail.expand(content)))
                    here = (positions[column] >= done[column]) & (positions[column] < done[column] + len(values))
                    values[positions[column][here] - done[column]] = nanos[column][here]
                    done[column] += len(values)
                    content = tail.pack(encode_unsigned(encode_nanos(values)))
                streams.append(Stream(stream.kind, column, len(out), len(content)))
                out += content
            data_length = len(out) - offset
            coded = tail.pack(footer.with_streams(streams).encode())
            out += coded
            stripes.append(Stripe(offset, 0, data_length, len(coded), stripe.rows))
        return bytes(out + tail.metadata(source) + tail.with_stripes(stripes, len(out)).encode())


def whole_seconds(array: pa.Array) -> pa.Array:
    """Truncate fractions before 1970, so that the seconds are those of Java's writer.

    Other arrays are returned unchanged. Seconds are rounded towards 1970, but down for a fraction of less than a
    millisecond: readers distinguish the two by the fraction.
    """
    if not pa.types.is_timestamp(array.type):
        return array
    step = _PER_SECOND[array.type.unit]
    counts = array.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    fractions = counts % step
    early = (counts < 0) & (fractions > 0)
    if not early.any():
        return array
    down = counts - fractions
    truncated = np.where(fractions * _NANOS[array.type.unit] < _MILLISECOND, down, down + step)
    seconds = pa.array(np.where(early, truncated, counts), mask=array.is_null().to_numpy(zero_copy_only=False))
    return seconds.view(array.type)


def decode_nanos(coded: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Decode ORC's nanoseconds: the low three bits are the number of removed zeros minus one."""
    zeros = coded & 7
    return np.where(zeros > 0, (coded >> 3) * 10 ** (zeros + 1), coded >> 3)


def encode_nanos(nanos: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Encode nanoseconds of a second for ORC."""
    return nanos << 3
