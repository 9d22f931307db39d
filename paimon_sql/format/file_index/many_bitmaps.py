"""Encoding of many small Roaring bitmaps at once, as for a column with many distinct values.

Most consist of arrays (scattered positions) or of one run; these are encoded together, the others one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from paimon_sql.format.file_index.bitmaps import PLAIN, WITH_RUNS, Positions, encode_bitmap

_MAX_IN_ARRAY = 4096
_ONE_RUN = np.dtype(
    [
        ("cookie", "<u4"),
        ("flags", "u1"),
        ("key", "<u2"),
        ("less", "<u2"),
        ("runs", "<u2"),
        ("first", "<u2"),
        ("more", "<u2"),
    ]
)


def serialized_each(positions: Positions, counts: Positions) -> list[bytes]:
    """Encode several bitmaps.

    Args:
        positions: the positions of all bitmaps, concatenated; those of each are ascending.
        counts: the number of positions of each bitmap, at least one.
    """
    if not len(counts):
        return []
    groups = _Groups.of(positions, counts)
    encoded: list[bytes | None] = [None] * len(counts)
    for chosen, bodies in ((groups.arrays, _arrays), (groups.one_run, _single_runs)):
        some = np.flatnonzero(chosen)
        if len(some):
            for i, body in zip(some.tolist(), bodies(groups, some), strict=True):
                encoded[i] = body
    ends = np.cumsum(counts)
    return [
        encode_bitmap(positions[ends[i] - counts[i] : ends[i]]) if body is None else body
        for i, body in enumerate(encoded)
    ]


@dataclass(frozen=True)
class _Groups:
    """Bitmaps and their containers.

    Attributes:
        positions: all positions.
        counts: the number of positions of each bitmap.
        starts: the index of the first position of each container.
        owners: the bitmap of each container.
        arrays: whether all containers of a bitmap are arrays.
        one_run: whether a bitmap is one run in one container.
    """

    positions: Positions
    counts: Positions
    starts: Positions
    owners: Positions
    arrays: npt.NDArray[np.bool_]
    one_run: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, positions: Positions, counts: Positions) -> _Groups:
        bitmap = np.repeat(np.arange(len(counts)), counts)
        first = np.ones(len(positions), np.bool_)
        first[1:] = (bitmap[1:] != bitmap[:-1]) | (positions[1:] >> 16 != positions[:-1] >> 16)
        starts = np.flatnonzero(first)
        breaks = first.copy()
        breaks[1:] |= positions[1:] - positions[:-1] != 1
        owners, sizes = bitmap[starts], np.diff(starts, append=len(positions))
        runs = np.add.reduceat(breaks, starts, dtype=np.int64)
        is_array = (sizes <= _MAX_IN_ARRAY) & (2 + 4 * runs >= 2 * sizes)
        containers = np.bincount(owners, minlength=len(counts))
        arrays = np.bincount(owners, weights=is_array, minlength=len(counts)) == containers
        all_runs = np.bincount(owners, weights=runs, minlength=len(counts))
        return cls(positions, counts, starts, owners, arrays, ~arrays & (containers == 1) & (all_runs == 1))


def _arrays(groups: _Groups, some: Positions) -> list[bytes]:
    """Encode bitmaps whose containers are arrays, as one buffer of 16-bit numbers."""
    inside = np.isin(groups.owners, some)
    sizes = np.diff(groups.starts, append=len(groups.positions))[inside]
    starts, owners = groups.starts[inside], np.searchsorted(some, groups.owners[inside])
    counts, containers = groups.counts[some], np.bincount(owners, minlength=len(some))
    bases = np.concatenate([[0], np.cumsum(4 + 4 * containers + counts)])
    data = np.zeros(bases[-1], "<u2")
    data[bases[:-1]] = PLAIN
    data[bases[:-1] + 2], data[bases[:-1] + 3] = containers & 0xFFFF, containers >> 16
    index = np.arange(len(owners)) - np.repeat(np.cumsum(containers) - containers, containers)
    keys = bases[owners] + 4 + 2 * index
    data[keys], data[keys + 1] = groups.positions[starts] >> 16, sizes - 1
    before = np.cumsum(sizes) - sizes - np.repeat(np.cumsum(counts) - counts, containers)
    offsets = 8 + 8 * containers[owners] + 2 * before
    data[keys + 2 * containers[owners]], data[keys + 2 * containers[owners] + 1] = offsets & 0xFFFF, offsets >> 16
    rows = np.repeat(starts, sizes) + np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    to = np.repeat(bases[:-1] + 4 + 4 * containers, counts)
    to += np.arange(len(to)) - np.repeat(np.cumsum(counts) - counts, counts)
    data[to] = groups.positions[rows] & 0xFFFF
    encoded, ends = data.tobytes(), (2 * bases).tolist()
    return [encoded[a:b] for a, b in pairwise(ends)]


def _single_runs(groups: _Groups, some: Positions) -> list[bytes]:
    """Encode bitmaps that are one run."""
    starts = groups.starts[np.isin(groups.owners, some)]
    records = np.zeros(len(some), _ONE_RUN)
    records["cookie"], records["flags"], records["runs"] = WITH_RUNS, 1, 1
    records["key"], records["first"] = groups.positions[starts] >> 16, groups.positions[starts] & 0xFFFF
    records["less"] = records["more"] = groups.counts[some] - 1
    encoded, size = records.tobytes(), _ONE_RUN.itemsize
    return [encoded[at : at + size] for at in range(0, len(encoded), size)]
