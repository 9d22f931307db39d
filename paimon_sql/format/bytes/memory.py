"""Vectorized access to words and byte ranges in flat memory, for many rows with one NumPy call.

The binary rows of many files are concatenated in an Arrow buffer, unaligned; a column is a word of 8 bytes, or a range
of bytes, at a different offset of every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Bytes: TypeAlias = npt.NDArray[np.uint8]
Longs: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.uint64]
Mask: TypeAlias = npt.NDArray[np.bool_]


Item = TypeVar("Item", bound=np.generic)
WORD = np.dtype(np.uint64)
_BINARY = pa.binary()


def words_view(memory: Bytes, dtype: np.dtype[Item]) -> npt.NDArray[Item]:
    """A view whose item ``i`` is the word at byte ``i`` of ``memory``, aligned or not.

    The view ends where less than a word remains, and is writable if ``memory`` is.
    """
    count = max(len(memory) - dtype.itemsize + 1, 0)
    return np.ndarray(shape=(count,), dtype=dtype, buffer=memory, strides=(1,))


def range_index(starts: Longs, lengths: Longs) -> Longs:
    """The positions of all bytes of the ranges ``[start, start + length)``, concatenated."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(total, dtype=np.int64)


def offsets_of(lengths: Longs) -> Longs:
    """Arrow's offsets of values of these lengths: 0, then the running total."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def binary_buffers(array: pa.Array) -> tuple[Bytes, Longs]:
    """The bytes of a binary or string array and the ``len(array) + 1`` offsets of its values in them."""
    wide = pa.types.is_large_binary(array.type) or pa.types.is_large_string(array.type)
    _, offset_buffer, data_buffer = array.buffers()
    if offset_buffer is None or len(array) == 0:
        return np.zeros(0, np.uint8), np.zeros(len(array) + 1, np.int64)
    offsets = np.frombuffer(offset_buffer, np.int64 if wide else np.int32)
    data = np.frombuffer(data_buffer, np.uint8) if data_buffer is not None else np.zeros(0, np.uint8)
    return data, offsets[array.offset : array.offset + len(array) + 1].astype(np.int64, copy=False)


def null_mask(array: pa.Array) -> Mask | None:
    """The mask of nulls; None if there are none."""
    if array.null_count == 0:
        return None
    mask: Mask = pc.is_null(array).to_numpy(zero_copy_only=False)
    return mask


def to_binary_array(rows: Sequence[bytes | None] | pa.Array | pa.ChunkedArray) -> pa.Array:
    """Convert the bytes of many rows to one binary array."""
    if isinstance(rows, pa.ChunkedArray):
        return rows.cast(pa.large_binary()).combine_chunks()
    if isinstance(rows, pa.Array):
        return rows
    return pa.array(rows, pa.large_binary())


def validity_buffer(nulls: Mask | None) -> pa.Buffer | None:
    """Arrow's validity bitmap for a mask of nulls; None if there are none."""
    if nulls is None or not nulls.any():
        return None
    return pa.py_buffer(np.packbits(~nulls, bitorder="little").tobytes())


def fixed_array(values: npt.NDArray[np.generic], data_type: pa.DataType, nulls: Mask | None) -> pa.Array:
    """An Arrow array over NumPy memory of the same layout, with a mask of nulls."""
    size = len(values)
    return pa.Array.from_buffers(data_type, size, [validity_buffer(nulls), pa.py_buffer(np.ascontiguousarray(values))])


def binary_array(data: Bytes, offsets: Longs, nulls: Mask | None = None, data_type: pa.DataType = _BINARY) -> pa.Array:
    """An Arrow array of strings or bytes by the offsets of its values in NumPy memory; of a large type beyond 2 GB."""
    wide = int(offsets[-1]) > 2**31 - 1
    if wide:
        data_type = pa.large_string() if data_type == pa.string() else pa.large_binary()
    buffers = [validity_buffer(nulls), pa.py_buffer(offsets if wide else offsets.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(data_type, len(offsets) - 1, buffers)
