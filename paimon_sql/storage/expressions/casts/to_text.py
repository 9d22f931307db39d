"""Casts to strings, and between strings and bytes."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.schema import types as t
from paimon_sql.storage.expressions.casts import registry
from paimon_sql.storage.expressions.casts.registry import TEXTS, CastCall, cast, rule
from paimon_sql.storage.expressions.casts.times import local_times
from paimon_sql.storage.expressions.kernels.conform import rebuild_list, with_validity_of

_MAX_PLAIN, _MIN_PLAIN = 1e7, 1e-3
_NULL = "null"


@rule(TEXTS, TEXTS)
def fitted_text(text: pa.Array, call: CastCall) -> pa.Array:
    """Truncate strings to the length of the target type, padded with spaces for CHAR."""
    target = call.target
    if isinstance(target, t.VarCharType | t.CharType) and target.length < t.MAX_LENGTH:
        text = pc.utf8_slice_codeunits(text, 0, target.length)
        if isinstance(target, t.CharType):
            text = pc.utf8_rpad(text, target.length, " ")
    return text


@rule((t.BooleanType, *registry.INTEGERS, t.DateType, *registry.BYTES), TEXTS)
def plainly_to_text(array: pa.Array, call: CastCall) -> pa.Array:
    """``true``, ``false``, digits, ``yyyy-MM-dd``, the bytes as UTF-8."""
    return fitted_text(array.cast(pa.string()), call)


@rule((t.DecimalType,), TEXTS)
def decimal_to_text(array: pa.Array, call: CastCall) -> pa.Array:
    """All digits of the scale, never an exponent, such as ``-0.050``."""
    scale = array.type.scale
    unscaled = pa.Array.from_buffers(pa.decimal128(38, 0), len(array), array.buffers(), array.null_count, array.offset)
    digits = pc.utf8_lpad(pc.abs(unscaled).cast(pa.string()), scale + 1, "0")
    if scale:
        whole, part = pc.utf8_slice_codeunits(digits, 0, -scale), pc.utf8_slice_codeunits(digits, -scale)
        digits = pc.binary_join_element_wise(whole, part, ".")
    negative = pc.less(unscaled, pa.scalar(0).cast(pa.decimal128(38, 0)))
    return fitted_text(pc.binary_join_element_wise(pc.if_else(negative, "-", ""), digits, ""), call)


@rule(registry.FLOATS, TEXTS)
def float_to_text(array: pa.Array, call: CastCall) -> pa.Array:
    """Like Java's doubles, with the fewest digits: ``1.0``, ``1.0E10``, ``1.5E-5``, ``NaN``, ``-Infinity``."""
    shortest = array.cast(pa.string())
    special = pc.replace_substring(pc.replace_substring(shortest, "nan", "NaN"), "inf", "Infinity")
    size = pc.abs(array.cast(pa.float64()))
    zero = pc.equal(size, 0.0)
    plain = pc.or_(zero, pc.and_(pc.greater_equal(size, _MIN_PLAIN), pc.less(size, _MAX_PLAIN)))
    point = pc.if_else(pc.match_substring(shortest, "."), "", ".0")
    written = pc.if_else(plain, pc.binary_join_element_wise(shortest, point, ""), _scientific(shortest))
    return fitted_text(pc.if_else(pc.is_finite(array), written, special), call)


def _scientific(text: pa.Array) -> pa.Array:
    """Return numbers as ``d.ddEn``; values that are not finite give null or garbage, which the caller ignores."""
    parts = pc.extract_regex(text, r"^(?P<sign>-?)(?P<whole>\d+)(?:\.(?P<part>\d+))?(?:[eE](?P<power>[+-]?\d+))?$")
    sign, whole, part, power = parts.flatten()
    all_digits = pc.binary_join_element_wise(whole, part, "")
    significant = pc.utf8_ltrim(all_digits, "0")
    leading = pc.subtract(pc.utf8_length(all_digits), pc.utf8_length(significant))
    exponent = pc.if_else(pc.equal(power, ""), "0", pc.utf8_ltrim(power, "+")).cast(pa.int64())
    point = pc.subtract(pc.subtract(pc.utf8_length(whole), leading), 1)
    shown_power = pc.add(exponent, point.cast(pa.int64())).cast(pa.string())
    digits = pc.utf8_rtrim(significant, "0")
    first, rest = pc.utf8_slice_codeunits(digits, 0, 1), pc.utf8_slice_codeunits(digits, 1)
    rest = pc.if_else(pc.equal(rest, ""), "0", rest)
    return pc.binary_join_element_wise(sign, first, ".", rest, "E", shown_power, "")


@rule((t.TimeType,), TEXTS)
def time_to_text(array: pa.Array, call: CastCall) -> pa.Array:
    """``HH:mm:ss`` and the required digits after the point, at least one, none for TIME(0)."""
    precision = call.source.precision if isinstance(call.source, t.TimeType) else 0
    text = array.cast(pa.string())
    text = pc.utf8_slice_codeunits(text, 0, 9 + min(precision, 3) if precision else 8)
    return fitted_text(pc.replace_substring_regex(text, r"(\.\d+?)0+$", r"\1"), call)


@rule(registry.TIMESTAMPS, TEXTS)
def timestamp_to_text(array: pa.Array, call: CastCall) -> pa.Array:
    """``yyyy-MM-dd HH:mm:ss`` and the digits of the type's precision; a local time zone is shown in the session's."""
    precision = getattr(call.source, "precision", 6)
    local = local_times(array, call)
    spare = (9 if array.type.unit == "ns" else 6) - precision
    text = local.cast(pa.string())
    if spare:
        text = pc.replace_substring_regex(text, rf"0{{1,{spare}}}$", "")
        text = pc.replace_substring_regex(text, r"\.$", "")
    return fitted_text(text, call)


@rule(TEXTS, registry.BYTES)
def text_to_bytes(array: pa.Array, call: CastCall) -> pa.Array:
    """The UTF-8 bytes, truncated to the length of the type."""
    return bytes_to_bytes(array.cast(pa.binary()), call)


@rule(registry.BYTES, registry.BYTES)
def bytes_to_bytes(array: pa.Array, call: CastCall) -> pa.Array:
    """Truncated to the new length; BINARY is padded with zero bytes."""
    target = call.target
    if not isinstance(target, t.VarBinaryType | t.BinaryType) or target.length == t.MAX_LENGTH:
        return array
    cut = pc.binary_slice(array, 0, target.length)
    if isinstance(target, t.BinaryType):
        missing = pc.subtract(target.length, pc.binary_length(cut)).cast(pa.int64())
        cut = pc.binary_join_element_wise(cut, pc.binary_repeat(pa.scalar(b"\0"), missing), pa.scalar(b""))
    return cut


@rule((t.ArrayType, t.VectorType), TEXTS)
def array_to_text(array: pa.Array, call: CastCall) -> pa.Array:
    """``[a, b, null]``."""
    lists = array.cast(pa.list_(array.type.value_field))
    elements = _element_text(lists.values, call.source.children()[0], call)
    return fitted_text(_enclosed("[", _joined(lists, elements), "]"), call)


@rule((t.MapType, t.MultisetType), TEXTS)
def map_to_text(array: pa.Array, call: CastCall) -> pa.Array:
    """``{key -> value, key -> null}``."""
    types = call.source.children()
    keys = _element_text(array.keys, types[0], call)
    items = _element_text(array.items, types[1] if len(types) > 1 else t.IntType(), call)
    entries = pc.binary_join_element_wise(keys, items, " -> ")
    return fitted_text(_enclosed("{", _joined(array, entries), "}"), call)


@rule((t.RowType,), TEXTS)
def row_to_text(array: pa.Array, call: CastCall) -> pa.Array:
    """``{a, null}``."""
    parts = [_element_text(array.field(i), part, call) for i, part in enumerate(call.source.children())]
    text = _enclosed("{", pc.binary_join_element_wise(*parts, ", "), "}") if parts else pa.repeat("{}", len(array))
    return fitted_text(with_validity_of(array, text), call)


def _element_text(array: pa.Array, data_type: t.DataType, call: CastCall) -> pa.Array:
    return pc.fill_null(cast(array, data_type, t.string_type(), time_zone=call.time_zone), _NULL)


def _joined(shape: pa.Array, strings: pa.Array) -> pa.Array:
    return pc.binary_join(rebuild_list(shape, pa.list_(pa.string()), strings), ", ")


def _enclosed(before: str, text: pa.Array, after: str) -> pa.Array:
    return pc.binary_join_element_wise(before, text, after, "")
