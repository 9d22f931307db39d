"""Base class of clustering orders, and the order-preserving codes of values that their keys consist of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.schema.arrow_types import is_bytes


class ClusteringOrder(ABC):
    """A clustering order.

    Attributes:
        name: its name in ``order_strategy`` and in ``clustering.strategy``.
        has_ranges: whether it is the order of the columns' values, so that ranges of these can be sorted one by one.
    """

    name: ClassVar[str]
    has_ranges: ClassVar[bool] = False

    @abstractmethod
    def keys(self, columns: Sequence[pa.Array], text_bytes: int) -> list[pa.Array]:
        """The sort keys of rows, as arrays of the columns' length; their number depends on the columns only.

        Args:
            columns: the columns to order by, at least one, of ordered types.
            text_bytes: the number of bytes of strings and binaries that count, in orders that use prefixes.
        """


Codes = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]

WORD = 8
"""The bytes of a code."""
_SIGN = np.uint64(1 << 63)
_LONG_DIGITS = 18
"""The max digits of decimals whose unscaled values are 64-bit integers."""


def is_ordered(kind: pa.DataType) -> bool:
    """Whether a type is ordered; nested types and variants are not."""
    return not (pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType))


def codes(array: pa.Array) -> Codes:
    """One code per row, monotonic in the values.

    Nulls are 0, NaN is above all other numbers, -0.0 equals 0.0. Of strings and bytes the first eight bytes count; a
    decimal of more than 18 digits counts as the nearest double.
    """
    kind = array.type
    if is_bytes(kind):
        return words(prefixes(array, WORD))[0]
    if pa.types.is_floating(kind) or (pa.types.is_decimal(kind) and kind.precision > _LONG_DIGITS):
        found = _of_doubles(array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False))
    else:
        found = _integers(array).view(np.uint64) ^ _SIGN
    if array.null_count:
        found = np.where(array.is_null().to_numpy(zero_copy_only=False), np.uint64(0), found)
    return found


def prefixes(array: pa.Array, length: int) -> Bytes:
    """The first bytes of strings or bytes, padded with zeros, zeros for null: one row of ``length`` bytes per value."""
    plain = array.cast(pa.large_binary()) if not pa.types.is_fixed_size_binary(array.type) else _flat(array)
    sizes = pc.fill_null(pc.binary_length(plain), 0).to_numpy(zero_copy_only=False)
    offsets = np.frombuffer(plain.buffers()[1], np.int64, len(plain) + 1, plain.offset * 8) if len(plain) else sizes
    found = np.zeros((len(plain), length), dtype=np.uint8)
    buffer = plain.buffers()[2]
    if buffer is None or not buffer.size:
        return found
    data = np.frombuffer(buffer, np.uint8)
    for position in range(length):
        rows = np.flatnonzero(sizes > position)
        found[rows, position] = data[offsets[:-1][rows] + position]
    return found


def to_bytes(numbers: Codes) -> Bytes:
    """Codes as big-endian bytes, which have the same order."""
    return numbers.astype(">u8").view(np.uint8).reshape(-1, WORD)


def words(rows: Bytes) -> list[Codes]:
    """Rows of bytes as columns of codes with the same order, one per eight bytes."""
    padded = np.pad(rows, ((0, 0), (0, -rows.shape[1] % WORD)))
    numbers = np.ascontiguousarray(padded).view(">u8").astype(np.uint64)
    return [np.ascontiguousarray(column) for column in numbers.T]


def _flat(array: pa.Array) -> pa.Array:
    return array.cast(pa.binary(array.type.byte_width)).cast(pa.binary()).cast(pa.large_binary())


def _integers(array: pa.Array) -> npt.NDArray[np.int64]:
    kind = array.type
    if pa.types.is_decimal(kind):
        # The low half of a 128-bit number; the high half is only its sign.
        return np.frombuffer(array.buffers()[1], np.int64).reshape(-1, 2)[array.offset : array.offset + len(array), 0]
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        array = array.cast(pa.int32())
    elif pa.types.is_boolean(kind):
        array = array.cast(pa.int8())
    # Nulls are filled first: NumPy has no nullable integers.
    integers = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(integers, dtype=np.int64)


def _of_doubles(values: npt.NDArray[np.float64]) -> Codes:
    plain = np.where(np.isnan(values), np.nan, values + 0.0)  # one NaN, and one zero
    bits = plain.view(np.uint64)
    return np.where(bits & _SIGN != 0, ~bits, bits | _SIGN)
