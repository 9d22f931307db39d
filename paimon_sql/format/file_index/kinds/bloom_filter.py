"""File index ``bloom-filter``: excludes values that a file does not contain, with false positives.

An index is the number of hash functions (4 bytes, big-endian) and the bits of the filter.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap

from paimon_sql.format.file_index.base import FileIndexKind, IndexBuilder, IndexReader
from paimon_sql.format.file_index.hashing import Hashes, hash_bytes, hash_numbers
from paimon_sql.format.file_index.keys import KeyType
from paimon_sql.format.options.table_options import TableOptions
from paimon_sql.format.options.values import at_least, double, integer
from paimon_sql.format.schema import types as t

ITEMS = integer("items", "1000000", "How many different values a file is thought to hold.", check=at_least(1))
FPP = double(
    "fpp",
    "0.1",
    "How often the filter may keep silent about a value that is not there, between 0 and 1.",
    check=lambda value: None if 0 < value < 1 else "it must lie between 0 and 1",
)

_COUNT_BYTES = 4
_MAX_BITS = 2**31 - 8
_MAX_FUNCTIONS = 1024


class BloomFilter(FileIndexKind):
    """The kind ``bloom-filter``."""

    name = "bloom-filter"
    settings = (ITEMS, FPP)

    def supports(self, data_type: t.DataType) -> bool:
        kinds = (t.BinaryType, t.VarBinaryType, t.CharType, t.VarCharType, t.TinyIntType, t.SmallIntType, t.IntType)
        others = (t.BigIntType, t.FloatType, t.DoubleType, t.DateType, t.TimeType)
        return isinstance(data_type, (*kinds, *others, t.TimestampType, t.LocalZonedTimestampType))

    def check(self, settings: TableOptions) -> str | None:
        if _min_bits(settings) >= _MAX_BITS:
            return "asks for a filter of more than 256 MB: set a smaller 'items' or a greater 'fpp'"
        return None

    def builder(self, data_type: t.DataType, settings: TableOptions) -> IndexBuilder:
        return _Builder(data_type, settings)

    def reader(self, data: bytes, data_type: t.DataType) -> IndexReader:
        return _Reader(data, data_type)


class _Builder(IndexBuilder):
    def __init__(self, data_type: t.DataType, settings: TableOptions) -> None:
        min_bits = _min_bits(settings)
        self._keys = KeyType(data_type)
        self._size = min_bits + 8 - min_bits % 8
        self._functions = max(1, math.floor(self._size / settings.get(ITEMS) * math.log(2) + 0.5))
        self._bits = np.zeros(self._size, np.bool_)

    def add(self, values: pa.Array) -> None:
        self._bits[_bit_positions(_hashes(self._keys, values), self._functions, self._size).ravel()] = True

    def finish(self) -> bytes:
        return self._functions.to_bytes(_COUNT_BYTES, "big") + np.packbits(self._bits, bitorder="little").tobytes()


class _Reader(IndexReader):
    def __init__(self, data: bytes, data_type: t.DataType) -> None:
        self._keys = KeyType(data_type)
        self._functions = int.from_bytes(data[:_COUNT_BYTES], "big")
        self._bits = np.frombuffer(data, np.uint8, offset=_COUNT_BYTES) if len(data) > _COUNT_BYTES else None
        if self._bits is None or not 0 < self._functions <= _MAX_FUNCTIONS:
            raise ValueError(f"a bloom filter of {self._functions} hash functions in {len(data)} bytes")

    def equal_any(self, values: pa.Array) -> BitMap | None:
        assert self._bits is not None
        if self._keys.is_float:
            # Zeros of both signs are equal, but have different hashes.
            keys = pa.array(self._keys.equals(values), pa.int64())
            hashes = hash_numbers(_float_bits(self._keys, keys.to_numpy()))
        else:
            hashes = _hashes(self._keys, values)
        positions = _bit_positions(hashes, self._functions, 8 * len(self._bits))
        bits = self._bits[positions >> 3] >> (positions & 7).astype(np.uint8) & 1
        return None if bits.all(axis=1).any() else BitMap()


def _min_bits(settings: TableOptions) -> int:
    return int(-settings.get(ITEMS) * math.log(settings.get(FPP)) / (math.log(2) * math.log(2)))


def _hashes(keys: KeyType, values: pa.Array) -> Hashes:
    """The hashes of the distinct values without null."""
    found = keys.of(values.drop_null()).unique()
    if keys.is_bytes:
        return hash_bytes(found)
    numbers = found.to_numpy()
    return hash_numbers(_float_bits(keys, numbers) if keys.is_float else numbers)


def _float_bits(keys: KeyType, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return keys.encode(numbers).astype(np.int64)


def _bit_positions(hashes: Hashes, functions: int, size: int) -> npt.NDArray[np.int64]:
    """The positions of the bits of each hash, one row per hash: both halves combined, once per function."""
    low = hashes.astype(np.int32)
    high = (hashes >> 32).astype(np.int32)
    with np.errstate(over="ignore"):
        combined = low[:, None] + high[:, None] * np.arange(1, functions + 1, dtype=np.int32)
    positive = np.where(combined < 0, np.invert(combined), combined)
    return positive.astype(np.int64) % size
