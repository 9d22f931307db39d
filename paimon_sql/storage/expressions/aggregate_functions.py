"""Aggregates whose results over parts of the rows can be put together: counts, sums, least and greatest values.

Each looks at one column at most. Its partial results are of one type, in which whoever puts them together goes on:
numbers of rows and sums are added up, of extremes the extreme is taken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.types import BigIntType, DataType, DecimalType, DoubleType, is_floating
from paimon_sql.storage.expressions.kernels.sorting import comparable

MOST_DIGITS = 32
"""Digits of the longest decimals that are summed: the sum of as many rows as there may be in memory has 38 at most."""
_LONG = 2**63 - 1
_EXACT = Context(prec=80, rounding=ROUND_DOWN)


@dataclass(frozen=True)
class Leftover:
    """What sums are too great for their type by: each of the values belongs to a further row of a group.

    Attributes:
        groups: the place of the group of each value.
        values: what is to be added to the group's sum.
    """

    groups: pa.Array
    values: pa.Array


class PartialAggregate(ABC):
    """One aggregate."""

    @property
    @abstractmethod
    def label(self) -> str:
        """What it is called, as SQL would."""

    @property
    @abstractmethod
    def type(self) -> DataType:
        """The type of partial results."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that it looks at."""

    @abstractmethod
    def input(self, rows: pa.Table) -> tuple[pa.ChunkedArray | pa.Array, str]:
        """What is put together of the rows, and Arrow's function that does so."""

    def result(self, found: pa.Array) -> tuple[pa.Array, Leftover | None]:
        """Partial results out of what the function found of each group, and what their type does not hold of them."""
        return found.cast(arrow_type(self.type)), None

    @abstractmethod
    def alone(self, rows: pa.Table) -> pa.ChunkedArray | pa.Array:
        """The partial results of rows that are a group each."""

    @property
    def neutral(self) -> pa.Scalar:
        """The partial result that changes nothing."""
        return pa.scalar(None, arrow_type(self.type))


@dataclass(frozen=True)
class CountRows(PartialAggregate):
    """The number of rows."""

    @property
    def label(self) -> str:
        return "count(*)"

    @property
    def type(self) -> DataType:
        return BigIntType(False)

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    def input(self, rows: pa.Table) -> tuple[pa.ChunkedArray | pa.Array, str]:
        return self.alone(rows), "sum"

    def alone(self, rows: pa.Table) -> pa.ChunkedArray | pa.Array:
        return pa.array(np.ones(len(rows), np.int64))

    @property
    def neutral(self) -> pa.Scalar:
        return pa.scalar(0, pa.int64())


@dataclass(frozen=True)
class OfColumn(PartialAggregate):
    """An aggregate of one column."""

    column: str

    @property
    @abstractmethod
    def name(self) -> str:
        """The function."""

    @property
    def label(self) -> str:
        return f"{self.name}({self.column})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)


@dataclass(frozen=True)
class CountValues(OfColumn):
    """The number of values that are not null."""

    @property
    def name(self) -> str:
        return "count"

    @property
    def type(self) -> DataType:
        return BigIntType(False)

    @property
    def neutral(self) -> pa.Scalar:
        return pa.scalar(0, pa.int64())

    def input(self, rows: pa.Table) -> tuple[pa.ChunkedArray | pa.Array, str]:
        return rows[self.column], "count"

    def alone(self, rows: pa.Table) -> pa.ChunkedArray | pa.Array:
        return pc.is_valid(rows[self.column]).cast(pa.int64())


@dataclass(frozen=True)
class Sum(OfColumn):
    """The sum of floating-point numbers, or of whole ones that are so small that it cannot overflow."""

    floating: bool

    @property
    def name(self) -> str:
        return "sum"

    @property
    def type(self) -> DataType:
        return DoubleType() if self.floating else BigIntType()

    def input(self, rows: pa.Table) -> tuple[pa.ChunkedArray | pa.Array, str]:
        return self.alone(rows), "sum"

    def alone(self, rows: pa.Table) -> pa.ChunkedArray | pa.Array:
        return rows[self.column].cast(arrow_type(self.type))


@dataclass(frozen=True)
class WideSum(OfColumn):
    """The sum of numbers of 64 bits, or of decimals, in their own type.

    What the type does not hold goes to further rows, so that nothing is lost and nothing wraps around here: whoever
    adds partial sums up tells overflows as it would over the rows themselves.
    """

    kind: BigIntType | DecimalType

    @property
    def name(self) -> str:
        return "sum"

    @property
    def type(self) -> DataType:
        return self.kind.as_nullable()

    def input(self, rows: pa.Table) -> tuple[pa.ChunkedArray | pa.Array, str]:
        values = rows[self.column]
        if isinstance(self.kind, BigIntType) and not _adds_up(values):
            values = values.cast(pa.decimal128(19, 0))
        return values, "sum"

    def alone(self, rows: pa.Table) -> pa.ChunkedArray | pa.Array:
        return rows[self.column]

    def result(self, found: pa.Array) -> tuple[pa.Array, Leftover | None]:
        if pa.types.is_integer(found.type):
            return found, None
        lower, upper = (pa.scalar(bound, found.type) for bound in self._bounds)
        beyond = pc.fill_null(pc.or_(pc.greater(found, upper), pc.less(found, lower)), False)
        leftover = None
        if pc.any(beyond).as_py():
            found, leftover = self._parted(found, beyond)
        return found.cast(arrow_type(self.kind)), leftover

    @property
    def _bounds(self) -> tuple[Decimal, Decimal]:
        """The greatest value of the type, and before it its opposite, which is one as well."""
        most = Decimal(_LONG)
        if isinstance(self.kind, DecimalType):
            most = _EXACT.scaleb(Decimal(10**self.kind.precision - 1), -self.kind.scale)
        return most.copy_negate(), most

    def _parted(self, found: pa.Array, beyond: pa.Array) -> tuple[pa.Array, Leftover]:
        (least, most), sums = self._bounds, found.filter(beyond).to_pylist()
        times = np.array([int(_EXACT.divide_int(s, most)) for s in sums], np.int64)
        held = pa.array([_EXACT.remainder(s, most) for s in sums], found.type)
        groups = np.repeat(np.flatnonzero(beyond.to_numpy(zero_copy_only=False)), np.abs(times))
        kind = arrow_type(self.kind)
        either = pa.array([least, most], found.type).cast(kind)
        values = either.take(pa.array(np.repeat(times > 0, np.abs(times)).astype(np.int64)))
        return pc.replace_with_mask(found, beyond, held), Leftover(pa.array(groups), values)


@dataclass(frozen=True)
class Extreme(OfColumn):
    """The least (``min``) or the greatest (``max``) value, of which NaN is the greatest there is."""

    kind: DataType
    function: str

    @property
    def name(self) -> str:
        return self.function

    @property
    def type(self) -> DataType:
        return self.kind.as_nullable()

    @property
    def _floating(self) -> bool:
        return is_floating(self.kind)

    def input(self, rows: pa.Table) -> tuple[pa.ChunkedArray | pa.Array, str]:
        values = rows[self.column]
        return comparable(values) if self._floating else values, self.function

    def alone(self, rows: pa.Table) -> pa.ChunkedArray | pa.Array:
        return rows[self.column]

    def result(self, found: pa.Array) -> tuple[pa.Array, Leftover | None]:
        return (_floats(found), None) if self._floating else super().result(found)


def _adds_up(values: pa.ChunkedArray) -> bool:
    """Whether no sum of some of these whole numbers leaves 64 bits."""
    bounds = pc.min_max(values)
    least, greatest = bounds["min"].as_py(), bounds["max"].as_py()
    return least is None or max(-least, greatest) * len(values) <= _LONG


def _floats(codes: pa.Array) -> pa.Array:
    """The numbers of which `comparable` made whole ones."""
    whole = codes.fill_null(0).to_numpy(zero_copy_only=False)
    bits = np.where(whole < 0, np.bitwise_xor(whole, np.iinfo(whole.dtype).max), whole)
    mask = codes.is_null().to_numpy(zero_copy_only=False) if codes.null_count else None
    return pa.array(bits.view(np.float32 if whole.dtype == np.int32 else np.float64), mask=mask)
