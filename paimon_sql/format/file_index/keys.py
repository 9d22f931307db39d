"""Keys of file indexes: values of a column as integers, or as the bytes of strings.

Values of all types but strings become 64-bit numbers of the same order: timestamps are milliseconds up to precision 3
and microseconds above it, decimals their unscaled values, floating-point numbers the bits that sort as Java compares
them: -0.0 below 0.0, and NaN above all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.bytes.memory import Longs
from paimon_sql.format.schema import types as t

Key: TypeAlias = int | bytes
Stored: TypeAlias = npt.NDArray[np.signedinteger[npt.NBitBase]]
"""Numbers as files store them."""

_WIDTHS: dict[type[t.DataType], int] = {
    **dict.fromkeys((t.BooleanType, t.TinyIntType), 1),
    t.SmallIntType: 2,
    **dict.fromkeys((t.IntType, t.DateType, t.TimeType, t.FloatType), 4),
}
_NANOS_FROM = 7
_MICROS_FROM = 4
_THOUSAND = 1000


class OutOfRangeError(ValueError):
    """A value does not fit into the 64-bit numbers of an index."""


@dataclass(frozen=True)
class KeyType:
    """Conversion of the values of one type to keys.

    Attributes:
        type: the column's type.
    """

    type: t.DataType

    @property
    def is_bytes(self) -> bool:
        """Whether keys are bytes instead of numbers."""
        return isinstance(self.type, (*t.TEXTS, *t.BYTES))

    @property
    def is_float(self) -> bool:
        """Whether values are floating-point numbers."""
        return t.is_floating(self.type)

    @property
    def stored(self) -> np.dtype[np.signedinteger[npt.NBitBase]]:
        """The type of a number in files; floating-point numbers are stored as their bits."""
        return np.dtype(f">i{_WIDTHS.get(type(self.type), 8)}")

    def of(self, values: pa.Array) -> pa.Array:
        """Convert values to 64-bit numbers or bytes; nulls stay null.

        Raises:
            OutOfRangeError: a decimal exceeds 64 bits.
        """
        if self.is_bytes:
            return values.cast(pa.binary())
        numbers = self._numbers(values)
        return pa.array(numbers, mask=pc.is_null(values).to_numpy(zero_copy_only=False) if values.null_count else None)

    def _numbers(self, values: pa.Array) -> Longs:
        if isinstance(self.type, t.DecimalType):
            return _unscaled(values)
        if self.is_float:
            return self.decode(_bits(values))
        if isinstance(self.type, (t.DateType, t.TimeType)):
            values = values.cast(pa.int32())
        numbers = pc.fill_null(values.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
        scale = self._scale
        return np.asarray(numbers if scale == 1 else np.floor_divide(numbers, scale), np.int64)

    @property
    def _scale(self) -> int:
        """Units of the Arrow type per unit of an index."""
        if not isinstance(self.type, t.TIMESTAMPS):
            return 1
        return 1 if _MICROS_FROM <= self.type.precision < _NANOS_FROM else _THOUSAND

    def encode(self, numbers: Longs) -> Stored:
        """Convert keys to numbers as files store them."""
        if self.is_float:
            numbers = self._flipped(numbers)
        return numbers.astype(self.stored)

    def decode(self, stored: Stored) -> Longs:
        """Convert numbers as files store them to keys."""
        numbers = stored.astype(np.int64)
        return self._flipped(numbers) if self.is_float else numbers

    def _flipped(self, numbers: Longs) -> Longs:
        """Convert bits of floating-point numbers to numbers of the same order, or back."""
        maximum = np.int64((1 << (8 * self.stored.itemsize - 1)) - 1)
        return np.where(numbers < 0, numbers ^ maximum, numbers)

    def equals(self, values: pa.Array) -> list[Key]:
        """The possible keys of rows whose value is one of ``values``; both zeros are one value.

        A value that an index cannot store has no key.
        """
        values = self.with_both_zeros(values)
        if isinstance(self.type, t.DecimalType):
            values = values.filter(pa.array(_fits(*_halves(values))))
        return list(dict.fromkeys(self.of(values).to_pylist()))

    def bound(self, value: pa.Scalar, *, above: bool) -> Key:
        """The key of a value that is a bound of a range.

        Args:
            value: the value.
            above: whether the bound of a zero lies above both zeros.

        Raises:
            OutOfRangeError: as in `of`.
        """
        key: int | bytes = self.of(self.bounding(value, above=above))[0].as_py()
        return key

    def with_both_zeros(self, values: pa.Array) -> pa.Array:
        """Values with the zeros of both signs if one of them is a floating-point zero."""
        if not self.is_float or not pc.any(pc.equal(values, pa.scalar(0, values.type))).as_py():
            return values
        return pa.concat_arrays([values, pa.array([0.0, -0.0], values.type)])

    def bounding(self, value: pa.Scalar, *, above: bool) -> pa.Array:
        """The value of a bound as an array; a floating-point zero has the sign that lies above or below both zeros."""
        is_zero = self.is_float and value.as_py() == 0
        return pa.array([0.0 if above else -0.0], value.type) if is_zero else pa.repeat(value, 1)

    def is_exact(self, values: pa.Array) -> bool:
        """Whether keys identify these values; timestamps may be finer than the keys of indexes."""
        if not isinstance(self.type, t.TIMESTAMPS):
            return True
        if self.type.precision >= _NANOS_FROM:
            return False
        numbers = pc.drop_null(values.cast(pa.int64())).to_numpy()
        return bool(np.all(numbers % self._scale == 0))


@dataclass(frozen=True)
class RankedColumn:
    """A column's values by rank.

    Attributes:
        rows: the number of rows.
        positions: the rows that are not null.
        ranks: for each position, the rank of its value among the distinct values.
        distinct: the distinct values, ascending: numbers, or bytes of strings.
    """

    rows: int
    positions: Longs
    ranks: Longs
    distinct: Longs | pa.Array

    @classmethod
    def of(cls, parts: Sequence[pa.Array]) -> RankedColumn:
        """Rank the keys of a column, given in parts."""
        keys = pa.chunked_array(parts).combine_chunks() if parts else pa.nulls(0, pa.int64())
        positions = np.flatnonzero(pc.is_valid(keys).to_numpy(zero_copy_only=False))
        valued = keys.drop_null() if keys.null_count else keys
        if pa.types.is_dictionary(keys.type):
            words = valued.dictionary
            order = pc.sort_indices(words).to_numpy()
            used = np.zeros(len(words), np.bool_)
            codes = valued.indices.to_numpy()
            used[codes] = True
            order = order[used[order]]
            ranks = np.empty(len(words), np.int64)
            ranks[order] = np.arange(len(order))
            return cls(len(keys), positions, ranks[codes], words.take(pa.array(order)))
        distinct, inverse = np.unique(valued.to_numpy(), return_inverse=True)
        return cls(len(keys), positions, inverse.astype(np.int64), distinct)

    @property
    def nulls(self) -> Longs:
        """The rows that are null."""
        is_null = np.ones(self.rows, np.bool_)
        is_null[self.positions] = False
        return np.flatnonzero(is_null)


def with_length(values: pa.Array) -> pa.Array:
    """Prefix byte strings with their length: four bytes, big-endian."""
    return pc.binary_join_element_wise(fixed(pc.binary_length(values).to_numpy().astype(">i4")), values, b"")


def fixed(numbers: npt.NDArray[np.generic]) -> pa.Array:
    """The bytes of each number, or of each row of numbers."""
    size = numbers.nbytes // max(1, len(numbers))
    fixed_size = pa.Array.from_buffers(pa.binary(size), len(numbers), [None, pa.py_buffer(numbers.tobytes())])
    return fixed_size.cast(pa.binary())


def _bits(values: pa.Array) -> Stored:
    """The bits of floating-point numbers, with one representation of NaN."""
    numbers = pc.fill_null(values, pa.scalar(0, values.type)).to_numpy(zero_copy_only=False)
    plain = np.where(np.isnan(numbers), np.array(np.nan, numbers.dtype), numbers)
    bits: Stored = plain.view(f"i{plain.itemsize}")
    return bits


def _unscaled(values: pa.Array) -> Longs:
    """The unscaled values of decimals; 0 for null."""
    low, high = _halves(values)
    if not _fits(low, high).all():
        raise OutOfRangeError("a decimal exceeds 64 bits")
    return low.astype(np.int64)


def _halves(values: pa.Array) -> tuple[Stored, ...]:
    """The lower and the upper 64 bits of decimals; 0 for null."""
    filled = pc.fill_null(values, pa.scalar(0, pa.int8()).cast(values.type))
    words = np.frombuffer(filled.buffers()[1], "<i8").reshape(-1, 2)[filled.offset : filled.offset + len(filled)]
    return words[:, 0], words[:, 1]


def _fits(low: Stored, high: Stored) -> npt.NDArray[np.bool_]:
    """Whether a number fits into its lower 64 bits."""
    return np.asarray(low >> 63 == high, np.bool_)
