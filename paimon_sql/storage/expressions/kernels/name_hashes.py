"""File names as numbers of 64 bits, so that millions of them are compared in little memory.

Two names may share a number, once in about 10^19 pairs;
whoever looks for files that nobody uses takes one for used then.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes = npt.NDArray[np.uint64]

NO_HASHES: Hashes = np.empty(0, np.uint64)
_AT_ONCE = 65_536
_WEIGHTS = np.random.default_rng(20_240_131).integers(0, 2**64, 512, dtype=np.uint64) | np.uint64(1)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def name_hashes(names: pa.Array | Sequence[str]) -> Hashes:
    """One number a name, the same in every process.

    Args:
        names: the names, none of them null.
    """
    array = names if isinstance(names, pa.Array) else pa.array(names, pa.string())
    parts = [_hashes(array.slice(at, _AT_ONCE)) for at in range(0, len(array), _AT_ONCE)]
    return np.concatenate([NO_HASHES, *parts])


def places(known: Hashes, hashes: Hashes) -> npt.NDArray[np.int64]:
    """For each number its place in ``known``, which is sorted, or -1."""
    if not len(known):
        return np.full(len(hashes), -1, np.int64)
    found = np.searchsorted(known, hashes)
    found[found == len(known)] = 0
    return np.where(known[found] == hashes, found, -1)


def _hashes(names: pa.Array) -> Hashes:
    """The sum of each byte times a weight of its place, which differs for names that differ in one byte at least."""
    _, offset_buffer, data = names.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[names.offset : names.offset + len(names) + 1].astype(np.int64)
    starts, lengths = offsets[:-1], np.diff(offsets)
    total = int(lengths.sum())
    sums = np.zeros(len(names), np.uint64)
    if total:
        letters = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]].astype(np.uint64) + np.uint64(1)
        at = np.arange(total) - np.repeat(starts - offsets[0], lengths)
        weighted = np.concatenate([[np.uint64(0)], np.cumsum(letters * _WEIGHTS[at % len(_WEIGHTS)])])
        sums = weighted[offsets[1:] - offsets[0]] - weighted[starts - offsets[0]]
    mixed: Hashes = (sums ^ (sums >> np.uint64(29))) * _SPREAD
    return mixed
