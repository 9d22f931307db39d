"""Varints: integers, seven bits per byte, the lowest first; vectorized, and one by one.

Deltas are zigzag-encoded differences of neighbours, as in the indexes of blob files (spec: Blob File).
"""

from __future__ import annotations

import numpy as np

from paimon_sql.format.bytes.memory import Bytes, Longs

_BITS, _LOW, _MORE = 7, 0x7F, 0x80
_MAX_BYTES, MAX_SIGNED_BYTES = 9, 10
_MAX_BITS = 64


def sizes_of(numbers: Longs) -> Longs:
    """The number of bytes of each encoded number."""
    sizes = np.ones(len(numbers), np.int64)
    for size in range(1, _MAX_BYTES):
        longer = numbers >> (_BITS * size) > 0
        if not longer.any():
            break
        sizes += longer
    return sizes


def encode_into(out: Bytes, at: Longs, numbers: Longs, sizes: Longs) -> None:
    """Encode numbers into a buffer.

    Args:
        out: the buffer.
        at: the offset of each number.
        numbers: the numbers.
        sizes: the number of bytes of each, as by `sizes_of`.
    """
    for i in range(int(sizes.max(initial=0))):
        live = sizes > i
        if live.all():
            positions, values, more = at + i, numbers >> (_BITS * i), sizes > i + 1
        else:
            positions, values, more = at[live] + i, numbers[live] >> (_BITS * i), sizes[live] > i + 1
        out[positions] = (values & _LOW) | np.where(more, _MORE, 0)


def encode(numbers: Longs) -> Bytes:
    """Encode numbers, concatenated."""
    sizes = sizes_of(numbers)
    out = np.zeros(int(sizes.sum()), np.uint8)
    encode_into(out, np.cumsum(sizes) - sizes, numbers, sizes)
    return out


def decoded_at(data: Bytes, at: Longs, max_bytes: int = _MAX_BYTES) -> tuple[Longs, Longs]:
    """Decode the numbers of up to so many bytes at some offsets, none of them negative; with the end offset of each.

    Raises:
        ValueError: a number does not end, or is too long.
    """
    try:
        octets, ends = data[at].astype(np.int64), at + 1
        numbers = octets & _LOW
        live = np.flatnonzero(octets >= _MORE)
        for i in range(1, max_bytes):
            if not len(live):
                break
            octets = data[ends[live]].astype(np.int64)
            numbers[live] |= (octets & _LOW) << (_BITS * i)
            ends[live] += 1
            live = live[octets >= _MORE]
    except IndexError:
        raise ValueError("a number is cut off") from None
    if len(live):
        raise ValueError("a number is cut off")
    return numbers, ends


def decode(data: Bytes, max_bytes: int = _MAX_BYTES) -> tuple[Longs, Longs]:
    """Decode concatenated numbers of up to so many bytes; with the start offset of each.

    Raises:
        ValueError: the last one does not end, or one is too long.
    """
    if not len(data):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    last = np.flatnonzero(data < _MORE)
    if not len(last) or last[-1] != len(data) - 1:
        raise ValueError("a number is cut off")
    starts = np.empty(len(last), np.int64)
    starts[0], starts[1:] = 0, last[:-1] + 1
    sizes = last - starts + 1
    if sizes.max() > max_bytes:
        raise ValueError("a number is too long")
    index = np.arange(len(data)) - np.repeat(starts, sizes)
    parts = (data & _LOW).astype(np.int64) << (_BITS * index)
    return np.add.reduceat(parts, starts), starts


def encode_deltas(numbers: Longs) -> bytes:
    """Encode numbers as deltas."""
    differences = np.diff(numbers, prepend=np.int64(0))
    return encode((differences << 1) ^ (differences >> 63)).tobytes()


def decode_deltas(data: bytes, sizes: Longs) -> tuple[Longs, Longs]:
    """Decode several concatenated lists of deltas.

    Args:
        data: the bytes of all lists.
        sizes: the number of bytes of each list.

    Returns:
        The numbers of all lists, and the length of each list.

    Raises:
        ValueError: a list ends inside a number.
    """
    octets, bounds = np.frombuffer(data, np.uint8), np.cumsum(sizes)
    if (octets[bounds[sizes > 0] - 1] >= _MORE).any():
        raise ValueError("a number is cut off")
    found, starts = decode(octets, MAX_SIGNED_BYTES)
    counts = np.diff(np.searchsorted(starts, bounds), prepend=0)
    differences = signed(found)
    sums = np.cumsum(differences)
    heads = (np.cumsum(counts) - counts)[counts > 0]
    return sums - np.repeat(sums[heads] - differences[heads], counts[counts > 0]), counts


def signed(numbers: Longs) -> Longs:
    """The numbers whose sign is the lowest bit (zigzag)."""
    raw = numbers.view(np.uint64)
    return (raw >> np.uint64(1)).view(np.int64) ^ -(raw & np.uint64(1)).view(np.int64)


def encode_one(number: int) -> bytes:
    """Encode one number."""
    out = bytearray()
    while number > _LOW:
        out.append(number & _LOW | _MORE)
        number >>= _BITS
    out.append(number)
    return bytes(out)


def decode_one(data: bytes, at: int, bits: int = _MAX_BITS) -> tuple[int, int]:
    """Decode the number of so many bits at an offset; with its end offset. ValueError if it does not end."""
    number = 0
    for shift in range(0, bits, _BITS):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        number |= (byte & _LOW) << shift
        if byte < _MORE:
            return number, at
    raise ValueError("a number is cut off")


def encode_signed(number: int) -> bytes:
    """Encode one number that may be negative, with the sign as its lowest bit (zigzag)."""
    return encode_one((number << 1) ^ (number >> 63))


def decode_signed(data: bytes, at: int) -> tuple[int, int]:
    """Decode the number of `encode_signed` at an offset; results and errors are those of `decode_one`."""
    number, at = decode_one(data, at)
    return (number >> 1) ^ -(number & 1), at
