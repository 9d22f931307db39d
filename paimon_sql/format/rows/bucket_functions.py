"""Bucket functions: the bucket of rows by their bucket key (spec: Bucketed Append / Primary Key Table).

``bucket-function.type`` names one. The results must equal Java's bit by bit: a row in a wrong bucket is lost to readers
that look it up by key.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError, InvalidOptionError
from paimon_sql.format.bytes.memory import Longs, Words, binary_buffers, range_index
from paimon_sql.format.bytes.murmur3 import Hashes, finish, mix, mix_one, scramble
from paimon_sql.format.rows.binary_row import header_size
from paimon_sql.format.rows.encode import Columns, Slots, column_slots, header_words, pack_rows
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type

OPTION = "bucket-function.type"

_POSITIVE = np.uint32(0x7FFFFFFF)


class BucketFunction(ABC):
    """Assigns rows to the buckets 0 to ``num_buckets - 1`` by their bucket key (Paimon: `BucketFunction`)."""

    name: ClassVar[str]

    def check(self, types: Sequence[t.DataType]) -> None:
        """Check that columns of these types can be the bucket key.

        Raises:
            InvalidInputError: they cannot.
        """
        if not types:
            raise InvalidInputError("A bucket key has at least one column.")

    def assign(self, columns: Columns, types: Sequence[t.DataType], num_buckets: int) -> npt.NDArray[np.int32]:
        """The bucket of each row; ``columns`` are the bucket key."""
        self.check(types)
        if num_buckets < 1:
            raise InvalidInputError(f"Rows cannot be assigned to {num_buckets} buckets.")
        return self._buckets(columns, types, num_buckets)

    @abstractmethod
    def _buckets(self, columns: Columns, types: Sequence[t.DataType], num_buckets: int) -> npt.NDArray[np.int32]:
        """Implement `assign` for valid arguments."""


class DefaultBucketFunction(BucketFunction):
    """The hash of the bucket key's BinaryRow, modulo the number of buckets."""

    name = "default"

    def _buckets(self, columns: Columns, types: Sequence[t.DataType], num_buckets: int) -> npt.NDArray[np.int32]:
        hashes = row_hash(columns, types)
        # The remainder keeps the hash's sign and the bucket drops it, so the remainder of the magnitude is the same.
        return _modulo(np.abs(hashes.astype(np.int64)).astype(np.uint32), num_buckets)


class ModBucketFunction(BucketFunction):
    """The value of a single INT or BIGINT column, modulo the number of buckets; null is 0."""

    name = "mod"

    def check(self, types: Sequence[t.DataType]) -> None:
        if len(types) != 1 or not isinstance(types[0], t.IntType | t.BigIntType):
            types_sql = ", ".join(data_type.sql() for data_type in types)
            raise InvalidInputError(
                f"The bucket function 'mod' requires a bucket key of one INT or BIGINT column, not ({types_sql}).",
                remedy=f"Choose another bucket-key or leave '{OPTION}' at its default.",
            )

    def _buckets(self, columns: Columns, types: Sequence[t.DataType], num_buckets: int) -> npt.NDArray[np.int32]:
        values = pc.fill_null(_arrays(columns, types)[0], 0).to_numpy(zero_copy_only=False)
        buckets: npt.NDArray[np.int32] = (values % num_buckets).astype(np.int32)
        return buckets


class HiveBucketFunction(BucketFunction):
    """Hive's bucket hash, modulo the number of buckets; null is 0."""

    name = "hive"

    def check(self, types: Sequence[t.DataType]) -> None:
        super().check(types)
        for data_type in types:
            if type(data_type) not in _HIVE_HASHES:
                raise InvalidInputError(
                    f"The bucket function 'hive' does not support {data_type.sql()} columns.",
                    remedy=f"Choose another bucket-key or leave '{OPTION}' at its default.",
                )

    def _buckets(self, columns: Columns, types: Sequence[t.DataType], num_buckets: int) -> npt.NDArray[np.int32]:
        arrays = _arrays(columns, types)
        hashes = np.zeros(len(arrays[0]), np.uint32)
        for array, data_type in zip(arrays, types, strict=True):
            column = _HIVE_HASHES[type(data_type)](array)
            if array.null_count:
                column = np.where(array.is_null().to_numpy(zero_copy_only=False), np.uint32(0), column)
            hashes = hashes * np.uint32(31) + column
        return _modulo(hashes & _POSITIVE, num_buckets)


_FUNCTIONS: dict[str, BucketFunction] = {
    f.name: f for f in (DefaultBucketFunction(), ModBucketFunction(), HiveBucketFunction())
}


def bucket_function(name: str) -> BucketFunction:
    """The bucket function of a value of ``bucket-function.type``.

    Raises:
        InvalidOptionError: there is none.
    """
    try:
        return _FUNCTIONS[name.lower()]
    except KeyError:
        raise InvalidOptionError(
            f"Invalid value '{name}' of option '{OPTION}'.",
            key=OPTION,
            remedy=f"Use one of {', '.join(sorted(_FUNCTIONS))}.",
        ) from None


def _modulo(hashes: Hashes, num_buckets: int) -> npt.NDArray[np.int32]:
    divisor = np.uint32(num_buckets)
    # Division by a constant is vectorized, the remainder operator is not.
    return (hashes - hashes // divisor * divisor).view(np.int32)


def _arrays(columns: Columns, types: Sequence[t.DataType]) -> list[pa.Array]:
    arrays = columns.columns if isinstance(columns, pa.RecordBatch) else list(columns)
    if len(arrays) != len(types):
        raise InvalidInputError(f"{len(arrays)} columns were given for a bucket key of {len(types)}.")
    plain = [a.combine_chunks() if isinstance(a, pa.ChunkedArray) else a for a in arrays]
    return [a if a.type == arrow_type(d) else a.cast(arrow_type(d)) for a, d in zip(plain, types, strict=True)]


def _hive_int(array: pa.Array) -> Hashes:
    # Dates and times of day are hashed as their numbers.
    numbers = array.view(pa.int32()) if pa.types.is_temporal(array.type) else array
    values: npt.NDArray[np.int32] = pc.fill_null(numbers.cast(pa.int32()), 0).to_numpy(zero_copy_only=False)
    return values.view(np.uint32)


def _fold(words: npt.NDArray[np.uint64]) -> Hashes:
    return (words ^ words >> np.uint64(32)).astype(np.uint32)


def _hive_long(array: pa.Array) -> Hashes:
    return _fold(pc.fill_null(array, 0).to_numpy(zero_copy_only=False).view(np.uint64))


def _hive_floating(array: pa.Array) -> Hashes:
    values = pc.fill_null(array, 0).to_numpy(zero_copy_only=False)
    # Zero and NaN have one representation each.
    plain = np.where(np.isnan(values), values.dtype.type(np.nan), values + values.dtype.type(0))
    return plain.view(np.uint32) if plain.itemsize == 4 else _fold(plain.view(np.uint64))


def _hive_bytes(array: pa.Array) -> Hashes:
    """For n signed bytes b: the sum of b[i] * 31**(n - 1 - i)."""
    data, offsets = binary_buffers(array)
    starts, sizes = offsets[:-1], np.diff(offsets)
    if array.null_count:
        sizes = np.where(array.is_null().to_numpy(zero_copy_only=False), 0, sizes)
    not_empty = sizes > 0
    starts, sizes = starts[not_empty], sizes[not_empty]
    hashes = np.zeros(len(array), np.uint32)
    if len(sizes):
        powers = np.ones(int(sizes.max()), np.uint32)
        np.multiply.accumulate(np.full(len(powers) - 1, 31, np.uint32), out=powers[1:])
        indexes = range_index(np.zeros(len(sizes), np.int64), sizes)
        signed = data[range_index(starts, sizes)].view(np.int8).astype(np.int32).view(np.uint32)
        terms = signed * powers[np.repeat(sizes, sizes) - 1 - indexes]
        hashes[not_empty] = np.add.reduceat(terms, np.cumsum(sizes) - sizes)
    return hashes


def _hive_decimal(array: pa.Array) -> Hashes:
    """31 times the signed hash of the magnitude without trailing zeros, plus the remaining scale."""
    words = np.frombuffer(array.buffers()[1], np.uint64)[array.offset * 2 : (array.offset + len(array)) * 2]
    low, high = words[0::2], words[1::2]
    if array.null_count:
        nulls = array.is_null().to_numpy(zero_copy_only=False)
        low, high = np.where(nulls, np.uint64(0), low), np.where(nulls, np.uint64(0), high)
    negative = high >> np.uint64(63) == 1
    high = np.where(negative, ~high + (low == 0), high)
    low = np.where(negative, ~low + np.uint64(1), low)
    half = np.uint64(32)
    limbs = [high >> half, high & np.uint64(0xFFFFFFFF), low >> half, low & np.uint64(0xFFFFFFFF)]
    scale = np.full(len(array), array.type.scale, np.uint32)
    for _ in range(array.type.scale):
        remainder = np.zeros(len(array), np.uint64)
        tenths = []
        for limb in limbs:
            remainder = remainder << half | limb
            tenths.append(remainder // np.uint64(10))
            remainder %= np.uint64(10)
        shorter = remainder == 0
        if not shorter.any():
            break
        limbs = [np.where(shorter, tenth, limb) for tenth, limb in zip(tenths, limbs, strict=True)]
        scale -= shorter
    hashes = np.zeros(len(array), np.uint32)
    for limb in limbs:
        hashes = hashes * np.uint32(31) + limb.astype(np.uint32)
    hashes = np.where(negative, np.uint32(0) - hashes, hashes)
    return hashes * np.uint32(31) + scale


def _hive_bool(array: pa.Array) -> Hashes:
    values: npt.NDArray[np.bool_] = pc.fill_null(array, False).to_numpy(zero_copy_only=False)
    return values.astype(np.uint32)


_HIVE_HASHES: dict[type[t.DataType], Callable[[pa.Array], Hashes]] = {
    t.BooleanType: _hive_bool,
    **dict.fromkeys((t.TinyIntType, t.SmallIntType, t.IntType, t.DateType, t.TimeType), _hive_int),
    t.BigIntType: _hive_long,
    **dict.fromkeys(t.FLOATS, _hive_floating),
    **dict.fromkeys((t.CharType, t.VarCharType, t.BinaryType, t.VarBinaryType), _hive_bytes),
    t.DecimalType: _hive_decimal,
}


_SEED = np.uint32(42)
_BLOCK = 1 << 15
"""Rows hashed together: few enough that their words stay in the CPU cache."""


def row_hash(columns: Columns, types: Sequence[t.DataType]) -> npt.NDArray[np.int32]:
    """The hash of each row of the columns, as a BinaryRow.

    The hash (spec: BinaryRow, "hashCode") is 32-bit Murmur3 with seed 42 over the row's half words, without the
    preceding number of fields.

    Args:
        columns: arrays of one length, of the types of ``arrow_type`` or castable to them.
        types: the fields' types; at least one.
    """
    slots = column_slots(columns, types)
    if any(column.sizes is not None for column in slots):
        hashes = _hash_stretches(*pack_rows(slots, len(types)))
    else:
        hashes = _hash_slots(slots)
    return hashes.view(np.int32)


def _hash_slots(slots: Sequence[Slots]) -> Hashes:
    """The hashes of rows without variable parts: words are mixed column by column, in blocks of rows."""
    arity = len(slots)
    count = len(slots[0].words)
    words = [*header_words(slots, arity), *(column.words for column in slots)]
    size = header_size(arity) + 8 * arity
    hashes = np.empty(count, np.uint32)
    for first in range(0, count, _BLOCK):
        block = slice(first, min(first + _BLOCK, count))
        mixed = np.full(block.stop - first, _SEED, np.uint32)
        for column in words:
            if column is None:
                for _ in range(2):
                    mix(mixed, None)
            else:
                halves = column[block].view(np.uint32)
                mix(mixed, scramble(halves[0::2]))
                mix(mixed, scramble(halves[1::2]))
        hashes[block] = finish(mixed, np.uint32(size))
    return hashes


def _hash_stretches(body: Words, sizes: Longs) -> Hashes:
    """The hashes of concatenated rows of any size; ``sizes`` are in bytes."""
    scrambled = scramble(body.view(np.uint32))
    halves = sizes // 4
    max_halves = int(halves.max(initial=0))
    # Longest rows first, so that the rows with remaining words are always a prefix.
    shortness = max_halves - halves
    order = np.argsort(shortness.astype(np.uint16) if max_halves < 1 << 16 else shortness, kind="stable")
    firsts = (np.cumsum(halves) - halves)[order]
    descending = halves[order]
    ascending = descending[::-1]
    mixed = np.full(len(sizes), _SEED, np.uint32)
    for step in range(max_halves):
        active = len(sizes) - int(np.searchsorted(ascending, step, side="right"))
        if active <= _FEW:
            for row in range(active):
                first = int(firsts[row])
                rest = scrambled[first + step : first + int(descending[row])]
                mixed[row] = mix_one(int(mixed[row]), rest.tolist())
            break
        mix(mixed[:active], scrambled[firsts[:active] + step])
    hashes = np.empty(len(sizes), np.uint32)
    hashes[order] = finish(mixed, descending.astype(np.uint32) * np.uint32(4))
    return hashes


_FEW = 16
"""Up to so many long rows are faster mixed one by one than together."""
