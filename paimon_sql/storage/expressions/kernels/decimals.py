"""Decimals as unscaled integers, for exact arithmetic over arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_LOW = 1 << 64
LONG_DIGITS = 18
"""The precision that always fits into 64 bits."""


def unscaled(values: pa.Array) -> npt.NDArray[np.object_]:
    """Return the unscaled values as Python integers; the value at a null is undefined."""
    words = np.frombuffer(values.buffers()[1], dtype="<u8")[2 * values.offset : 2 * (values.offset + len(values))]
    high = words[1::2].astype(np.int64).astype(object)
    numbers: npt.NDArray[np.object_] = high * _LOW + words[0::2].astype(object)
    return numbers


def unscaled_longs(values: pa.Array) -> npt.NDArray[np.int64]:
    """Like `unscaled`, for decimals of at most `LONG_DIGITS` digits."""
    words = np.frombuffer(values.buffers()[1], dtype="<i8")[2 * values.offset : 2 * (values.offset + len(values))]
    return words[0::2]


def scaled(numbers: npt.NDArray[np.object_] | npt.NDArray[np.int64], kind: pa.DataType, valid: np.ndarray) -> pa.Array:
    """Build decimals from unscaled integers that fit into the type; null where not valid."""
    words = np.empty((len(numbers), 2), dtype="<u8")
    if numbers.dtype == object:
        words[:, 0] = (numbers % _LOW).astype(np.uint64)
        words[:, 1] = (numbers // _LOW % _LOW).astype(np.uint64)
    else:
        words[:, 0] = numbers.view(np.uint64)
        words[:, 1] = (numbers >> 63).view(np.uint64)
    mask = None if valid.all() else pa.array(valid).buffers()[1]
    return pa.Array.from_buffers(kind, len(numbers), [mask, pa.py_buffer(words.tobytes())])


def divided(numbers: npt.NDArray[np.object_], divisor: npt.NDArray[np.object_] | int) -> npt.NDArray[np.object_]:
    """Divide, rounding to the nearest integer, halves away from zero."""
    size = np.abs(divisor)
    quotients = (2 * np.abs(numbers) + size) // (2 * size)
    negative = (numbers < 0) != (np.asarray(divisor) < 0)
    rounded: npt.NDArray[np.object_] = np.where(negative, -quotients, quotients)
    return rounded
