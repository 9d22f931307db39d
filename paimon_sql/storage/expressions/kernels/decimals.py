"""Decimals as whole numbers, for exact arithmetic over arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_LOW = 1 << 64
LONG_DIGITS = 18
"""The digits that always fit into 64 bits."""


def unscaled(values: pa.Array) -> npt.NDArray[np.object_]:
    """The decimals as Python's whole numbers of their last digit; what stands for a null is not defined."""
    words = np.frombuffer(values.buffers()[1], dtype="<u8")[2 * values.offset : 2 * (values.offset + len(values))]
    high = words[1::2].astype(np.int64).astype(object)
    numbers: npt.NDArray[np.object_] = high * _LOW + words[0::2].astype(object)
    return numbers


def unscaled_longs(values: pa.Array) -> npt.NDArray[np.int64]:
    """As `unscaled`, for decimals of at most `LONG_DIGITS` digits."""
    words = np.frombuffer(values.buffers()[1], dtype="<i8")[2 * values.offset : 2 * (values.offset + len(values))]
    return words[0::2]


def scaled(numbers: npt.NDArray[np.object_] | npt.NDArray[np.int64], kind: pa.DataType, valid: np.ndarray) -> pa.Array:
    """Decimals of whole numbers that fit into the type, null where they are not valid."""
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
    """Quotients rounded to the nearest whole number, halves away from zero."""
    size = np.abs(divisor)
    quotients = (2 * np.abs(numbers) + size) // (2 * size)
    negative = (numbers < 0) != (np.asarray(divisor) < 0)
    rounded: npt.NDArray[np.object_] = np.where(negative, -quotients, quotients)
    return rounded
