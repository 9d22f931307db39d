"""Encoding of Arrow columns as many BinaryRows, for keys, partitions and bucket numbers, without a loop over rows.

Numbers, times, decimals, strings, bytes and rows of these are encoded with NumPy; only ARRAY, MAP, MULTISET, VECTOR and
VARIANT values are encoded one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.bytes.decimals import WIDTH, big_endian, shortened
from paimon_sql.format.bytes.memory import (
    WORD,
    Bytes,
    Item,
    Longs,
    Mask,
    Words,
    binary_array,
    binary_buffers,
    null_mask,
    offsets_of,
    words_view,
)
from paimon_sql.format.rows.binary_field import COMPACT_DECIMAL, COMPACT_TIMESTAMP, INLINE
from paimon_sql.format.rows.binary_row import PREFIX, field_of, header_size
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type

_HALF = np.uint64(32)


@dataclass(slots=True)
class Slots:
    """One column of many rows: its slots and variable parts.

    ``words`` are the complete slots of rows without a variable part, and the low halves of the slots of others.
    ``sizes`` and ``starts`` locate the variable parts in ``data``; both are None if no row has one. ``data`` must
    have readable bytes after a variable part, up to a multiple of 8.
    """

    words: Words
    nulls: Mask | None
    data: Bytes | None = None
    starts: Longs | None = None
    sizes: Longs | None = None


Columns: TypeAlias = pa.RecordBatch | Sequence[pa.Array]


def encode_rows(columns: Columns, types: Sequence[t.DataType], *, prefix: bool = False) -> pa.Array:
    """Encode each row of the columns as a BinaryRow: a binary array (large_binary beyond 2 GB) without nulls.

    Args:
        columns: arrays of one length, of the types of ``arrow_type`` or castable to them.
        types: the fields' types; at least one.
        prefix: whether each row is preceded by the number of fields, as in manifests.

    Raises:
        InvalidInputError: a column has values of another type.
    """
    body, sizes = pack_rows(column_slots(columns, types), len(types))
    if prefix:
        # The prefix is half a word: shift each row's halves by the number of prefixes up to it.
        halves = sizes // 4
        prefixed = np.empty(int(halves.sum()) + len(sizes), np.uint32)
        positions = np.repeat(np.arange(1, len(sizes) + 1), halves) + np.arange(int(halves.sum()))
        prefixed[positions] = body.view(np.uint32)
        prefixed[offsets_of(halves)[:-1] + np.arange(len(sizes))] = np.frombuffer(PREFIX.pack(len(types)), np.uint32)[0]
        return binary_array(prefixed.view(np.uint8), offsets_of(sizes + PREFIX.size))
    return binary_array(body.view(np.uint8), offsets_of(sizes))


def column_slots(columns: Columns, types: Sequence[t.DataType]) -> list[Slots]:
    """The slots of each column."""
    arrays = columns.columns if isinstance(columns, pa.RecordBatch) else list(columns)
    if len(arrays) != len(types) or not arrays:
        raise InvalidInputError(f"{len(arrays)} columns were given for rows of {len(types)} fields.")
    return [_slots(array, data_type) for array, data_type in zip(arrays, types, strict=True)]


def pack_rows(slots: Sequence[Slots], arity: int) -> tuple[Words, Longs]:
    """Encode rows as concatenated words; with the size of each row in bytes, a multiple of 8."""
    count = len(slots[0].words)
    header = header_size(arity) // 8
    widths = np.full(count, header + arity, np.int64)
    for column in slots:
        if column.sizes is not None:
            widths += (column.sizes + 7) // 8
    firsts = offsets_of(widths)[:-1]
    body = np.zeros(int(widths.sum()), np.uint64)
    for part, word in enumerate(header_words(slots, arity)):
        if word is not None:
            body[firsts + part] = word
    cursor = np.full(count, header + arity, np.int64)
    for i, column in enumerate(slots):
        if column.sizes is None or column.starts is None or column.data is None:
            body[firsts + header + i] = column.words
            continue
        variable = column.sizes > 0
        body[firsts + header + i] = np.where(
            variable, column.words | (cursor * 8).astype(np.uint64) << _HALF, column.words
        )
        _copy_stretches(column.data, column.starts, column.sizes, body, firsts + cursor)
        cursor += (column.sizes + 7) // 8
    return body, widths * 8


def _copy_stretches(data: Bytes, starts: Longs, sizes: Longs, body: Words, targets: Longs) -> None:
    """Copy variable parts to words from ``targets`` on, padded with zeros."""
    words = (sizes + 7) // 8
    ends = np.cumsum(words)
    steps = np.arange(int(ends[-1]) if len(ends) else 0, dtype=np.int64) - np.repeat(ends - words, words)
    copied = words_view(data, WORD)[np.repeat(starts, words) + steps * 8]
    ragged = sizes & 7
    cut = ragged > 0
    copied[ends[cut] - 1] &= (np.uint64(1) << (ragged[cut].astype(np.uint64) << np.uint64(3))) - np.uint64(1)
    body[np.repeat(targets, words) + steps] = copied


def header_words(slots: Sequence[Slots], arity: int) -> list[Words | None]:
    """The words of the rows' headers, with the null bits; None for a word that is 0 in all rows."""
    parts: list[Words | None] = [None] * (header_size(arity) // 8)
    for i, column in enumerate(slots):
        if column.nulls is not None:
            part, bit = divmod(i + 8, 64)
            bits = column.nulls.astype(np.uint64) << np.uint64(bit)
            before = parts[part]
            parts[part] = bits if before is None else before | bits
    return parts


def _slots(array: pa.Array | pa.ChunkedArray, data_type: t.DataType) -> Slots:
    target = arrow_type(data_type)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if array.type != target and not (isinstance(data_type, FLAT) and array.type in _WIDE):
        try:
            array = array.cast(target)
        except pa.ArrowException as error:
            raise InvalidInputError(
                f"A column of {array.type} cannot be encoded as {data_type.sql()}: {error}."
            ) from None
    nulls = null_mask(array)
    if isinstance(data_type, t.DecimalType):
        return _decimal_slots(array, data_type, nulls)
    if isinstance(data_type, t.TimestampType | t.LocalZonedTimestampType):
        return _timestamp_slots(array, data_type, nulls)
    if isinstance(data_type, FLAT):
        return _flat_slots(array, nulls)
    if isinstance(data_type, t.RowType) and data_type.fields:
        rows, sizes = pack_rows(
            [_slots(c, f.type) for c, f in zip(array.flatten(), data_type.fields, strict=True)], len(data_type.fields)
        )
        return _stretched(rows.view(np.uint8), offsets_of(sizes)[:-1], sizes, nulls)
    if isinstance(data_type, t.BooleanType):
        words = pc.fill_null(array, False).to_numpy(zero_copy_only=False).astype(np.uint64)
    elif (layout := UNSIGNED.get(type(data_type))) is not None:
        words = _items(array, layout).astype(np.uint64, copy=False)
    else:
        return _packed_one_by_one(array, data_type, nulls)
    return Slots(words if nulls is None else np.where(nulls, np.uint64(0), words), nulls)


FLAT = (*t.TEXTS, *t.BYTES, t.BlobType)
"""Types of strings and bytes, whose short values are in the slot."""
_WIDE = (pa.large_string(), pa.large_binary())
UNSIGNED: dict[type[t.DataType], type[np.generic]] = {
    t.TinyIntType: np.uint8,
    t.SmallIntType: np.uint16,
    **dict.fromkeys((t.IntType, t.FloatType, t.DateType, t.TimeType), np.uint32),
    **dict.fromkeys((t.BigIntType, t.DoubleType), np.uint64),
}
"""The memory of numbers, as unsigned ones: slots begin with it."""


def _items(array: pa.Array, layout: type[Item], width: int = 1) -> npt.NDArray[Item]:
    """The items of an array's data buffer, ``width`` per value."""
    if len(array) == 0:
        return np.zeros(0, layout)
    items = np.frombuffer(array.buffers()[1], layout)
    return items[array.offset * width : (array.offset + len(array)) * width]


def _decimal_slots(array: pa.Array, data_type: t.DecimalType, nulls: Mask | None) -> Slots:
    if data_type.precision <= COMPACT_DECIMAL:
        low: Words = _items(array, np.uint64, 2)[0::2]
        return Slots(np.ascontiguousarray(low if nulls is None else np.where(nulls, np.uint64(0), low)), nulls)
    big, spare = big_endian(array)
    if nulls is not None:
        spare[nulls] = WIDTH
    sizes, count = WIDTH - spare, len(big)
    data = np.zeros((count, WIDTH), np.uint8)
    data[np.arange(WIDTH) < sizes[:, None]] = shortened(big, spare)
    starts, widths = np.arange(count) * WIDTH, np.full(count, WIDTH, np.int64)
    return Slots(sizes.astype(np.uint64), nulls, data.reshape(-1), starts, widths)


def _timestamp_slots(
    array: pa.Array, data_type: t.TimestampType | t.LocalZonedTimestampType, nulls: Mask | None
) -> Slots:
    counts: Longs = _items(array, np.int64)
    if nulls is not None:
        counts = np.where(nulls, 0, counts)
    per_milli, nanos_each = (1000, 1000) if data_type.precision <= 6 else (1_000_000, 1)
    millis, rest = np.divmod(counts, per_milli)
    if data_type.precision <= COMPACT_TIMESTAMP:
        return Slots(millis.view(np.uint64), nulls)
    count = len(counts)
    data = np.ascontiguousarray(millis).view(np.uint8)
    return Slots((rest * nanos_each).view(np.uint64), nulls, data, np.arange(count) * 8, np.full(count, 8, np.int64))


def _flat_slots(array: pa.Array, nulls: Mask | None) -> Slots:
    data, offsets = binary_buffers(array)
    starts = offsets[:-1]
    sizes = np.diff(offsets)
    if nulls is not None:
        sizes = np.where(nulls, 0, sizes)
    # A word is read at each value's first byte, so the last values need bytes after them.
    first, last = int(offsets[0]), int(offsets[-1])
    padded = np.zeros(last - first + 8, np.uint8)
    padded[: last - first] = data[first:last]
    found = words_view(padded, WORD)[starts - first]
    inline = sizes <= INLINE
    bits = np.where(inline, sizes, 0).astype(np.uint64) << np.uint64(3)
    words = found & ((np.uint64(1) << bits) - np.uint64(1)) | (sizes.astype(np.uint64) | np.uint64(0x80)) << np.uint64(
        56
    )
    if nulls is not None:
        words[nulls] = 0
    if inline.all():
        return Slots(words, nulls)
    words = np.where(inline, words, sizes.astype(np.uint64))
    return Slots(words, nulls, padded, starts - first, np.where(inline, 0, sizes))


def _stretched(data: Bytes, starts: Longs, sizes: Longs, nulls: Mask | None) -> Slots:
    """Slots of values that are always in the variable part; a null has an empty slot and none."""
    if nulls is not None:
        sizes = np.where(nulls, 0, sizes)
    return Slots(sizes.astype(np.uint64), nulls, data, starts, sizes)


def _packed_one_by_one(array: pa.Array, data_type: t.DataType, nulls: Mask | None) -> Slots:
    field = field_of(data_type)
    values = _python_values(array, data_type)
    packed = [(bytes(8), b"") if value is None else field.write(value, 0) for value in values]
    sizes = np.array([int.from_bytes(slot[:4], "little") for slot, _ in packed], np.int64)
    stretches = pa.array([stretch for _, stretch in packed], pa.large_binary())
    data, offsets = binary_buffers(stretches)
    return _stretched(data, offsets[:-1], sizes, nulls)


def _python_values(array: pa.Array, data_type: t.DataType) -> list[object]:
    """Convert values for RowCodec: temporal values as numbers, so that none is out of Python's range."""
    if isinstance(data_type, t.ArrayType | t.VectorType):
        inner = _python_values(array.flatten(), data_type.element)
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
        return _regrouped(inner, lengths, array)
    if isinstance(data_type, t.MapType | t.MultisetType):
        key, value = t.entry_types(data_type)
        entries = array.cast(pa.list_(pa.struct([("key", array.type.key_type), ("value", array.type.item_type)])))
        lengths = pc.fill_null(pc.list_value_length(entries), 0).to_numpy(zero_copy_only=False)
        keys, items = entries.flatten().flatten()
        pairs = list(zip(_python_values(keys, key), _python_values(items, value), strict=True))
        return _regrouped(pairs, lengths, array)
    if isinstance(data_type, t.RowType):
        columns = [_python_values(c, f.type) for c, f in zip(array.flatten(), data_type.fields, strict=True)]
        valid = array.is_valid().to_pylist()
        rows = zip(*columns, strict=True) if columns else iter([()] * len(array))
        return [row if ok else None for row, ok in zip(rows, valid, strict=True)]
    if isinstance(data_type, t.VariantType):
        return [None if v is None else (v["value"], v["metadata"]) for v in array.to_pylist()]
    if isinstance(data_type, t.DateType | t.TimeType):
        return array.view(pa.int32()).to_pylist()  # type: ignore[no-any-return]
    if isinstance(data_type, t.TimestampType | t.LocalZonedTimestampType):
        return array.view(pa.int64()).to_pylist()  # type: ignore[no-any-return]
    return array.to_pylist()  # type: ignore[no-any-return]


def _regrouped(inner: Sequence[object], lengths: Longs, array: pa.Array) -> list[object]:
    ends = np.cumsum(lengths).tolist()
    return [
        inner[end - size : end] if ok else None
        for end, size, ok in zip(ends, lengths.tolist(), array.is_valid().to_pylist(), strict=True)
    ]
