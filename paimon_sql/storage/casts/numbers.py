"""Casts between numbers, and between numbers and booleans."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format import types as t
from paimon_sql.storage.casts.registry import FLOATS, INTEGERS, CastCall, rule
from paimon_sql.storage.files.conform import with_validity_of

_WIDE_DIGITS = 76
_WIDE_SCALE = 38
_COMPACT_DIGITS = 18
_INT_RANGE = (-(2**31), 2**31 - 1)
_LONG_LIMIT = 2.0**63

_NUMPY: dict[type[t.DataType], Any] = {
    t.TinyIntType: np.int8,
    t.SmallIntType: np.int16,
    t.IntType: np.int32,
    t.BigIntType: np.int64,
    t.FloatType: np.float32,
    t.DoubleType: np.float64,
}


def plain_values(array: pa.Array) -> npt.NDArray[Any]:
    """A numeric column as NumPy; nulls are zeros."""
    values: npt.NDArray[Any] = pc.fill_null(array, pa.scalar(0, array.type)).to_numpy(zero_copy_only=False)
    return values


def _typed(values: npt.NDArray[Any], call: CastCall) -> npt.NDArray[Any]:
    with np.errstate(over="ignore"):
        return values.astype(_NUMPY[type(call.target)])


@rule(INTEGERS, INTEGERS + FLOATS)
@rule(FLOATS, FLOATS)
def number_to_number(array: pa.Array, call: CastCall) -> pa.Array:
    """Integers wrap around when they are narrowed; a double beyond FLOAT becomes infinite."""
    return with_validity_of(array, pa.array(_typed(plain_values(array), call)))


@rule(FLOATS, INTEGERS)
def float_to_integer(array: pa.Array, call: CastCall) -> pa.Array:
    """The fraction goes, what is too big stops at the limits of INT or BIGINT, NaN is 0; narrower types wrap then."""
    values = np.nan_to_num(plain_values(array).astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
    if isinstance(call.target, t.BigIntType):
        high = values >= _LONG_LIMIT
        whole = np.where(high | (values < -_LONG_LIMIT), 0.0, values).astype(np.int64)
        whole = np.where(high, np.iinfo(np.int64).max, np.where(values < -_LONG_LIMIT, np.iinfo(np.int64).min, whole))
    else:
        whole = np.clip(values, *_INT_RANGE).astype(np.int64)
    return with_validity_of(array, pa.array(_typed(whole, call)))


@rule(INTEGERS, (t.DecimalType,))
def integer_to_decimal(array: pa.Array, call: CastCall) -> pa.Array:
    """A number with too many digits becomes null."""
    return fitted(array.cast(pa.int64()).cast(pa.decimal256(_WIDE_DIGITS, 0)), call)


@rule(FLOATS, (t.DecimalType,))
def float_to_decimal(array: pa.Array, call: CastCall) -> pa.Array:
    """The shortest digits that tell the double apart, rounded half up; too big, infinite or NaN become null."""
    doubles = array.cast(pa.float64())
    bounded = pc.and_(pc.is_finite(doubles), pc.less(pc.abs(doubles), 10.0**_WIDE_SCALE))
    kept = pc.if_else(bounded, doubles, pa.scalar(None, pa.float64()))
    return fitted(text_to_wide_decimal(kept.cast(pa.string())), call)


def text_to_wide_decimal(text: pa.Array) -> pa.Array:
    """Digits with or without point and exponent as decimals of 38 digits behind the point; more of these are cut."""
    # Arrow refuses what it cannot keep: digits behind the point that the scale does not hold.
    shortened = pc.replace_substring_regex(text, r"^([+-]?\d*\.\d{38})\d+$", r"\1")
    small = pc.match_substring_regex(shortened, r"[eE]-\d{2,}$")
    if pc.any(small).as_py():
        tiny = pc.if_else(small, shortened, pa.scalar(None, pa.string())).cast(pa.float64())
        # With an exponent of -39 or less nothing is left within 38 digits.
        gone = pc.fill_null(pc.less(pc.abs(tiny), 10.0 ** (-_WIDE_SCALE)), False)
        shortened = pc.if_else(gone, "0", _without_exponent(shortened, pc.and_(small, pc.invert(gone))))
    return shortened.cast(pa.decimal256(_WIDE_DIGITS, _WIDE_SCALE))


def _without_exponent(text: pa.Array, chosen: pa.Array) -> pa.Array:
    """Numbers like 1.25e-12 written out, where ``chosen``, to 38 digits behind the point."""
    parts = pc.extract_regex(text, r"^(?P<sign>[+-]?)(?P<whole>\d*)\.?(?P<part>\d*)[eE]-(?P<power>\d+)$")
    power = pc.if_else(chosen, parts.field("power"), "0").cast(pa.int64())
    digits = pc.binary_join_element_wise(parts.field("whole"), parts.field("part"), "")
    behind = pc.add(pc.utf8_length(parts.field("part")).cast(pa.int64()), power)
    # Whole times a power of ten that the wide type holds: shifted as text, because the shift differs by row.
    zeros = pc.binary_repeat("0", pc.max_element_wise(pc.subtract(behind, pc.utf8_length(digits).cast(pa.int64())), 0))
    fraction = pc.utf8_slice_codeunits(pc.binary_join_element_wise(zeros, digits, ""), 0, _WIDE_SCALE)
    written = pc.binary_join_element_wise(parts.field("sign"), "0.", fraction, "")
    return pc.if_else(chosen, written, text)


@rule((t.DecimalType,), (t.DecimalType,))
def decimal_to_decimal(array: pa.Array, call: CastCall) -> pa.Array:
    """Rounded half up, away from zero; a number with too many digits becomes null."""
    return fitted(array, call)


def fitted(array: pa.Array, call: CastCall) -> pa.Array:
    """Decimals of any type in the precision and scale of the target: rounded half up, null if too big."""
    precision, scale = call.arrow.precision, call.arrow.scale
    wide = array.cast(pa.decimal256(_WIDE_DIGITS, array.type.scale))
    if array.type.scale > scale:
        wide = pc.round(wide, scale, "half_towards_infinity")
    limit = pa.scalar(Decimal(10 ** (precision - scale)), pa.decimal256(_WIDE_DIGITS, 0))
    fits = pc.less(pc.abs(wide), limit)
    return pc.if_else(fits, wide, pa.scalar(None, wide.type)).cast(call.arrow)


@rule((t.DecimalType,), INTEGERS)
def decimal_to_integer(array: pa.Array, call: CastCall) -> pa.Array:
    """The digits behind the point go; of a number that is too big the low bits stay."""
    whole = array.cast(pa.decimal128(array.type.precision, 0), safe=False)
    low = np.frombuffer(whole.buffers()[1], "<i8")[2 * whole.offset :: 2][: len(whole)]
    return with_validity_of(array, pa.array(_typed(low, call)))


@rule((t.DecimalType,), FLOATS)
def decimal_to_float(array: pa.Array, call: CastCall) -> pa.Array:
    """The nearest double; FLOAT is rounded from that."""
    if array.type.precision <= _COMPACT_DIGITS:
        unscaled = np.frombuffer(array.buffers()[1], "<i8")[2 * array.offset :: 2][: len(array)]
        doubles = with_validity_of(array, pa.array(unscaled.astype(np.float64) / 10.0**array.type.scale))
    else:
        doubles = array.cast(pa.string()).cast(pa.float64())
    return with_validity_of(array, pa.array(_typed(plain_values(doubles), call)))


@rule((t.BooleanType,), INTEGERS + FLOATS)
def boolean_to_number(array: pa.Array, call: CastCall) -> pa.Array:
    """True is 1, false is 0."""
    return array.cast(pa.int8()).cast(call.arrow)


@rule((t.BooleanType,), (t.DecimalType,))
def boolean_to_decimal(array: pa.Array, call: CastCall) -> pa.Array:
    """True is 1, false is 0; null if the type has no digit before its point."""
    return fitted(array.cast(pa.int64()).cast(pa.decimal256(_WIDE_DIGITS, 0)), call)


@rule(INTEGERS, (t.BooleanType,))
def integer_to_boolean(array: pa.Array, call: CastCall) -> pa.Array:
    """All but 0 is true."""
    return pc.not_equal(array, pa.scalar(0, array.type))
