"""Decoding of many serialized BinaryRows to Arrow columns, to skip manifest entries by partition, key and statistics.

A column is decoded with few NumPy calls; only ARRAY, MAP, MULTISET, ROW, VECTOR and VARIANT values are decoded one by
one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.bytes.decimals import WIDTH, from_big_endian
from paimon_sql.format.bytes.memory import (
    WORD,
    Bytes,
    Longs,
    Mask,
    Words,
    binary_array,
    binary_buffers,
    fixed_array,
    null_mask,
    offsets_of,
    range_index,
    to_binary_array,
    validity_buffer,
    words_view,
)
from paimon_sql.format.rows.binary_field import COMPACT_DECIMAL, COMPACT_TIMESTAMP, INLINE
from paimon_sql.format.rows.binary_row import BAD_VALUE, PREFIX, field_of, header_size
from paimon_sql.format.rows.encode import FLAT, UNSIGNED
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def decode_columns(
    types: Sequence[t.DataType],
    rows: Sequence[bytes | None] | pa.Array | pa.ChunkedArray,
    *,
    overflow_to_null: bool = False,
    places: Sequence[int] | None = None,
) -> list[pa.Array]:
    """Decode columns of serialized rows to Arrow arrays, of the types of ``arrow_type``.

    A null row, and a row without fields (of a file without a key or statistics), is null in every column.

    Args:
        types: the types of the rows' fields.
        rows: rows as in manifests: the number of fields, then a BinaryRow.
        overflow_to_null: whether a timestamp that overflows Arrow's 64 bits (one of precision 9 outside of the years
            1677 to 2262) becomes null instead of an error.
        places: the indexes of the fields to decode, in this order; all by default.

    Raises:
        InvalidInputError: a row has another number of fields or is cut off.
    """
    memory = _Rows(to_binary_array(rows), len(types))
    return [_decode(memory, i, types[i], overflow_to_null) for i in (range(len(types)) if places is None else places)]


class _Rows:
    """The memory and the starts of many rows of ``arity`` fields; absent rows refer to zeros."""

    def __init__(self, rows: pa.Array, arity: int) -> None:
        data, offsets = binary_buffers(rows)
        first, last = int(offsets[0]), int(offsets[-1])
        self.header = header_size(arity)
        fixed = self.header + 8 * arity
        # Zeros after the last row are for absent rows, and allow to read a word at the last byte.
        self.memory: Bytes = np.zeros(last - first + fixed + 16, np.uint8)
        self.memory[: last - first] = data[first:last]
        starts = offsets[:-1] - first
        sizes = np.diff(offsets)
        present = sizes >= PREFIX.size
        arities = np.where(present, words_view(self.memory, np.dtype(">i4"))[starts], 0)
        present &= arities != 0
        if (absent := null_mask(rows)) is not None:
            present &= ~absent
        wrong = present & (arities != arity)
        if wrong.any():
            found = int(arities[wrong][0])
            raise InvalidInputError(f"A BinaryRow of {found} fields was read as one of {arity} fields.")
        if (present & (sizes < fixed + PREFIX.size)).any():
            raise InvalidInputError(f"A BinaryRow of {arity} fields is cut off.")
        self.absent: Mask | None = None if present.all() else ~present
        self.starts: Longs = np.where(present, starts + PREFIX.size, last - first)
        self.sizes: Longs = np.where(present, sizes - PREFIX.size, fixed)
        self._words = words_view(self.memory, WORD)

    def __len__(self) -> int:
        return len(self.starts)

    def nulls(self, field: int) -> Mask | None:
        """The mask of nulls of a field; None if there are none."""
        mask: Mask = (self.memory[self.starts + (field + 8) // 8] >> np.uint8(field % 8) & 1).astype(np.bool_)
        if self.absent is not None:
            mask |= self.absent
        return mask if mask.any() else None

    def slots(self, field: int) -> Longs:
        """The positions of a field's slots."""
        return self.starts + (self.header + 8 * field)

    def words(self, positions: Longs) -> Words:
        """The words at positions of the memory."""
        return self._words[positions]

    def stretches(self, words: Words, within: Mask) -> tuple[Longs, Longs]:
        """The start and size of the variable parts that slots refer to; empty where ``within`` is False."""
        sizes = np.where(within, (words & _LOW).astype(np.int64), 0)
        offsets = np.where(within, (words >> _HALF).astype(np.int64), 0)
        if (offsets + sizes > self.sizes).any():
            raise InvalidInputError("A value of a BinaryRow overruns its row: the row is corrupt.")
        return self.starts + offsets, sizes


def _decode(rows: _Rows, field: int, data_type: t.DataType, overflow_to_null: bool) -> pa.Array:
    nulls = rows.nulls(field)
    words = rows.words(rows.slots(field))
    kind = type(data_type)
    if kind is t.BooleanType:
        bits = np.packbits((words & np.uint64(0xFF)).astype(np.bool_), bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(rows), [validity_buffer(nulls), pa.py_buffer(bits)])
    if kind in UNSIGNED:
        return fixed_array(words.astype(UNSIGNED[kind], copy=False), arrow_type(data_type), nulls)
    if isinstance(data_type, t.DecimalType):
        return _decimals(rows, words, data_type, nulls)
    if isinstance(data_type, t.TimestampType | t.LocalZonedTimestampType):
        return _timestamps(rows, words, data_type, nulls, overflow_to_null)
    if isinstance(data_type, FLAT):
        return _flat(rows, field, words, data_type, nulls)
    return _one_by_one(rows, field, data_type, nulls)


def _present(rows: _Rows, nulls: Mask | None) -> Mask:
    return np.ones(len(rows), np.bool_) if nulls is None else ~nulls


def _decimals(rows: _Rows, words: Words, data_type: t.DecimalType, nulls: Mask | None) -> pa.Array:
    kind = arrow_type(data_type)
    if data_type.precision <= COMPACT_DECIMAL:
        low = words.view(np.int64)
        return fixed_array(np.column_stack((low, low >> 63)), kind, nulls)
    starts, sizes = rows.stretches(words, _present(rows, nulls))
    if (sizes > WIDTH).any():
        raise InvalidInputError(f"A BinaryRow holds a {data_type.sql()} of more than 16 bytes: the row is corrupt.")
    buffers = [validity_buffer(nulls), from_big_endian(rows.memory, starts, sizes)]
    return pa.Array.from_buffers(kind, len(rows), buffers)


def _timestamps(
    rows: _Rows,
    words: Words,
    data_type: t.TimestampType | t.LocalZonedTimestampType,
    nulls: Mask | None,
    overflow_to_null: bool,
) -> pa.Array:
    if data_type.precision <= COMPACT_TIMESTAMP:
        millis, nanos = words.view(np.int64), np.zeros(len(rows), np.int64)
    else:
        sized = (words >> _HALF << _HALF) | np.uint64(8)
        starts, _ = rows.stretches(sized, _present(rows, nulls))
        millis = np.where(_present(rows, nulls), rows.words(starts).view(np.int64), 0)
        nanos = (words & _LOW).astype(np.int64)
    factor, parts = (1000, nanos // 1000) if data_type.precision <= 6 else (1_000_000, nanos)
    limit = (2**63 - 1) // factor - 1
    beyond = (millis > limit) | (millis < -limit)
    if beyond.any():
        if not overflow_to_null:
            worst = int(millis[beyond][0])
            raise InvalidInputError(
                f"A {data_type.sql()} at {worst} ms from 1970 does not fit a 64-bit count.",
                remedy="Use a precision of at most 6 for the column.",
            )
        millis = np.where(beyond, 0, millis)
        nulls = beyond if nulls is None else nulls | beyond
    return fixed_array(millis * factor + parts, arrow_type(data_type), nulls)


def _flat(rows: _Rows, field: int, words: Words, data_type: t.DataType, nulls: Mask | None) -> pa.Array:
    """Decode strings or bytes, from slots or variable parts."""
    present = _present(rows, nulls)
    marks = words >> np.uint64(56)
    inline = marks >= np.uint64(0x80)
    starts, sizes = rows.stretches(words, present & ~inline)
    inline &= present
    lengths = (marks & np.uint64(0x7F)).astype(np.int64)
    if (lengths[inline] > INLINE).any():
        raise InvalidInputError(f"A BinaryRow holds a {data_type.sql()} of a wrong size: the row is corrupt.")
    starts = np.where(inline, rows.slots(field), starts)
    sizes = np.where(inline, lengths, sizes)
    data = rows.memory[range_index(starts, sizes)]
    array = binary_array(data, offsets_of(sizes), nulls, arrow_type(data_type))
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        _check_text(array, data_type)
    return array


def _check_text(array: pa.Array, data_type: t.DataType) -> None:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        raise InvalidInputError(f"A BinaryRow holds a {data_type.sql()} that is not UTF-8: {error}.") from None


def _one_by_one(rows: _Rows, field: int, data_type: t.DataType, nulls: Mask | None) -> pa.Array:
    codec = field_of(data_type)
    slot = rows.header + 8 * field
    memory = rows.memory.tobytes()
    present = _present(rows, nulls).tolist()
    try:
        values = [
            codec.read(memory[start : start + size], slot) if is_present else None
            for start, size, is_present in zip(rows.starts.tolist(), rows.sizes.tolist(), present, strict=True)
        ]
        return pa.array([_for_arrow(value) for value in values], arrow_type(data_type))
    except BAD_VALUE as error:
        raise InvalidInputError(f"A BinaryRow holds an invalid {data_type.sql()}: {error}.") from None


def _for_arrow(value: object) -> object:
    """Convert a value of RowCodec for pyarrow: maps, at any depth, become lists of pairs."""
    if isinstance(value, dict):
        return [(_for_arrow(k), _for_arrow(v)) for k, v in value.items()]
    if isinstance(value, list):
        return [_for_arrow(v) for v in value]
    if isinstance(value, tuple):
        return tuple(_for_arrow(v) for v in value)
    return value
