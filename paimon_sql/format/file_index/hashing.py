"""Hashes of bloom filters over arrays: XXH64 of strings and bytes, Thomas Wang's hash of integers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes = npt.NDArray[np.int64]
_Words = npt.NDArray[np.uint64]

_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(p)
    for p in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
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
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
    data = np.frombuffer(values.buffers()[2] or b"", np.uint8)
    starts, lengths = offsets[:-1].astype(np.int64), np.diff(offsets)
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
