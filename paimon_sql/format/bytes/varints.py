"""Whole numbers from 0 on in as few bytes as they need, seven bits a byte, the lowest first; many at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]

_BITS, _LOW, _MORE = 7, 0x7F, 0x80
_MOST_BYTES = 9


def sizes_of(numbers: Longs) -> Longs:
    """How many bytes each number takes."""
    sizes = np.ones(len(numbers), np.int64)
    for size in range(1, _MOST_BYTES):
        longer = numbers >> (_BITS * size) > 0
        if not longer.any():
            break
        sizes += longer
    return sizes


def put(out: Bytes, at: Longs, numbers: Longs, sizes: Longs) -> None:
    """Write numbers to where they belong.

    Args:
        out: the bytes written to.
        at: where each number begins.
        numbers: the numbers.
        sizes: how many bytes each takes, as `sizes_of` says.
    """
    for i in range(int(sizes.max(initial=0))):
        there = sizes > i
        if there.all():
            places, values, more = at + i, numbers >> (_BITS * i), sizes > i + 1
        else:
            places, values, more = at[there] + i, numbers[there] >> (_BITS * i), sizes[there] > i + 1
        out[places] = (values & _LOW) | np.where(more, _MORE, 0)


def encoded(numbers: Longs) -> Bytes:
    """Numbers one behind the other."""
    sizes = sizes_of(numbers)
    out = np.zeros(int(sizes.sum()), np.uint8)
    put(out, np.cumsum(sizes) - sizes, numbers, sizes)
    return out


def decoded_at(data: Bytes, at: Longs) -> tuple[Longs, Longs]:
    """The numbers that begin at some places, and where the bytes behind each begin.

    Raises:
        ValueError: one does not end.
    """
    if len(at) and at.min() < 0:
        raise ValueError("a number does not begin")
    numbers, ends = np.zeros(len(at), np.int64), at.copy()
    open_ones = np.arange(len(at))
    for i in range(_MOST_BYTES + 1):
        if not len(open_ones):
            return numbers, ends
        places = ends[open_ones]
        if i == _MOST_BYTES or (len(places) and places.max() >= len(data)):
            break
        found = data[places].astype(np.int64)
        numbers[open_ones] |= (found & _LOW) << (_BITS * i)
        ends[open_ones] += 1
        open_ones = open_ones[found >= _MORE]
    raise ValueError("a number does not end")


def decoded(data: Bytes) -> tuple[Longs, Longs]:
    """The numbers that stand one behind the other, and where each begins.

    Raises:
        ValueError: the last one does not end, or one is too long.
    """
    if not len(data):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    last = np.flatnonzero(data < _MORE)
    if not len(last) or last[-1] != len(data) - 1:
        raise ValueError("a number does not end")
    starts = np.empty(len(last), np.int64)
    starts[0], starts[1:] = 0, last[:-1] + 1
    sizes = last - starts + 1
    if sizes.max() > _MOST_BYTES:
        raise ValueError("a number is too long")
    place = np.arange(len(data)) - np.repeat(starts, sizes)
    parts = (data & _LOW).astype(np.int64) << (_BITS * place)
    return np.add.reduceat(parts, starts), starts
