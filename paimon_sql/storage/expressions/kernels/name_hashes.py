"""64-bit hashes of file names, to compare millions of them in little memory.

Two names collide once in about 10^19 pairs; a search for orphan files then treats one as used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes = npt.NDArray[np.uint64]

NO_HASHES: Hashes = np.empty(0, np.uint64)
_CHUNK = 65_536
_WEIGHTS = np.random.default_rng(20_240_131).integers(0, 2**64, 512, dtype=np.uint64) | np.uint64(1)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def name_hashes(names: pa.Array | Sequence[str]) -> Hashes:
    """Return one hash per name, the same in every process.

    Args:
        names: the names, without nulls.
    """
    array = names if isinstance(names, pa.Array) else pa.array(names, pa.string())
    parts = [_hashes(array.slice(at, _CHUNK)) for at in range(0, len(array), _CHUNK)]
    return np.concatenate([NO_HASHES, *parts])


def places(known: Hashes, hashes: Hashes) -> npt.NDArray[np.int64]:
    """Return the index of each hash in ``known``, which is sorted, or -1."""
    if not len(known):
        return np.full(len(hashes), -1, np.int64)
    indices = np.searchsorted(known, hashes)
    indices[indices == len(known)] = 0
    return np.where(known[indices] == hashes, indices, -1)


def _hashes(names: pa.Array) -> Hashes:
    """The sum of each byte times a weight of its position, which differs for names that differ in at least one byte."""
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
    return (sums ^ (sums >> np.uint64(29))) * _MULTIPLIER
