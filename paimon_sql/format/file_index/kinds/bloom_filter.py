"""File index ``bloom-filter``: excludes values that a file does not contain, with false positives.

An index is the number of hash functions (4 bytes, big-endian) and the bits of the filter.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap

from paimon_sql.format.bytes.memory import binary_buffers
from paimon_sql.format.file_index.base import FileIndexKind, IndexBuilder, IndexReader
from paimon_sql.format.file_index.keys import KeyType
from paimon_sql.format.options.values import TableOptions, option
from paimon_sql.format.schema import types as t

ITEMS = option.integer.at_least(1)("items", "The expected number of distinct values in a file.", "1000000")
FPP = option.double.checked(lambda value: None if 0 < value < 1 else "it must be between 0 and 1")(
    "fpp", "The false positive probability of the filter, between 0 and 1.", "0.1"
)

_COUNT_BYTES = 4
_MAX_BITS = 2**31 - 8
_MAX_FUNCTIONS = 1024
_SAMPLE_BYTES = 64 * 1024


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

    @cached_property
    def distinct(self) -> float:
        """By the share of the bits that are set; too small if nearly all are."""
        assert self._bits is not None
        sample = self._bits[:_SAMPLE_BYTES]
        set_bits = int(np.bitwise_count(sample).sum(dtype=np.int64))
        per_bit = math.log(8 * len(sample) / max(1, 8 * len(sample) - set_bits))
        return max(1.0, 8 * len(self._bits) / self._functions * per_bit)

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


Hashes = npt.NDArray[np.int64]
_Words = npt.NDArray[np.uint64]

_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(p)
    for p in (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
)
_STRIPE = 32
_MAX_BATCH_BYTES = 32 * 1024 * 1024


def hash_numbers(numbers: npt.NDArray[np.int64]) -> Hashes:
    """Thomas Wang's hash of 64-bit numbers."""
    with np.errstate(over="ignore"):
        key = ~numbers + (numbers << 21)
        key = key ^ (key >> 24)
        key = key + (key << 3) + (key << 8)
        key = key ^ (key >> 14)
        key = key + (key << 2) + (key << 4)
        key = key ^ (key >> 28)
        mixed: Hashes = key + (key << 31)
        return mixed


def hash_bytes(values: pa.Array) -> Hashes:
    """XXH64 with seed 0 of strings or bytes, none of them null."""
    data, offsets = binary_buffers(values)
    starts, lengths = offsets[:-1], np.diff(offsets)
    hashes = np.empty(len(values), np.uint64)
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        step = max(1, _MAX_BATCH_BYTES // max(1, int(length)))
        for first in range(0, len(rows), step):
            batch = rows[first : first + step]
            hashes[batch] = _of_one_length(data[starts[batch, None] + np.arange(length)], int(length))
    return hashes.view(np.int64)


def _of_one_length(data: npt.NDArray[np.uint8], length: int) -> _Words:
    """The hashes of byte strings of one length; ``data`` has one per row."""
    with np.errstate(over="ignore"):
        striped = length - length % _STRIPE
        if striped:
            hashes = _stripes(np.ascontiguousarray(data[:, :striped]).view("<u8"))
        else:
            hashes = np.full(len(data), _P5)
        hashes = hashes + np.uint64(length)
        for at in range(striped, length - 7, 8):
            hashes = _rotate(hashes ^ _round(np.uint64(0), _words(data, at, "<u8")), 27) * _P1 + _P4
        rest = length - length % 8
        if length % 8 >= 4:
            hashes = _rotate(hashes ^ (_words(data, rest, "<u4") * _P1), 23) * _P2 + _P3
            rest += 4
        for at in range(rest, length):
            hashes = _rotate(hashes ^ (data[:, at].astype(np.uint64) * _P5), 11) * _P1
        hashes = (hashes ^ (hashes >> np.uint64(33))) * _P2
        hashes = (hashes ^ (hashes >> np.uint64(29))) * _P3
        return hashes ^ (hashes >> np.uint64(32))


def _stripes(words: _Words) -> _Words:
    lanes = [np.full(len(words), seed) for seed in (_P1 + _P2, _P2, np.uint64(0), np.uint64(0) - _P1)]
    for at in range(0, words.shape[1], 4):
        lanes = [_round(lane, words[:, at + i]) for i, lane in enumerate(lanes)]
    hashes = sum((_rotate(lane, r) for lane, r in zip(lanes[1:], (7, 12, 18), strict=True)), _rotate(lanes[0], 1))
    for lane in lanes:
        hashes = (hashes ^ _round(np.uint64(0), lane)) * _P1 + _P4
    return hashes


def _round(lane: _Words | np.uint64, words: _Words) -> _Words:
    return _rotate(lane + words * _P2, 31) * _P1


def _rotate(words: _Words, bits: int) -> _Words:
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))


def _words(data: npt.NDArray[np.uint8], at: int, kind: str) -> _Words:
    size = np.dtype(kind).itemsize
    return np.ascontiguousarray(data[:, at : at + size]).view(kind)[:, 0].astype(np.uint64)


class BloomFilter(FileIndexKind):
    """The kind ``bloom-filter`` (Paimon: `BloomFilterFileIndex`)."""

    name = "bloom-filter"
    settings = (ITEMS, FPP)
    types = (*t.BYTES, *t.TEXTS, *t.INTEGERS, *t.FLOATS, t.DateType, t.TimeType, *t.TIMESTAMPS)
    builder = staticmethod(_Builder)
    reader = staticmethod(_Reader)

    def check(self, settings: TableOptions) -> str | None:
        if _min_bits(settings) >= _MAX_BITS:
            return "requires a filter of more than 256 MB: set a smaller 'items' or a larger 'fpp'"
        return None
