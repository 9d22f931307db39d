"""Vectorized access to many ranges of one byte buffer: copies, and numbers at their start."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_sql.format.bytes.memory import Bytes, Longs, Mask, binary_array, binary_buffers, range_index


def stretches_of(array: pa.Array) -> tuple[Bytes, Longs, Longs]:
    """The buffer of a binary array with the start and the length of each value; null has length 0."""
    data, bounds = binary_buffers(array)
    lengths = np.diff(bounds)
    if array.null_count:
        lengths = lengths * validity(array)
    return data, bounds[:-1], lengths


def binary_of(data: Bytes, starts: Longs, lengths: Longs, present: Mask | None = None) -> pa.Array:
    """Copy ranges to a binary array, which is null where ``present`` is False.

    Raises:
        ValueError: ranges exceed the buffer, or overlap.
    """
    chosen = np.arange(len(starts)) if present is None else np.flatnonzero(present)
    first, last = starts[chosen], starts[chosen] + lengths[chosen]
    check_inside(data, first, last - first)
    if not len(chosen):
        return pa.nulls(len(starts), pa.binary())
    if (last[:-1] > first[1:]).any():
        order = np.lexsort((last, first))
        chosen, first, last = chosen[order], first[order], last[order]
        if (last[:-1] > first[1:]).any():
            raise ValueError("the values of a variant overlap")
    # Together with the gaps between them they are one array, from which Arrow copies faster than by the byte.
    bounds = np.empty(2 * len(chosen), np.int64)
    bounds[0::2], bounds[1::2] = first, last
    covering = small_array(data, bounds)
    indexes = np.zeros(len(starts), np.int64)
    indexes[chosen] = np.arange(0, len(bounds), 2)
    return covering.take(pa.array(indexes, mask=None if present is None else ~present))


def small_array(data: Bytes, bounds: Longs, present: Mask | None = None) -> pa.Array:
    """A binary array by the offsets of its values, which is null where ``present`` is False.

    Raises:
        ValueError: it is larger than Arrow's small arrays can be.
    """
    if bounds[-1] > np.iinfo(np.int32).max:
        raise ValueError("the variants of a batch take more than 2 GiB")
    return binary_array(data, bounds, None if present is None else ~present)


def check_inside(data: Bytes, starts: Longs, lengths: Longs) -> None:
    """Check that ranges lie within a buffer and that their total length is not larger than it.

    Valid values never overlap; invalid ones must not need more memory than their own size.

    Raises:
        ValueError: they do not.
    """
    ends = np.where(lengths > 0, starts + lengths, 0)
    if (lengths < 0).any() or ends.max(initial=0) > len(data) or lengths.sum() > len(data):
        raise ValueError("a variant is cut off")


def validity(array: pa.Array) -> Mask:
    """The mask of non-null values."""
    found: Mask = array.is_valid().to_numpy(zero_copy_only=False)
    return found


def ordinals(counts: Longs) -> tuple[Longs, Longs]:
    """For groups of ``counts`` items: the group of each item, and its index in the group."""
    owners = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    return owners, range_index(np.zeros(len(counts), np.int64), counts)


def unsigned(data: Bytes, at: Longs, width: Longs | int) -> Longs:
    """Decode the little-endian numbers of 1 to 4 bytes at some offsets."""
    numbers = np.zeros(len(at), np.int64)
    widths = np.broadcast_to(np.asarray(width, np.int64), at.shape)
    for byte in range(int(widths.max()) if len(at) else 0):
        wide = widths > byte
        if wide.all():
            numbers |= data[at + byte].astype(np.int64) << (8 * byte)
        else:
            numbers[wide] |= data[at[wide] + byte].astype(np.int64) << (8 * byte)
    return numbers


def put_unsigned(out: Bytes, at: Longs, numbers: Longs, width: Longs) -> None:
    """Encode little-endian numbers of 1 to 4 bytes at some offsets."""
    for byte in range(int(width.max()) if len(at) else 0):
        wide = width > byte
        out[at[wide] + byte] = (numbers[wide] >> (8 * byte)) & 0xFF


def width_of(numbers: Longs) -> Longs:
    """The number of bytes, from 1 to 4, of each number."""
    return 1 + (numbers > 0xFF).astype(np.int64) + (numbers > 0xFFFF) + (numbers > 0xFFFFFF)


def matrix(data: Bytes, at: Longs, width: int) -> Bytes:
    """The bytes of ranges of one length, one row per range."""
    found: Bytes = data[at[:, None] + np.arange(width, dtype=np.int64)]
    return found
