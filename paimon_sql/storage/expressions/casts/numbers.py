"""Casts between numbers, and between numbers and booleans."""

from __future__ import annotations

from decimal import Context, Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.schema import types as t
from paimon_sql.storage.expressions.casts.registry import FLOATS, INTEGERS, CastCall, rule
from paimon_sql.storage.expressions.kernels.conform import only, with_validity_of

_WIDE_DIGITS = 76
_EXPONENT_SCALE = 37
_EXACT = Context(prec=100)
_COMPACT_DIGITS = 18
_INT_RANGE = (-(2**31), 2**31 - 1)
_LONG_LIMIT = 2.0**63


def plain_values(array: pa.Array) -> npt.NDArray[np.generic]:
    """Return a numeric column as NumPy array; nulls are zeros."""
    values: npt.NDArray[np.generic] = pc.fill_null(array, pa.scalar(0, array.type)).to_numpy(zero_copy_only=False)
    return values


def _typed(values: npt.NDArray[np.generic], call: CastCall) -> npt.NDArray[np.generic]:
    with np.errstate(over="ignore"):
        return values.astype(call.arrow.to_pandas_dtype())


@rule(INTEGERS, INTEGERS + FLOATS)
@rule(FLOATS, FLOATS)
def number_to_number(array: pa.Array, call: CastCall) -> pa.Array:
    """Narrowed integers wrap around; a double out of the range of FLOAT becomes infinite."""
    return with_validity_of(array, pa.array(_typed(plain_values(array), call)))


@rule(FLOATS, INTEGERS)
def float_to_integer(array: pa.Array, call: CastCall) -> pa.Array:
    """Fractions are truncated, values saturate at the limits of INT or BIGINT, NaN is 0; then narrower types wrap."""
    values = np.nan_to_num(plain_values(array).astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
    if isinstance(call.target, t.BigIntType):
        high = values >= _LONG_LIMIT
        ints = np.where(high | (values < -_LONG_LIMIT), 0.0, values).astype(np.int64)
        ints = np.where(high, np.iinfo(np.int64).max, np.where(values < -_LONG_LIMIT, np.iinfo(np.int64).min, ints))
    else:
        ints = np.clip(values, *_INT_RANGE).astype(np.int64)
    return with_validity_of(array, pa.array(_typed(ints, call)))


@rule((t.BooleanType, *INTEGERS), (t.DecimalType,))
def integer_to_decimal(array: pa.Array, call: CastCall) -> pa.Array:
    """A number with too many digits becomes null; true is 1, false is 0."""
    return fitted(array.cast(pa.int64()).cast(pa.decimal256(_WIDE_DIGITS, 0)), call)


@rule(FLOATS, (t.DecimalType,))
def float_to_decimal(array: pa.Array, call: CastCall) -> pa.Array:
    """The shortest digits that identify the double, rounded half up; too big, infinite or NaN become null."""
    doubles = array.cast(pa.float64())
    return number_text_to_decimal(doubles.cast(pa.string()), doubles, call)


def number_text_to_decimal(text: pa.Array, size: pa.Array, call: CastCall) -> pa.Array:
    """Convert digits with optional point and exponent to decimals: rounded half up, null if too big.

    Args:
        text: the digits.
        size: approximately the same numbers as doubles; what is not finite becomes null.
        call: the cast.
    """
    precision, scale = call.arrow.precision, call.arrow.scale
    # Remove what is far too big first, so that the rest fits into the wide type.
    near = pc.less(pc.abs(size), 2 * 10.0 ** (precision - scale))
    numbers = only(near, text)
    # One digit after the last is enough for rounding; Arrow refuses to truncate more itself.
    digits = scale + 1
    tiny = pc.less(pc.abs(size), 10.0 ** -(digits + 1))
    numbers = pc.if_else(pc.and_(near, tiny), "0", _expand_exponent(numbers))
    exponent = pc.match_substring_regex(numbers, "[eE]")
    plain = pc.replace_substring_regex(numbers, rf"^([+-]?\d*\.\d{{{digits}}})\d+$", r"\1")
    plain = only(pc.invert(exponent), plain).cast(pa.decimal256(_WIDE_DIGITS, digits))
    scientific = only(exponent, numbers).cast(pa.decimal256(_WIDE_DIGITS, _EXPONENT_SCALE))
    return pc.coalesce(fitted(plain, call), fitted(scientific, call))


def _expand_exponent(text: pa.Array) -> pa.Array:
    """Write numbers below 1 with a negative exponent, such as 1.25e-12, without one; others are unchanged."""
    parts = pc.extract_regex(text, r"^(?P<sign>[+-]?)(?P<whole>\d*)\.?(?P<part>\d*)[eE]-(?P<power>\d{1,4})$")
    sign, whole, part, power = parts.flatten()
    zeros = pc.subtract(
        pc.coalesce(power, "0").cast(pa.int64()), pc.utf8_length(pc.coalesce(whole, "")).cast(pa.int64())
    )
    below_one = pc.and_(parts.is_valid(), pc.greater_equal(zeros, 0))
    padding = pc.binary_repeat("0", pc.max_element_wise(zeros, 0))
    return pc.if_else(below_one, pc.binary_join_element_wise(sign, "0.", padding, whole, part, ""), text)


@rule((t.DecimalType,), (t.DecimalType,))
def fitted(array: pa.Array, call: CastCall) -> pa.Array:
    """Convert decimals to the target's precision and scale: rounded half away from zero, null if too big."""
    precision, scale = call.arrow.precision, call.arrow.scale
    wide = array.cast(pa.decimal256(_WIDE_DIGITS, array.type.scale))
    if array.type.scale > scale:
        wide = pc.round(wide, scale, "half_towards_infinity")
    fraction_digits = min(wide.type.scale, scale)
    nines = Decimal(10 ** (precision - scale + fraction_digits) - 1).scaleb(-fraction_digits, _EXACT)
    maximum = pa.scalar(nines, pa.decimal256(_WIDE_DIGITS, wide.type.scale))
    fits = pc.less_equal(pc.abs(wide), maximum)
    return only(fits, wide).cast(call.arrow)


@rule((t.DecimalType,), INTEGERS)
def decimal_to_integer(array: pa.Array, call: CastCall) -> pa.Array:
    """The fraction is truncated; a number that is too big keeps its low bits."""
    truncated = array.cast(pa.decimal128(array.type.precision, 0), safe=False)
    low = np.frombuffer(truncated.buffers()[1], "<i8")[2 * truncated.offset :: 2][: len(truncated)]
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


@rule(INTEGERS, (t.BooleanType,))
def integer_to_boolean(array: pa.Array, call: CastCall) -> pa.Array:
    """All but 0 is true."""
    return pc.not_equal(array, pa.scalar(0, array.type))
