"""Conversion of scalar variant values to typed columns, if the type can represent them without loss."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.format.bytes.memory import Bytes, Longs, Mask, fixed_array
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.variant.byte_ranges import binary_of, matrix, unsigned
from paimon_sql.format.variant.values import (
    DECIMAL_WIDTHS,
    INTEGER_WIDTHS,
    LONGEST_SHORT_STRING,
    Basic,
    Primitive,
    Values,
)

INTEGERS = tuple(INTEGER_WIDTHS)
DECIMALS = tuple(DECIMAL_WIDTHS)
_BITS: dict[type[t.DataType], int] = {t.TinyIntType: 8, t.SmallIntType: 16, t.IntType: 32, t.BigIntType: 64}
_FIXED: dict[type[t.DataType], tuple[Primitive, str]] = {
    t.FloatType: (Primitive.FLOAT, "<f4"),
    t.DoubleType: (Primitive.DOUBLE, "<f8"),
    t.DateType: (Primitive.DATE, "<i4"),
    t.TimestampType: (Primitive.TIMESTAMP_NTZ, "<i8"),
    t.LocalZonedTimestampType: (Primitive.TIMESTAMP, "<i8"),
}

_ATOMIC = (t.BooleanType, t.DecimalType, *t.TEXTS, *t.BYTES, *_BITS, *_FIXED)


def is_scalar(data_type: t.DataType) -> bool:
    """Whether a typed column of a shredded variant can have this type."""
    return isinstance(data_type, _ATOMIC)


def scalar_type(data_type: t.DataType) -> t.DataType:
    """The type of the typed column, which can represent all variant values of this kind."""
    if isinstance(data_type, t.TIMESTAMPS):
        return type(data_type)(True, 6)
    if isinstance(data_type, t.TEXTS):
        return t.string_type()
    return t.bytes_type() if isinstance(data_type, t.BYTES) else data_type.as_nullable()


def typed(values: Values, present: Mask, data_type: t.DataType) -> pa.Array:
    """Convert values of a type to its Arrow type; null for values of other types and where not present."""
    converted = _READERS.get(type(data_type), _fixed)(values.some(present), data_type)
    if present.all():
        return converted
    indexes = np.cumsum(present) - 1
    return converted.take(pa.array(np.where(present, indexes, 0), mask=~present))


def _fixed(values: Values, data_type: t.DataType) -> pa.Array:
    primitive, layout = _FIXED[type(data_type)]
    matches = values.is_primitive(primitive)
    numbers = np.zeros(len(values), layout)
    numbers[matches] = _raw(values.some(matches), 1, np.dtype(layout))
    kind = arrow_type(scalar_type(data_type))
    return fixed_array(numbers, kind, ~matches)


def _raw(values: Values, skip: int, layout: np.dtype[np.generic]) -> npt.NDArray[np.generic]:
    """The numbers ``skip`` bytes after the start of each value."""
    return np.ascontiguousarray(matrix(values.data, values.at + skip, layout.itemsize)).view(layout)[:, 0]


def _booleans(values: Values, data_type: t.DataType) -> pa.Array:
    matches = values.is_primitive(Primitive.TRUE, Primitive.FALSE)
    return pa.array(values.info == Primitive.TRUE, pa.bool_(), mask=~matches)


def _integers(values: Values, data_type: t.DataType) -> pa.Array:
    maximum = 2 ** (_BITS[type(data_type)] - 1) - 1
    integers, is_integer = whole_numbers(values)
    fits = is_integer & (integers <= maximum) & (integers >= -maximum - 1)
    is_decimal = values.is_primitive(*DECIMALS)
    if is_decimal.any():
        numbers, scales = decimal_numbers(values.some(is_decimal))
        converted, exact = rescaled(numbers, scales, 0, maximum)
        integers[is_decimal], fits[is_decimal] = np.where(exact, converted, 0).astype(np.int64), exact
    return pa.array(np.where(fits, integers, 0), mask=~fits).cast(arrow_type(data_type))


def _decimals(values: Values, data_type: t.DataType) -> pa.Array:
    assert isinstance(data_type, t.DecimalType)
    integers, is_integer = whole_numbers(values)
    is_decimal = values.is_primitive(*DECIMALS)
    numbers: Integers = integers
    scales = np.zeros(len(values), np.int64)
    if is_decimal.any():
        decimals, scales[is_decimal] = decimal_numbers(values.some(is_decimal))
        numbers = integers.astype(object) if decimals.dtype == object else integers
        numbers[is_decimal] = decimals
    converted, exact = rescaled(numbers, scales, data_type.scale, 10**data_type.precision - 1)
    fits = exact & (is_integer | is_decimal)
    return fixed_array(to_sixteen_bytes(np.where(fits, converted, 0)), arrow_type(data_type), ~fits)


def _strings(values: Values, data_type: t.DataType) -> pa.Array:
    is_short = values.basic == Basic.SHORT_STRING
    is_long = values.is_primitive(Primitive.STRING)
    skip = np.where(is_short, 1, 5)
    found = binary_of(values.data, values.at + skip, _content(values, is_short, is_long), is_short | is_long)
    return found.view(pa.string())


def _bytes(values: Values, data_type: t.DataType) -> pa.Array:
    matches = values.is_primitive(Primitive.BINARY)
    nothing = np.zeros(len(values), np.bool_)
    return binary_of(values.data, values.at + 5, _content(values, nothing, matches), matches)


def _content(values: Values, is_short: Mask, is_long: Mask) -> Longs:
    """The lengths of strings and bytes, without their heads."""
    lengths = np.where(is_short, values.info, 0).astype(np.int64)
    lengths[is_long] = unsigned(values.data, values.at[is_long] + 1, 4)
    assert not is_short.any() or lengths[is_short].max() <= LONGEST_SHORT_STRING
    return lengths


def whole_numbers(values: Values) -> tuple[Longs, Mask]:
    """The integers among values, and their mask."""
    numbers, found = np.zeros(len(values), np.int64), np.zeros(len(values), np.bool_)
    for primitive, width in INTEGER_WIDTHS.items():
        here = values.is_primitive(primitive)
        if here.any():
            numbers[here] = _raw(values.some(here), 1, np.dtype(f"<i{width}"))
            found |= here
    return numbers, found


def decimal_numbers(values: Values) -> tuple[Integers, Longs]:
    """The unscaled numbers and the scales of decimals."""
    numbers: Integers = np.zeros(len(values), np.int64)
    for primitive, width in DECIMAL_WIDTHS.items():
        here = values.is_primitive(primitive)
        some = values.some(here)
        if width < 16:
            numbers[here] = _raw(some, 2, np.dtype(f"<i{width}"))
        elif len(some):
            found = from_sixteen_bytes(matrix(some.data, some.at + 2, width))
            numbers = numbers.astype(object) if found.dtype == object else numbers
            numbers[here] = found
    return numbers, values.data[values.at + 1].astype(np.int64)


_READERS: dict[type[t.DataType], Callable[[Values, t.DataType], pa.Array]] = {
    t.BooleanType: _booleans,
    t.DecimalType: _decimals,
    **dict.fromkeys(t.TEXTS, _strings),
    **dict.fromkeys(t.BYTES, _bytes),
    **dict.fromkeys(_BITS, _integers),
}


Integers = npt.NDArray[np.int64] | npt.NDArray[np.object_]
"""Integers as int64, or as objects if one of them is too large."""

_MAX_LONG, _MIN_LONG = 2**63 - 1, -(2**63)


def from_sixteen_bytes(rows: Bytes) -> Integers:
    """Decode rows of 16 bytes, little-endian and signed."""
    halves = np.ascontiguousarray(rows).view("<i8")
    low, high = halves[:, 0], halves[:, 1]
    if (high == low >> 63).all():
        return low.astype(np.int64)
    numbers: Integers = high.astype(object) * 2**64 + low.view(np.uint64).astype(object)
    return numbers


def to_sixteen_bytes(numbers: Integers) -> Bytes:
    """Encode numbers as rows of 16 bytes, little-endian and signed."""
    halves = np.empty((len(numbers), 2), np.int64)
    if numbers.dtype == object:
        halves[:, 0] = (numbers & (2**64 - 1)).astype(np.uint64).view(np.int64)
        halves[:, 1] = (numbers >> 64).astype(np.int64)
    else:
        halves[:, 0], halves[:, 1] = numbers, numbers >> 63
    return halves.view(np.uint8)


def rescaled(numbers: Integers, scales: Longs, scale: int, maximum: int) -> tuple[Integers, Mask]:
    """Convert decimals to another scale; with the mask of exact results between ``-maximum`` and ``maximum``.

    Args:
        numbers: the unscaled numbers.
        scales: the scale of each.
        scale: the new scale.
        maximum: max absolute value of a result.
    """
    wide = numbers.dtype == object or maximum > _MAX_LONG
    work = numbers.astype(object) if wide else numbers
    results, fits = np.zeros(len(work), work.dtype), np.zeros(len(work), np.bool_)
    for found in np.unique(scales):
        here = scales == found
        some, factor = work[here], 10 ** abs(scale - int(found))
        if found <= scale:
            exact = (some <= maximum // factor) & (some >= -(maximum // factor))
            results[here] = np.where(exact, some, 0) * factor if factor <= _MAX_LONG or wide else 0
            fits[here] = exact
        elif factor > _MAX_LONG and not wide:
            fits[here] = some == 0
        else:
            quotient = some // factor
            results[here] = quotient
            fits[here] = (quotient * factor == some) & (quotient <= maximum) & (quotient >= -maximum)
    return results, fits.astype(np.bool_)


def digits(numbers: Integers) -> Longs:
    """The number of decimal digits of each number; 1 for zero."""
    counts = np.ones(len(numbers), np.int64)
    for exponent in range(1, 38):
        bound = 10**exponent
        if numbers.dtype != object and bound > _MAX_LONG:
            break
        longer = (numbers >= bound) | (numbers <= -bound)
        if not longer.any():
            break
        counts += longer.astype(np.int64)
    return counts
