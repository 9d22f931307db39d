"""Values of a column as indexes store and order them: whole numbers, or the bytes of texts.

Every type but text becomes a 64-bit number in the order of its values: points in time count milliseconds up to
precision 3 and microseconds above it, decimals are their unscaled values, floating-point numbers the bits that sort as
Java compares them, -0.0 below 0.0 and NaN above all else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.schema import types as t

Numbers = npt.NDArray[np.int64]

TEXTS = (t.CharType, t.VarCharType)
_TIMES = (t.TimestampType, t.LocalZonedTimestampType)
_WIDTHS: dict[type[t.DataType], int] = {
    t.BooleanType: 1,
    t.TinyIntType: 1,
    t.SmallIntType: 2,
    t.IntType: 4,
    t.DateType: 4,
    t.TimeType: 4,
    t.FloatType: 4,
}
_NANOS_FROM = 7
_MICROS_FROM = 4
_THOUSAND = 1000


class OutOfRangeError(ValueError):
    """A value that the numbers of an index cannot hold."""


@dataclass(frozen=True)
class KeyType:
    """How the values of one type are kept.

    Attributes:
        type: the column's type.
    """

    type: t.DataType

    @property
    def is_text(self) -> bool:
        """Whether keys are bytes instead of numbers."""
        return isinstance(self.type, (*TEXTS, t.BinaryType, t.VarBinaryType))

    @property
    def is_float(self) -> bool:
        """Whether values are floating-point numbers."""
        return t.is_floating(self.type)

    @property
    def stored(self) -> np.dtype[np.signedinteger[npt.NBitBase]]:
        """The form of a number in files; floating-point numbers are stored by their bits."""
        return np.dtype(f">i{_WIDTHS.get(type(self.type), 8)}")

    def of(self, values: pa.Array) -> pa.Array:
        """Values as 64-bit numbers or bytes; nulls stay null.

        Raises:
            OutOfRangeError: a decimal is beyond 64 bits.
        """
        if self.is_text:
            return values.cast(pa.binary())
        numbers = self._numbers(values)
        return pa.array(numbers, mask=pc.is_null(values).to_numpy(zero_copy_only=False) if values.null_count else None)

    def _numbers(self, values: pa.Array) -> Numbers:
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
        """How many units of the Arrow type one unit of an index has."""
        if not isinstance(self.type, _TIMES):
            return 1
        return 1 if _MICROS_FROM <= self.type.precision < _NANOS_FROM else _THOUSAND

    def encode(self, numbers: Numbers) -> npt.NDArray[np.signedinteger[npt.NBitBase]]:
        """Numbers in the form in which files hold them."""
        if self.is_float:
            numbers = self._flipped(numbers)
        return numbers.astype(self.stored)

    def decode(self, stored: npt.NDArray[np.signedinteger[npt.NBitBase]]) -> Numbers:
        """The numbers that files hold."""
        numbers = stored.astype(np.int64)
        return self._flipped(numbers) if self.is_float else numbers

    def _flipped(self, numbers: Numbers) -> Numbers:
        """Bits of floating-point numbers as numbers of the same order, or the other way round."""
        greatest = np.int64((1 << (8 * self.stored.itemsize - 1)) - 1)
        return np.where(numbers < 0, numbers ^ greatest, numbers)

    def equals(self, values: pa.Array) -> list[int | bytes]:
        """The keys that rows can have whose value is one of some; both zeros are one value.

        What an index cannot hold has no key.
        """
        if self.is_float:
            zero = pa.scalar(0, values.type)
            if pc.any(pc.equal(values, zero)).as_py():
                values = pa.concat_arrays([values, pa.array([0.0, -0.0], values.type)])
        if isinstance(self.type, t.DecimalType):
            values = values.filter(pa.array(_fits(*_halves(values))))
        return list(dict.fromkeys(self.of(values).to_pylist()))

    def bound(self, value: pa.Scalar, *, above: bool) -> int | bytes:
        """The key that a value is as a bound.

        Args:
            value: the value.
            above: whether the bound lies above both zeros, where the value is one of them.

        Raises:
            OutOfRangeError: as `of`.
        """
        if self.is_float and value.as_py() == 0:
            value = pa.scalar(0.0 if above else -0.0, value.type)
        key: int | bytes = self.of(pa.array([value.as_py()], value.type))[0].as_py()
        return key

    def is_exact(self, values: pa.Array) -> bool:
        """Whether a key tells these values from all others: points in time may be finer than what indexes keep."""
        if not isinstance(self.type, _TIMES):
            return True
        if self.type.precision >= _NANOS_FROM:
            return False
        numbers = pc.drop_null(values.cast(pa.int64())).to_numpy()
        return bool(np.all(numbers % self._scale == 0))


@dataclass(frozen=True)
class RankedColumn:
    """A column's values by rank.

    Attributes:
        rows: how many rows there are.
        positions: the rows that are not null.
        ranks: for each of these the rank of its value among all that occur.
        distinct: these values, ascending: numbers, or bytes of texts.
    """

    rows: int
    positions: Numbers
    ranks: Numbers
    distinct: Numbers | pa.Array

    @classmethod
    def of(cls, parts: Sequence[pa.Array]) -> RankedColumn:
        """The keys of a column, part by part, ranked."""
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
    def nulls(self) -> Numbers:
        """The rows that are null."""
        there = np.ones(self.rows, np.bool_)
        there[self.positions] = False
        return np.flatnonzero(there)


def with_length(texts: pa.Array) -> pa.Array:
    """Bytes behind their length, which is four bytes, big-endian."""
    return pc.binary_join_element_wise(fixed(pc.binary_length(texts).to_numpy().astype(">i4")), texts, b"")


def fixed(numbers: npt.NDArray[np.generic]) -> pa.Array:
    """The bytes of each number, or of each row of numbers."""
    size = numbers.nbytes // max(1, len(numbers))
    held = pa.Array.from_buffers(pa.binary(size), len(numbers), [None, pa.py_buffer(numbers.tobytes())])
    return held.cast(pa.binary())


def _bits(values: pa.Array) -> npt.NDArray[np.signedinteger[npt.NBitBase]]:
    """The bits of floating-point numbers, all NaN alike."""
    numbers = pc.fill_null(values, pa.scalar(0, values.type)).to_numpy(zero_copy_only=False)
    plain = np.where(np.isnan(numbers), np.array(np.nan, numbers.dtype), numbers)
    bits: npt.NDArray[np.signedinteger[npt.NBitBase]] = plain.view(f"i{plain.itemsize}")
    return bits


def _unscaled(values: pa.Array) -> Numbers:
    """The unscaled values of decimals, 0 for null."""
    low, high = _halves(values)
    if not _fits(low, high).all():
        raise OutOfRangeError("a decimal is beyond 64 bits")
    return low.astype(np.int64)


def _halves(values: pa.Array) -> tuple[npt.NDArray[np.signedinteger[npt.NBitBase]], ...]:
    """The lower and the upper 64 bits of decimals, 0 for null."""
    filled = pc.fill_null(values, pa.scalar(0, pa.int8()).cast(values.type))
    words = np.frombuffer(filled.buffers()[1], "<i8").reshape(-1, 2)[filled.offset : filled.offset + len(filled)]
    return words[:, 0], words[:, 1]


def _fits(
    low: npt.NDArray[np.signedinteger[npt.NBitBase]], high: npt.NDArray[np.signedinteger[npt.NBitBase]]
) -> npt.NDArray[np.bool_]:
    """Whether the lower 64 bits tell the whole number."""
    return np.asarray(low >> 63 == high, np.bool_)
