"""Values in a BinaryRow or BinaryArray: a slot of at most 8 bytes and, for long values, a variable part.

Layout (spec: BinaryRow): numbers are in the slot, little-endian. Strings and bytes of up to 7 bytes are in the slot,
too, with their length in its last byte; all others are in the variable part, padded to words of 8 bytes, with
their offset (high half) and size (low half) in the slot. DECIMAL of more than 18 digits always has 16 bytes in the
variable part, and TIMESTAMP of a precision above 3 has 8, even if null.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Iterable
from decimal import Context, Decimal
from typing import Any, Protocol, cast

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema import types as t

COMPACT_DECIMAL = 18
"""Max digits of a DECIMAL whose unscaled value is in the slot."""
COMPACT_TIMESTAMP = 3
"""Max precision of a TIMESTAMP whose milliseconds are in the slot."""
INLINE = 7
"""Max bytes of a string or binary in the slot."""

_EXACT = Context(prec=80)
_DECIMAL_BYTES = 16
_LONG = struct.Struct("<q")
_SLOT = struct.Struct("<II")
_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_MICROSECOND = dt.timedelta(microseconds=1)
_MICROS_RANGE = range((dt.datetime.min - _EPOCH) // _MICROSECOND, (dt.datetime.max - _EPOCH) // _MICROSECOND + 1)
_DAYS_RANGE = range(dt.date.min.toordinal() - _EPOCH_DAY, dt.date.max.toordinal() - _EPOCH_DAY + 1)


class Field(Protocol):
    """Encoding of one type in rows and arrays; ``width`` is the size of an array's element in bytes."""

    width: int

    def write(self, value: object, cursor: int) -> tuple[bytes, bytes]:
        """Encode a value as slot and variable part, which starts at ``cursor``."""

    def write_null(self, cursor: int) -> tuple[bytes, bytes]:
        """Encode a null in a row as slot and variable part."""

    def read(self, memory: bytes, slot: int) -> object:
        """Decode the value whose slot starts at ``slot`` of the row or array ``memory``."""


class FixedField:
    """A type whose values are in the slot."""

    def __init__(
        self, form: str, to_raw: Callable[[Any], object] | None = None, from_raw: Callable[[Any], object] | None = None
    ) -> None:
        self._struct = struct.Struct("<" + form)
        self._to_raw = to_raw
        self._from_raw = from_raw
        self.width = self._struct.size

    def write(self, value: object, cursor: int) -> tuple[bytes, bytes]:
        return self._struct.pack(self._to_raw(value) if self._to_raw else value), b""

    def write_null(self, cursor: int) -> tuple[bytes, bytes]:
        return bytes(self.width), b""

    def read(self, memory: bytes, slot: int) -> object:
        raw = self._struct.unpack_from(memory, slot)[0]
        return self._from_raw(raw) if self._from_raw else raw


class VariableField:
    """A type of variable size; ``inline`` is whether short values are in the slot."""

    width = 8

    def __init__(
        self, to_bytes: Callable[[Any], bytes], from_bytes: Callable[[bytes], object], *, inline: bool
    ) -> None:
        self._to_bytes = to_bytes
        self._from_bytes = from_bytes
        self._inline = inline

    def write(self, value: object, cursor: int) -> tuple[bytes, bytes]:
        data = self._to_bytes(value)
        if self._inline and len(data) <= INLINE:
            return data.ljust(INLINE, b"\0") + bytes([0x80 | len(data)]), b""
        return _SLOT.pack(len(data), cursor), data + bytes(-len(data) % 8)

    def write_null(self, cursor: int) -> tuple[bytes, bytes]:
        return bytes(8), b""

    def size(self, memory: bytes, slot: int) -> int:
        """The size of the variable part of the value whose slot starts at ``slot``."""
        return 0 if self._inline and memory[slot + 7] & 0x80 else int(_SLOT.unpack_from(memory, slot)[0])

    def read(self, memory: bytes, slot: int) -> object:
        if self._inline and memory[slot + 7] & 0x80:
            return self._from_bytes(memory[slot : slot + (memory[slot + 7] & 0x7F)])
        size, offset = _SLOT.unpack_from(memory, slot)
        return self._from_bytes(stretch(memory, offset, size))


class WideDecimalField:
    """DECIMAL of more than 18 digits: the unscaled value, big-endian with the min number of bytes, padded to 16."""

    width = 8

    def __init__(self, data_type: t.DecimalType) -> None:
        self._type = data_type

    def write(self, value: object, cursor: int) -> tuple[bytes, bytes]:
        number = unscaled(cast("Decimal", value), self._type)
        size = (number + (number < 0)).bit_length() // 8 + 1
        return _SLOT.pack(size, cursor), number.to_bytes(size, "big", signed=True).ljust(16, b"\0")

    def write_null(self, cursor: int) -> tuple[bytes, bytes]:
        return _SLOT.pack(0, cursor), bytes(16)

    def read(self, memory: bytes, slot: int) -> Decimal:
        size, offset = _SLOT.unpack_from(memory, slot)
        if size > _DECIMAL_BYTES:
            raise InvalidInputError(f"A {self._type.sql()} of {size} bytes: the row is corrupt.")
        return scaled(int.from_bytes(stretch(memory, offset, size), "big", signed=True), self._type)


class WideTimestampField:
    """TIMESTAMP of a precision above 3: milliseconds in the variable part, remaining nanoseconds in the slot."""

    width = 8

    def __init__(self, precision: int) -> None:
        self._precision = precision

    def write(self, value: object, cursor: int) -> tuple[bytes, bytes]:
        millis, nanos = divmod(epoch_nanos(cast("dt.datetime | int", value), self._precision), 1_000_000)
        return _SLOT.pack(nanos, cursor), _LONG.pack(millis)

    def write_null(self, cursor: int) -> tuple[bytes, bytes]:
        return _SLOT.pack(0, cursor), bytes(8)

    def read(self, memory: bytes, slot: int) -> dt.datetime | int:
        nanos, offset = _SLOT.unpack_from(memory, slot)
        millis = _LONG.unpack(stretch(memory, offset, 8))[0]
        return from_epoch_nanos(millis * 1_000_000 + nanos, self._precision)


def check_parts(memory: bytes, header: int, values: Iterable[tuple[Field, int]]) -> None:
    """Check that the variable parts of values fit into their array or row without overlaps.

    Parts that overlap each other or the header could expand to any number of bytes and, if they are arrays and rows
    themselves, nest forever.

    Args:
        memory: the array or row.
        header: the size of the header, before the first slot.
        values: the fields of the non-null values, with the offsets of their slots.

    Raises:
        InvalidInputError: they do not fit.
    """
    remaining = len(memory) - header
    for field, slot in values:
        if isinstance(field, VariableField):
            size = field.size(memory, slot)
            remaining -= size
            if size < 0 or remaining < 0:
                raise InvalidInputError(f"The values exceed their {len(memory)} bytes.")


def stretch(memory: bytes, offset: int, size: int) -> bytes:
    """The ``size`` bytes from ``offset`` on.

    Raises:
        InvalidInputError: the range exceeds ``memory``.
    """
    if size < 0 or offset + size > len(memory):
        raise InvalidInputError(f"A value at byte {offset} of {size} bytes overruns a row of {len(memory)} bytes.")
    return memory[offset : offset + size]


def unscaled(value: Decimal | int, data_type: t.DecimalType) -> int:
    """The unscaled integer of a decimal.

    Raises:
        ValueError: it does not fit the type.
    """
    shifted = Decimal(value).scaleb(data_type.scale, _EXACT)
    number = int(shifted)
    if number != shifted or abs(number) >= 10**data_type.precision:
        raise ValueError(value)
    return number


def scaled(number: int, data_type: t.DecimalType) -> Decimal:
    """The decimal of an unscaled integer."""
    return Decimal(number).scaleb(-data_type.scale, _EXACT)


def epoch_days(value: dt.date | int) -> int:
    """Days since 1970-01-01 of a date; an int is returned unchanged."""
    return value if isinstance(value, int) else value.toordinal() - _EPOCH_DAY


def from_epoch_days(days: int) -> dt.date | int:
    """The date of days since 1970-01-01; the days if the year is outside of 1 to 9999."""
    return dt.date.fromordinal(days + _EPOCH_DAY) if days in _DAYS_RANGE else days


def epoch_nanos(value: dt.datetime | int, precision: int) -> int:
    """Nanoseconds since 1970-01-01 of a naive datetime, or of microseconds (precision > 6: nanoseconds)."""
    if isinstance(value, int):
        return value if precision > 6 else value * 1000
    return (value - _EPOCH) // _MICROSECOND * 1000


def from_epoch_nanos(nanos: int, precision: int) -> dt.datetime | int:
    """The naive datetime of nanoseconds since 1970-01-01.

    Above precision 6 the result is the nanoseconds, and outside of the years 1 to 9999 the microseconds.
    """
    if precision > 6:
        return nanos
    micros = nanos // 1000
    return _EPOCH + dt.timedelta(microseconds=micros) if micros in _MICROS_RANGE else micros


def _timestamp_field(data_type: t.TimestampType | t.LocalZonedTimestampType) -> Field:
    precision = data_type.precision
    if precision > COMPACT_TIMESTAMP:
        return WideTimestampField(precision)
    return FixedField(
        "q",
        lambda value: epoch_nanos(value, precision) // 1_000_000,
        lambda millis: from_epoch_nanos(millis * 1_000_000, precision),
    )


def _decimal_field(data_type: t.DecimalType) -> Field:
    if data_type.precision > COMPACT_DECIMAL:
        return WideDecimalField(data_type)
    return FixedField("q", lambda value: unscaled(value, data_type), lambda number: scaled(number, data_type))


def _variant_bytes(variant: tuple[bytes, bytes]) -> bytes:
    value, metadata = variant
    return struct.pack("<i", len(value)) + value + metadata


def _variant_of(data: bytes) -> tuple[bytes, bytes]:
    size = struct.unpack_from("<i", data)[0]
    return stretch(data, 4, size), data[4 + size :]


_TEXT = VariableField(str.encode, bytes.decode, inline=True)
_BINARY = VariableField(lambda value: b"".join((value,)), bytes, inline=True)
_VARIANT = VariableField(_variant_bytes, _variant_of, inline=False)

_ATOMIC: dict[type[t.DataType], Callable[[Any], Field]] = {
    t.BooleanType: lambda _: FixedField("?"),
    t.TinyIntType: lambda _: FixedField("b"),
    t.SmallIntType: lambda _: FixedField("h"),
    **{kind: lambda _: FixedField("i") for kind in (t.IntType, t.TimeType)},
    t.BigIntType: lambda _: FixedField("q"),
    t.FloatType: lambda _: FixedField("f"),
    t.DoubleType: lambda _: FixedField("d"),
    t.DateType: lambda _: FixedField("i", epoch_days, from_epoch_days),
    t.DecimalType: _decimal_field,
    **dict.fromkeys(t.TIMESTAMPS, _timestamp_field),
    **{kind: lambda _: _TEXT for kind in t.TEXTS},
    **{kind: lambda _: _BINARY for kind in (*t.BYTES, t.BlobType)},
    t.VariantType: lambda _: _VARIANT,
}


def atomic_field(data_type: t.DataType) -> Field | None:
    """The field of an atomic type; None for a nested type."""
    build = _ATOMIC.get(type(data_type))
    return build(data_type) if build else None
