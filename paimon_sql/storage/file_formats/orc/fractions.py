"""Fractions of seconds before 1970 in ORC files, put right after Arrow has written them.

Arrow's writer stores such a fraction as a negative number of nanoseconds, which Java refuses to read. So Arrow is
given whole seconds there, the fractions are noted, and a finished file with any of them is gone over once: the
streams of nanoseconds are coded anew. Its row indexes point into the old streams and are dropped.
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
    """Notes the fractions before 1970 of a file's timestamps, by column id and place among the values there."""

    def __init__(self, fields: Sequence[t.DataField]) -> None:
        self._fields = fields
        self._types = orc_types(fields)
        self._seen: dict[int, int] = {}
        self._places: dict[int, list[npt.NDArray[np.int64]]] = {}
        self._nanos: dict[int, list[npt.NDArray[np.int64]]] = {}

    def __bool__(self) -> bool:
        return bool(self._places)

    def taken_from(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The next rows, of the canonical Arrow types, without these fractions, which are noted."""
        tops = self._types[0].numbers(SUBTYPES)
        columns = []
        for array, field, column in zip(batch.columns, self._fields, tops, strict=True):
            found = [self._note(leaf, values) for leaf, values in self._timestamps(array, field.type, column)]
            columns.append(map_leaves(array, whole_seconds) if any(found) else array)
        return pa.RecordBatch.from_arrays(columns, schema=batch.schema)

    def _note(self, column: int, values: pa.Array) -> bool:
        counts = values.view(pa.int64()).to_numpy(zero_copy_only=False)
        fractions = counts % _PER_SECOND[values.type.unit] * _NANOS[values.type.unit]
        first = self._seen.get(column, 0)
        self._seen[column] = first + len(counts)
        places = np.flatnonzero((counts < 0) & (fractions > 0))
        if places.size:
            self._places.setdefault(column, []).append(places + first)
            self._nanos.setdefault(column, []).append(fractions[places])
        return bool(places.size)

    def _timestamps(self, array: pa.Array, data_type: t.DataType, column: int) -> Iterator[tuple[int, pa.Array]]:
        """The timestamps of a column that ORC stores a value for, by the column id of each place in its type."""
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
        """The same file with the fractions in place."""
        source = pa.BufferReader(data)
        tail = read_tail(source)
        places = {column: np.concatenate(parts) for column, parts in self._places.items()}
        nanos = {column: np.concatenate(parts) for column, parts in self._nanos.items()}
        done = dict.fromkeys(places, 0)
        out, stripes = bytearray(data[: len(b"ORC")]), []
        for stripe in tail.stripes:
            footer = tail.stripe_footer(source, stripe)
            streams, offset = [], len(out)
            for stream in footer.streams:
                if stream.kind in (StreamKind.ROW_INDEX, StreamKind.BLOOM_FILTER, StreamKind.BLOOM_FILTER_UTF8):
                    continue
                content = data[stream.offset : stream.offset + stream.length]
                column = stream.column
                if stream.kind == StreamKind.SECONDARY and column in places:
                    values = decode_nanos(decode_unsigned(tail.expand(content)))
                    here = (places[column] >= done[column]) & (places[column] < done[column] + len(values))
                    values[places[column][here] - done[column]] = nanos[column][here]
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
    """Timestamps whose fractions before 1970 are cut, so that the seconds come out as Java's writer counts them.

    An array of anything else comes back as it is. Seconds are counted towards 1970, but where the
    fraction is less than a millisecond towards the past: readers tell the two apart by the fraction.
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
    cut = np.where(fractions * _NANOS[array.type.unit] < _MILLISECOND, down, down + step)
    made = pa.array(np.where(early, cut, counts), mask=array.is_null().to_numpy(zero_copy_only=False))
    return made.view(array.type)


def decode_nanos(coded: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Nanoseconds as ORC stores them: the low three bits say how many zeros were cut off, one less than there were."""
    zeros = coded & 7
    return np.where(zeros > 0, (coded >> 3) * 10 ** (zeros + 1), coded >> 3)


def encode_nanos(nanos: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Nanoseconds from 0 up to a second as ORC stores them."""
    return nanos << 3
