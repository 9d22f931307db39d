"""Partial aggregation of rows where they are read; the caller aggregates the partial results again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.types import BigIntType, DataType, DecimalType, DoubleType, is_floating
from paimon_sql.storage.expressions.kernels.sorting import combined, comparable

MOST_DIGITS = 32
"""Maximum precision of decimals that are summed: a sum over the rows that fit in memory then needs at most 38 digits.
"""
_LONG = 2**63 - 1
_EXACT = Context(prec=80, rounding=ROUND_DOWN)


@dataclass(frozen=True)
class Leftover:
    """The excess of sums over the range of their type: each value belongs to a further row of a group.

    Attributes:
        groups: index of the group of each value.
        values: the values to add to the group's sum.
    """

    groups: pa.Array
    values: pa.Array


class PartialAggregate(ABC):
    """One aggregate function, over at most one column.

    Partial results have one type, in which they are combined further: counts and sums are added, of extremes the
    extreme is taken.

    Attributes:
        function: the Arrow function that aggregates the `input`.
    """

    function: str

    @property
    @abstractmethod
    def label(self) -> str:
        """The SQL expression."""

    @property
    @abstractmethod
    def type(self) -> DataType:
        """The type of partial results."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads."""

    def input(self, rows: pa.Table) -> pa.ChunkedArray | pa.Array:
        """Return the values to aggregate, by default the partial results of single rows."""
        return self.alone(rows)

    def result(self, found: pa.Array) -> tuple[pa.Array, Leftover | None]:
        """Return partial results from Arrow's results per group, and the excess that their type cannot hold."""
        return found.cast(arrow_type(self.type)), None

    @abstractmethod
    def alone(self, rows: pa.Table) -> pa.ChunkedArray | pa.Array:
        """Return the partial results of rows that are groups of one row."""

    @property
    def neutral(self) -> pa.Scalar:
        """The neutral element: the partial result that changes no other."""
        return pa.scalar(None, arrow_type(self.type))


class _Count(PartialAggregate):
    """A number, 0 for nothing."""

    @property
    def type(self) -> DataType:
        return BigIntType(False)

    @property
    def neutral(self) -> pa.Scalar:
        return pa.scalar(0, pa.int64())


@dataclass(frozen=True)
class CountRows(_Count):
    """The number of rows."""

    function = "sum"

    @property
    def label(self) -> str:
        return "count(*)"

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    def alone(self, rows: pa.Table) -> pa.ChunkedArray | pa.Array:
        return pa.array(np.ones(len(rows), np.int64))


@dataclass(frozen=True)
class OfColumn(PartialAggregate):
    """An aggregate of one column."""

    column: str

    @property
    def label(self) -> str:
        return f"{self.function}({self.column})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def alone(self, rows: pa.Table) -> pa.ChunkedArray | pa.Array:
        return rows[self.column]


@dataclass(frozen=True)
class CountValues(OfColumn, _Count):
    """The number of values that are not null."""

    function = "count"

    def input(self, rows: pa.Table) -> pa.ChunkedArray | pa.Array:
        return rows[self.column]

    def alone(self, rows: pa.Table) -> pa.ChunkedArray | pa.Array:
        return pc.is_valid(rows[self.column]).cast(pa.int64())


@dataclass(frozen=True)
class Sum(OfColumn):
    """The sum of floating-point numbers, or of integers that are too small to overflow."""

    floating: bool
    function = "sum"

    @property
    def type(self) -> DataType:
        return DoubleType() if self.floating else BigIntType()

    def alone(self, rows: pa.Table) -> pa.ChunkedArray | pa.Array:
        return rows[self.column].cast(arrow_type(self.type))


@dataclass(frozen=True)
class WideSum(OfColumn):
    """The sum of 64-bit integers, or of decimals, in their own type.

    The excess over the type's range becomes further rows, so that nothing is lost or wraps around: the final addition
    of partial sums detects overflows like one over the rows themselves.
    """

    kind: BigIntType | DecimalType
    function = "sum"

    @property
    def type(self) -> DataType:
        return self.kind.as_nullable()

    def input(self, rows: pa.Table) -> pa.ChunkedArray | pa.Array:
        values = rows[self.column]
        is_wide = isinstance(self.kind, BigIntType) and not _sum_fits(values)
        return values.cast(pa.decimal128(19, 0)) if is_wide else values

    def result(self, found: pa.Array) -> tuple[pa.Array, Leftover | None]:
        if pa.types.is_integer(found.type):
            return found, None
        lower, upper = (pa.scalar(bound, found.type) for bound in self._bounds)
        beyond = pc.fill_null(pc.or_(pc.greater(found, upper), pc.less(found, lower)), False)
        leftover = None
        if pc.any(beyond).as_py():
            found, leftover = self._split(found, beyond)
        return found.cast(arrow_type(self.kind)), leftover

    @property
    def _bounds(self) -> tuple[Decimal, Decimal]:
        """The negated maximum of the type, and the maximum; both are in range."""
        maximum = Decimal(_LONG)
        if isinstance(self.kind, DecimalType):
            maximum = _EXACT.scaleb(Decimal(10**self.kind.precision - 1), -self.kind.scale)
        return maximum.copy_negate(), maximum

    def _split(self, found: pa.Array, beyond: pa.Array) -> tuple[pa.Array, Leftover]:
        (minimum, maximum), sums = self._bounds, found.filter(beyond).to_pylist()
        times = np.array([int(_EXACT.divide_int(s, maximum)) for s in sums], np.int64)
        remainders = pa.array([_EXACT.remainder(s, maximum) for s in sums], found.type)
        groups = np.repeat(np.flatnonzero(beyond.to_numpy(zero_copy_only=False)), np.abs(times))
        kind = arrow_type(self.kind)
        bounds = pa.array([minimum, maximum], found.type).cast(kind)
        values = bounds.take(pa.array(np.repeat(times > 0, np.abs(times)).astype(np.int64)))
        return pc.replace_with_mask(found, beyond, remainders), Leftover(pa.array(groups), values)


@dataclass(frozen=True)
class Extreme(OfColumn):
    """The minimum (``min``) or maximum (``max``); NaN is greater than all numbers."""

    kind: DataType
    function: str

    @property
    def type(self) -> DataType:
        return self.kind.as_nullable()

    def input(self, rows: pa.Table) -> pa.ChunkedArray | pa.Array:
        values = rows[self.column]
        return comparable(values) if is_floating(self.kind) else values

    def result(self, found: pa.Array) -> tuple[pa.Array, Leftover | None]:
        return (_floats(found), None) if is_floating(self.kind) else super().result(found)


def _sum_fits(values: pa.ChunkedArray) -> bool:
    """Whether no partial sum of these integers can exceed 64 bits."""
    bounds = pc.min_max(values)
    minimum, maximum = bounds["min"].as_py(), bounds["max"].as_py()
    return minimum is None or max(-minimum, maximum) * len(values) <= _LONG


def _floats(codes: pa.Array) -> pa.Array:
    """Invert `comparable` for floating-point numbers."""
    integers = codes.fill_null(0).to_numpy(zero_copy_only=False)
    bits = np.where(integers < 0, np.bitwise_xor(integers, np.iinfo(integers.dtype).max), integers)
    mask = codes.is_null().to_numpy(zero_copy_only=False) if codes.null_count else None
    return pa.array(bits.view(np.float32 if integers.dtype == np.int32 else np.float64), mask=mask)


_PORTION_ROWS = 512 * 1024
"""Maximum rows per portion."""
_PORTION_BYTES = 64 * 1024 * 1024
"""Maximum bytes per portion, which bounds portions with long strings."""
_WORTH_IT = 0.5
"""Ratio of groups to rows from which rows are passed on unaggregated."""
_BATCH_ROWS = 64 * 1024


@dataclass(frozen=True)
class PartialAggregation:
    """Aggregates of groups; a result has the columns of the groups, then the aggregates.

    A group occurs at most once per portion of rows, apart from sums that exceed their type, so that memory is bounded
    by the portion and not by the number of groups. If there are nearly as many groups as rows, rows are passed on
    unaggregated.

    Attributes:
        groups: the grouping columns; none makes all rows one group.
        aggregates: the aggregates of each group.
    """

    groups: tuple[str, ...]
    aggregates: tuple[PartialAggregate, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read."""
        return tuple(dict.fromkeys([*self.groups, *(c for a in self.aggregates for c in a.columns)]))

    @property
    def names(self) -> tuple[str, ...]:
        """Distinct names of a result's columns: a column may have the name of an aggregate."""
        names: list[str] = []
        for name in (*self.groups, *(a.label for a in self.aggregates)):
            while name in names:
                name += "'"
            names.append(name)
        return tuple(names)

    def __str__(self) -> str:
        aggregates = ", ".join(a.label for a in self.aggregates)
        if not self.groups:
            return f"aggregates {aggregates}"
        return f"groups by {', '.join(self.groups)}{f': {aggregates}' if aggregates else ''}"

    def of(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield partial aggregates of rows; without groups at least one row, even without input.

        Groups may repeat, and NaNs and zeros of several kinds are separate groups.

        Args:
            batches: rows with all `columns`.
        """
        worth_it = empty = True
        portion = _Portion()
        for batch in batches:
            empty = empty and not batch.num_rows
            if not worth_it:
                yield self._alone(batch)
                continue
            portion.add(batch)
            if portion.is_full:
                aggregated = self._aggregate(portion.table())
                yield from _in_batches(aggregated)
                worth_it = sum(b.num_rows for b in aggregated) < portion.rows * _WORTH_IT
                portion = _Portion()
        if portion.rows:
            yield from _in_batches(self._aggregate(portion.table()))
        elif empty and not self.groups:
            yield self._batch([pa.repeat(a.neutral, 1) for a in self.aggregates])

    def _alone(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows as groups of one row."""
        table = pa.Table.from_batches([rows])
        return self._batch([*(table[name] for name in self.groups), *(a.alone(table) for a in self.aggregates)])

    def _aggregate(self, rows: pa.Table) -> list[pa.RecordBatch]:
        """Return a row per group, and further ones for sums that exceed their type."""
        keys = {f"k{i}": rows[name] for i, name in enumerate(self.groups)}
        values = {f"v{i}": aggregate.input(rows) for i, aggregate in enumerate(self.aggregates)}
        wanted = [(f"v{i}", aggregate.function) for i, aggregate in enumerate(self.aggregates)]
        found = pa.TableGroupBy(pa.table(keys | values), list(keys), use_threads=False).aggregate(wanted)
        groups = [combined(found[name]) for name in keys]
        results = [a.result(combined(found[f"v{i}_{a.function}"])) for i, a in enumerate(self.aggregates)]
        further = [self._further(groups, i, left) for i, (_, left) in enumerate(results) if left is not None]
        return [self._batch([*groups, *(result for result, _ in results)]), *further]

    def _further(self, groups: Sequence[pa.Array], aggregate: int, left: Leftover) -> pa.RecordBatch:
        """Return rows for the excess of one aggregate, with neutral values of the others."""
        others = [pa.repeat(a.neutral, len(left.values)) for a in self.aggregates]
        others[aggregate] = left.values
        return self._batch([*(g.take(left.groups) for g in groups), *others])

    def _batch(self, columns: Iterable[pa.ChunkedArray | pa.Array]) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([combined(c) for c in columns], names=self.names)


class _Portion:
    """Rows that are aggregated together."""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0
        self.rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self._batches.append(batch)
        self._bytes += batch.nbytes
        self.rows += batch.num_rows

    @property
    def is_full(self) -> bool:
        return self.rows >= _PORTION_ROWS or self._bytes >= _PORTION_BYTES

    def table(self) -> pa.Table:
        return pa.Table.from_batches(self._batches)


def _in_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Split batches to the size in which files are read."""
    for batch in batches:
        for start in range(0, batch.num_rows, _BATCH_ROWS):
            yield batch.slice(start, _BATCH_ROWS)
