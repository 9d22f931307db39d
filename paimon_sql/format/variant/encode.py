"""Encoding of typed columns as variant values, and of values as objects and arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.bytes.memory import Bytes, Longs, Mask, offsets_of
from paimon_sql.format.variant.byte_ranges import ordinals, put_unsigned, small_array, stretches_of, validity, width_of
from paimon_sql.format.variant.scalars import Integers, digits, from_sixteen_bytes, to_sixteen_bytes
from paimon_sql.format.variant.values import DECIMAL_WIDTHS, INTEGER_WIDTHS, LONGEST_SHORT_STRING, Basic, Primitive

_EMPTY = b""
_MAX_SMALL = 255
_FIXED = {
    pa.float32(): Primitive.FLOAT,
    pa.float64(): Primitive.DOUBLE,
    pa.date32(): Primitive.DATE,
    pa.time64("us"): Primitive.TIME,
    pa.timestamp("us"): Primitive.TIMESTAMP_NTZ,
    pa.timestamp("us", "UTC"): Primitive.TIMESTAMP,
    pa.timestamp("ns"): Primitive.TIMESTAMP_NTZ_NANOS,
    pa.timestamp("ns", "UTC"): Primitive.TIMESTAMP_NANOS,
    pa.binary(16): Primitive.UUID,
}
_DIGITS = {Primitive.DECIMAL4: 9, Primitive.DECIMAL8: 18, Primitive.DECIMAL16: 38}


def encoded(column: pa.Array) -> pa.Array:
    """Encode a typed column as variant values; nulls stay null.

    Raises:
        ValueError: variants do not support the type.
    """
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    kind = column.type
    if not len(column):
        return pa.array([], pa.binary())
    if pa.types.is_boolean(kind):
        return _booleans(column)
    if pa.types.is_signed_integer(kind):
        return _integers(column)
    if pa.types.is_decimal(kind):
        return _decimals(column)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _strings(column)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        content = column.cast(pa.binary())
        _, _, lengths = stretches_of(content)
        return pc.binary_join_element_wise(_long_heads(content, Primitive.BINARY, lengths), content, _EMPTY)
    with_zone = pa.types.is_timestamp(kind) and kind.tz
    primitive = _FIXED.get(pa.timestamp(kind.unit, "UTC") if with_zone else kind)
    if primitive is None:
        raise ValueError(f"a variant cannot hold values of the type {kind}")
    width = kind.bit_width // 8
    plain = pa.Array.from_buffers(pa.binary(width), len(column), column.buffers(), column.null_count, column.offset)
    payload = np.frombuffer(plain.buffers()[1], np.uint8).reshape(-1, width)[plain.offset : plain.offset + len(plain)]
    return _joined(column, np.full(len(column), primitive.head, np.uint8), payload, np.full(len(column), width))


def _joined(column: pa.Array, heads: Bytes, payload: Bytes, widths: Longs) -> pa.Array:
    """Concatenate heads and the first ``widths`` bytes of each row of the payload; null where the column is null."""
    present = validity(column)
    table = np.concatenate([heads[:, None], payload], axis=1)
    lengths = np.where(present, widths + 1, 0)
    used = np.arange(table.shape[1]) < lengths[:, None]
    return small_array(table[used], offsets_of(lengths), present)


def _booleans(column: pa.Array) -> pa.Array:
    is_true = column.fill_null(False).to_numpy(zero_copy_only=False)
    return _heads_only(column, np.where(is_true, Primitive.TRUE.head, Primitive.FALSE.head).astype(np.uint8))


def _heads_only(column: pa.Array, heads: Bytes) -> pa.Array:
    return _joined(column, heads, np.zeros((len(column), 0), np.uint8), np.zeros(len(column), np.int64))


def _integers(column: pa.Array) -> pa.Array:
    numbers = column.cast(pa.int64()).fill_null(0).to_numpy()
    heads, widths = np.zeros(len(numbers), np.uint8), np.zeros(len(numbers), np.int64)
    for primitive, width in reversed(INTEGER_WIDTHS.items()):
        maximum = 2 ** (8 * width - 1) - 1
        fits = (numbers <= maximum) & (numbers >= -maximum - 1)
        heads[fits], widths[fits] = primitive.head, width
    payload = np.ascontiguousarray(numbers.astype("<i8")).view(np.uint8).reshape(-1, 8)
    return _joined(column, heads, payload, widths)


def _decimals(column: pa.Array) -> pa.Array:
    scale = column.type.scale
    column = column.cast(pa.decimal128(38, scale))
    raw = np.frombuffer(column.buffers()[1], np.uint8).reshape(-1, 16)[column.offset : column.offset + len(column)]
    numbers: Integers = np.where(validity(column), from_sixteen_bytes(raw), 0)
    length = digits(numbers)
    heads, widths = np.zeros(len(numbers), np.uint8), np.zeros(len(numbers), np.int64)
    for primitive, max_digits in reversed(_DIGITS.items()):
        fits = length <= max_digits if scale <= max_digits else np.zeros(len(numbers), np.bool_)
        heads[fits], widths[fits] = primitive.head, 1 + DECIMAL_WIDTHS[primitive]
    scales = np.full((len(numbers), 1), scale, np.uint8)
    payload = np.concatenate([scales, to_sixteen_bytes(numbers).reshape(-1, 16)], axis=1)
    return _joined(column, heads, payload, widths)


def _strings(column: pa.Array) -> pa.Array:
    content = column.cast(pa.string()).cast(pa.binary())
    _, _, lengths = stretches_of(content)
    short = (np.minimum(lengths, LONGEST_SHORT_STRING) << 2 | Basic.SHORT_STRING).astype(np.uint8)
    heads = _long_heads(content, Primitive.STRING, lengths)
    is_short = lengths <= LONGEST_SHORT_STRING
    if is_short.any():
        heads = pc.if_else(pa.array(is_short), _heads_only(content, short), heads)
    return pc.binary_join_element_wise(heads, content, _EMPTY)


def _long_heads(content: pa.Array, primitive: Primitive, lengths: Longs) -> pa.Array:
    payload = np.ascontiguousarray(lengths.astype("<u4")).view(np.uint8).reshape(-1, 4)
    heads = np.full(len(content), primitive.head, np.uint8)
    return _joined(content, heads, payload, np.full(len(content), 4))


def packed(counts: Longs, inside: pa.Array, present: Mask, ids: Longs | None = None) -> pa.Array:
    """Encode objects or arrays.

    Args:
        counts: the number of values of each; 0 where it is not present.
        inside: the values of all, concatenated, without nulls; those of objects in the order of keys.
        present: the mask of existing objects or arrays; the result is null elsewhere.
        ids: the id of each value's key in its dictionary; None for arrays.
    """
    owners, which = ordinals(counts)
    data, starts, sizes = stretches_of(inside)
    ends = np.cumsum(counts)
    bounds = np.concatenate([starts[:1], starts + sizes]) if len(starts) else np.zeros(1, np.int64)
    before = bounds[ends - counts]
    content = bounds[ends] - before
    offset_width = width_of(content)
    id_width = np.zeros(len(counts), np.int64) if ids is None else width_of(_maxima(ids, counts))
    large = counts > _MAX_SMALL
    count_width = np.where(large, 4, 1)
    lengths = np.where(present, 1 + count_width + counts * id_width + (counts + 1) * offset_width, 0)
    offsets = offsets_of(lengths)
    out = np.zeros(int(offsets[-1]), np.uint8)
    at, here = offsets[:-1], present
    basic = Basic.ARRAY if ids is None else Basic.OBJECT
    info = offset_width - 1 | (large << 2 if ids is None else (id_width - 1) << 2 | large << 4)
    out[at[here]] = (info << 2 | basic)[here]
    put_unsigned(out, at[here] + 1, counts[here], count_width[here])
    ids_at = at + 1 + count_width
    if ids is not None:
        widths = id_width[owners]
        put_unsigned(out, ids_at[owners] + which * widths, ids, widths)
    offsets_at = ids_at + counts * id_width
    widths = offset_width[owners]
    put_unsigned(out, offsets_at[owners] + which * widths, starts - before[owners], widths)
    put_unsigned(out, (offsets_at + counts * offset_width)[here], content[here], offset_width[here])
    heads = small_array(out, offsets, present)
    contents = small_array(data, np.append(before, bounds[-1]))
    return pc.binary_join_element_wise(heads, contents, _EMPTY)


def _maxima(numbers: Longs, counts: Longs) -> Longs:
    """The max of each group of ``counts`` consecutive numbers; 0 for an empty group."""
    maxima = np.zeros(len(counts), np.int64)
    some = counts > 0
    if some.any():
        maxima[some] = np.maximum.reduceat(numbers, (np.cumsum(counts) - counts)[some])
    return maxima
