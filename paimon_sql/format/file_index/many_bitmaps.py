"""Many small Roaring bitmaps written at once: a column of many values has one for each of them.

Most hold scattered positions, which are stored as arrays, or one stretch of rows, which is one run; the bytes of those
are made for all of them together, of the others one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from paimon_sql.format.file_index.bitmaps import PLAIN, WITH_RUNS, Positions, serialized

_MOST_IN_ARRAY = 4096
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
    """The bytes of several bitmaps.

    Args:
        positions: the positions of all of them one behind the other, those of each ascending.
        counts: how many positions each has, at least one.
    """
    if not len(counts):
        return []
    groups = _Groups.of(positions, counts)
    found: list[bytes | None] = [None] * len(counts)
    for chosen, bodies in ((groups.arrays, _arrays), (groups.one_run, _single_runs)):
        some = np.flatnonzero(chosen)
        if len(some):
            for i, body in zip(some.tolist(), bodies(groups, some), strict=True):
                found[i] = body
    ends = np.cumsum(counts)
    return [
        serialized(positions[ends[i] - counts[i] : ends[i]]) if body is None else body for i, body in enumerate(found)
    ]


@dataclass(frozen=True)
class _Groups:
    """Bitmaps and their containers.

    Attributes:
        positions: all positions.
        counts: how many positions each bitmap has.
        starts: where those of each container begin.
        owners: the bitmap of each container.
        arrays: the bitmaps all of whose containers are arrays.
        one_run: the bitmaps that are one run in one container.
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
        is_array = (sizes <= _MOST_IN_ARRAY) & (2 + 4 * runs >= 2 * sizes)
        containers = np.bincount(owners, minlength=len(counts))
        arrays = np.bincount(owners, weights=is_array, minlength=len(counts)) == containers
        all_runs = np.bincount(owners, weights=runs, minlength=len(counts))
        return cls(positions, counts, starts, owners, arrays, ~arrays & (containers == 1) & (all_runs == 1))


def _arrays(groups: _Groups, some: Positions) -> list[bytes]:
    """The bytes of bitmaps whose containers are arrays; they consist of 16-bit numbers."""
    inside = np.isin(groups.owners, some)
    sizes = np.diff(groups.starts, append=len(groups.positions))[inside]
    starts, owners = groups.starts[inside], np.searchsorted(some, groups.owners[inside])
    counts, containers = groups.counts[some], np.bincount(owners, minlength=len(some))
    bases = np.concatenate([[0], np.cumsum(4 + 4 * containers + counts)])
    data = np.zeros(bases[-1], "<u2")
    data[bases[:-1]] = PLAIN
    data[bases[:-1] + 2], data[bases[:-1] + 3] = containers & 0xFFFF, containers >> 16
    place = np.arange(len(owners)) - np.repeat(np.cumsum(containers) - containers, containers)
    keys = bases[owners] + 4 + 2 * place
    data[keys], data[keys + 1] = groups.positions[starts] >> 16, sizes - 1
    before = np.cumsum(sizes) - sizes - np.repeat(np.cumsum(counts) - counts, containers)
    offsets = 8 + 8 * containers[owners] + 2 * before
    data[keys + 2 * containers[owners]], data[keys + 2 * containers[owners] + 1] = offsets & 0xFFFF, offsets >> 16
    rows = np.repeat(starts, sizes) + np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    to = np.repeat(bases[:-1] + 4 + 4 * containers, counts)
    to += np.arange(len(to)) - np.repeat(np.cumsum(counts) - counts, counts)
    data[to] = groups.positions[rows] & 0xFFFF
    whole, ends = data.tobytes(), (2 * bases).tolist()
    return [whole[a:b] for a, b in pairwise(ends)]


def _single_runs(groups: _Groups, some: Positions) -> list[bytes]:
    """The bytes of bitmaps that are one run."""
    starts = groups.starts[np.isin(groups.owners, some)]
    written = np.zeros(len(some), _ONE_RUN)
    written["cookie"], written["flags"], written["runs"] = WITH_RUNS, 1, 1
    written["key"], written["first"] = groups.positions[starts] >> 16, groups.positions[starts] & 0xFFFF
    written["less"] = written["more"] = groups.counts[some] - 1
    whole, size = written.tobytes(), _ONE_RUN.itemsize
    return [whole[at : at + size] for at in range(0, len(whole), size)]
