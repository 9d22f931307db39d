"""Timestamps of ORC files, exact in every year; fractions of seconds before 1970 are corrected on write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from io import RawIOBase

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.schema import types as t
from paimon_sql.storage.expressions.kernels.conform import map_leaves, rebuild_list, rebuild_map, rebuild_struct
from paimon_sql.storage.file_formats.int96 import instants, with_validity_of
from paimon_sql.storage.file_formats.orc import tail as orc_tail
from paimon_sql.storage.file_formats.orc.encodings import UnsignedRuns, decode_unsigned, encode_unsigned
from paimon_sql.storage.file_formats.orc.schema import orc_types
from paimon_sql.storage.file_formats.orc.tail import Kind, OrcTail

_DIRECT_V2 = 2
_SECONDS_TO_2015 = 1_420_070_400
_SECONDS_TO_1900 = -2_208_988_800
_SECONDS_PER_MONTH = 30 * 86_400
_MILLISECOND = 999_999
_UTC = ("UTC", "GMT", "Etc/UTC", "Z", "Universal", "Zulu", "GMT0", "Etc/GMT", "UCT", "Etc/UCT")


def plain_tail(tail: OrcTail) -> OrcTail:
    """Return the tail of the file with its timestamps declared as integers."""
    return tail.with_types(
        [
            one.with_number(orc_tail.KIND, Kind.LONG) if tail.kind(i) in orc_tail.TIMESTAMPS else one
            for i, one in enumerate(tail.types)
        ]
    )


class WithTail(RawIOBase):
    """A file with a replaced tail: bytes before ``tail`` are those of ``source``."""

    def __init__(self, source: pa.NativeFile, tail: OrcTail) -> None:
        self._source = source
        self._body = tail.body_size
        self._end = tail.encode()
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        start = (0, self._at, self._body + len(self._end))[whence]
        self._at = start + offset
        return self._at

    def size(self) -> int:
        """Return the total size in bytes."""
        return self._body + len(self._end)

    def read(self, size: int = -1) -> bytes:
        stop = self.size() if size < 0 else min(self._at + size, self.size())
        head = b""
        if self._at < self._body:
            head = self._source.read_at(min(stop, self._body) - self._at, self._at)
        first = max(self._at - self._body, 0)
        rest = self._end[first : max(stop - self._body, 0)]
        self._at = max(stop, self._at)
        return head + rest


@dataclass(frozen=True)
class StripeTimestamps:
    """Decoder of the timestamps of one stripe.

    Arrow's reader converts them to nanoseconds since 1970, which end in 2262. So Arrow reads the file with its
    timestamps declared as integers: the seconds since 2015 of their first stream. The second stream, the nanoseconds,
    is decoded here (spec: Apache ORC v1, "Timestamp Columns").

    Attributes:
        source: the file.
        tail: its real tail.
        footer: the stripe's footer.
        legacy: whether a timestamp with local time zone was stored as the writer's local time.
        ahead: by column the encoded nanoseconds of the remaining values.
    """

    source: pa.NativeFile
    tail: OrcTail
    footer: orc_tail.StripeFooter
    legacy: bool
    ahead: dict[int, UnsignedRuns] = field(default_factory=dict)

    def complete(self, array: pa.Array, column: int, data_type: t.DataType | None) -> pa.Array:
        """Convert seconds since 2015 to timestamps at any depth, for the stripe's next values.

        Args:
            array: the column as read by Arrow.
            column: the column's id in the file.
            data_type: the type of the values; None if not requested.
        """
        kind = self.tail.kind(column)
        if kind in orc_tail.TIMESTAMPS:
            return self._timestamps(array, column, data_type)
        if not self._holds_timestamps(column):
            return array
        inside = self.tail.children(column)
        if kind == Kind.STRUCT:
            wanted = {f.name: f.type for f in data_type.fields} if isinstance(data_type, t.RowType) else {}
            columns = self.tail.fields_of(column)
            names = [array.type.field(i).name for i in range(array.type.num_fields)]
            children = [self.complete(array.field(i), columns[name], wanted.get(name)) for i, name in enumerate(names)]
            fields = [array.type.field(i).with_type(child.type) for i, child in enumerate(children)]
            return rebuild_struct(array, pa.struct(fields), children)
        types = data_type.children() if data_type is not None else (None, None)
        if kind == Kind.LIST:
            values = self.complete(array.values, inside[0], types[0])
            return rebuild_list(array, pa.list_(values.type), values)
        if kind == Kind.MAP:
            keys = self.complete(array.keys, inside[0], types[0])
            items = self.complete(array.items, inside[1], types[1] if len(types) > 1 else None)
            return rebuild_map(array, pa.map_(keys.type, items.type), keys, items)
        raise UnsupportedError(f"Timestamps inside ORC's {kind.name} cannot be read.")

    def _holds_timestamps(self, column: int) -> bool:
        return self.tail.kind(column) in orc_tail.TIMESTAMPS or any(
            map(self._holds_timestamps, self.tail.children(column))
        )

    def _timestamps(self, array: pa.Array, column: int, data_type: t.DataType | None) -> pa.Array:
        zoned = isinstance(data_type, t.LocalZonedTimestampType)
        precise = isinstance(data_type, t.TimestampType | t.LocalZonedTimestampType) and data_type.precision > 6
        target = pa.timestamp("ns" if precise else "us", "UTC" if zoned else None)
        known = array.is_valid().to_numpy(zero_copy_only=False)
        nanos = np.zeros(len(array), np.int64)
        if column not in self.ahead:
            self.ahead[column] = self._nanos(column)
        nanos[known] = decode_nanos(self.ahead[column].take(int(known.sum())))
        seconds = pc.fill_null(array, 0).to_numpy(zero_copy_only=False)
        is_instant = self.tail.kind(column) == Kind.TIMESTAMP_INSTANT
        zone = self.footer.time_zone
        seconds = seconds + (_SECONDS_TO_2015 if is_instant else _start_of_2015(zone))
        # Before 1970 writers round seconds towards 1970, unless the fraction is below a millisecond.
        seconds -= (seconds < 0) & (nanos > _MILLISECOND)
        if not is_instant or self.legacy:
            seconds = _wall_clock(seconds, zone)
        seconds, nanos = np.where(known, seconds, 0), np.where(known, nanos, 0)
        return with_validity_of(array, instants(seconds, nanos, target), target)

    def _nanos(self, column: int) -> UnsignedRuns:
        """Return the encoded nanoseconds of all non-null values of the stripe."""
        if self.footer.encodings[column] != _DIRECT_V2:
            raise UnsupportedError("Timestamps of ORC files of version 0.11 cannot be read.")
        data = b"".join(
            self.tail.expand(self.source.read_at(stream.length, stream.offset))
            for stream in self.footer.streams
            if stream.kind == orc_tail.StreamKind.SECONDARY and stream.column == column
        )
        return UnsignedRuns(data)


def _start_of_2015(zone: str) -> int:
    """Return the seconds from 1970 in UTC to the beginning of 2015 in a time zone."""
    if zone in _UTC:
        return _SECONDS_TO_2015
    local = pa.array([_SECONDS_TO_2015], pa.timestamp("s"))
    return int(_in_zone(zone, lambda name: pc.assume_timezone(local, name)).view(pa.int64())[0].as_py())


def _wall_clock(seconds: npt.NDArray[np.int64], zone: str) -> npt.NDArray[np.int64]:
    """Convert instants to the local time of a time zone, like Java.

    Before 1900 that uses the zone's current standard offset; Java ignores local mean time.
    """
    if zone in _UTC:
        return seconds
    early = seconds < _SECONDS_TO_1900
    counted = pa.array(np.where(early, 0, seconds))
    local = _in_zone(zone, lambda name: pc.local_timestamp(counted.view(pa.timestamp("s", name))))
    clock = np.asarray(local.view(pa.int64()))
    return np.where(early, seconds + _standard_offset(zone), clock) if early.any() else clock


def _standard_offset(zone: str) -> int:
    """Return a zone's offset from UTC in seconds, without daylight saving."""
    year = pa.array([_SECONDS_TO_2015 + month * _SECONDS_PER_MONTH for month in range(12)])
    local = _in_zone(zone, lambda name: pc.local_timestamp(year.view(pa.timestamp("s", name))))
    return int(pc.min(pc.subtract(local.view(pa.int64()), year)).as_py())


def _in_zone(zone: str, convert: Callable[[str], pa.Array]) -> pa.Array:
    try:
        # Java also names zones by their offset, like GMT+08:00.
        return convert(zone.removeprefix("GMT") if zone.startswith(("GMT+", "GMT-")) else zone)
    except pa.ArrowInvalid as error:
        raise UnsupportedError(
            f"The ORC file was written in the time zone '{zone}', which this machine does not know: {error}."
        ) from error


_NANOS = {"us": 1_000, "ns": 1}
_PER_SECOND = {"us": 1_000_000, "ns": 1_000_000_000}
_NANOS_PER_MILLI = 1_000_000


class EarlyFractions:
    """Records the fractions before 1970 of a file's timestamps, by column id and position among its values.

    Arrow's writer stores such a fraction as negative nanoseconds, which Java refuses to read. So Arrow gets only
    seconds, the fractions are recorded, and a finished file with any of them is rewritten: its nanosecond streams are
    encoded again. Its row indexes point to the old streams and are dropped.
    """

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
        tops = self._types[0].numbers(orc_tail.SUBTYPES)
        columns = []
        for array, member, column in zip(batch.columns, self._fields, tops, strict=True):
            found = [self._record(leaf, values) for leaf, values in self._timestamps(array, member.type, column)]
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
        inside = self._types[column].numbers(orc_tail.SUBTYPES)
        match data_type:
            case t.TimestampType() | t.LocalZonedTimestampType():
                yield column, array.drop_null()
            case t.RowType():
                present = array.filter(array.is_valid()) if array.null_count else array
                for i, member in enumerate(data_type.fields):
                    yield from self._timestamps(present.field(i), member.type, inside[i])
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
        tail = orc_tail.read_tail(source)
        positions = {column: np.concatenate(parts) for column, parts in self._positions.items()}
        nanos = {column: np.concatenate(parts) for column, parts in self._nanos.items()}
        done = dict.fromkeys(positions, 0)
        out, stripes = bytearray(data[: len(b"ORC")]), []
        for stripe in tail.stripes:
            footer = tail.stripe_footer(source, stripe)
            streams, offset = [], len(out)
            for stream in footer.streams:
                if stream.kind in orc_tail.INDEXES:
                    continue
                content = data[stream.offset : stream.offset + stream.length]
                column = stream.column
                if stream.kind == orc_tail.StreamKind.SECONDARY and column in positions:
                    values = decode_nanos(decode_unsigned(tail.expand(content)))
                    here = (positions[column] >= done[column]) & (positions[column] < done[column] + len(values))
                    values[positions[column][here] - done[column]] = nanos[column][here]
                    done[column] += len(values)
                    content = tail.pack(encode_unsigned(values << 3))
                streams.append(orc_tail.Stream(stream.kind, column, len(out), len(content)))
                out += content
            data_length = len(out) - offset
            coded = tail.pack(footer.encoded_with(streams))
            out += coded
            stripes.append(orc_tail.Stripe(offset, 0, data_length, len(coded), stripe.rows))
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
    truncated = np.where(fractions * _NANOS[array.type.unit] < _NANOS_PER_MILLI, down, down + step)
    seconds = pa.array(np.where(early, truncated, counts), mask=array.is_null().to_numpy(zero_copy_only=False))
    return seconds.view(array.type)


def decode_nanos(coded: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Decode ORC's nanoseconds: the low three bits are the number of removed zeros minus one, or 0 for none."""
    zeros = coded & 7
    return np.where(zeros > 0, (coded >> 3) * 10 ** (zeros + 1), coded >> 3)
