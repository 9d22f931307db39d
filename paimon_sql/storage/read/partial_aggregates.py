"""Rows put together by groups where they are read: partial aggregates, which whoever asked puts together once more.

A group comes up at most once for each portion of rows, so that memory is bounded by the portion and not by how many
groups there are. Where groups turn out to be nearly as many as rows, rows go on one by one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.arrow import arrow_type
from paimon_sql.format.types import BigIntType, DataType, DecimalType, DoubleType

_PORTION = 512 * 1024
"""Rows that are put together at a time."""
_WORTH_IT = 0.5
"""Groups a row from which on rows had better go on as they are."""
_WIDE = 37
"""Digits of sums: one less than there may be, which their differences take."""
MOST_DIGITS = _WIDE - 10
"""Digits of decimals whose sums have as many, however many rows there are."""
_LONG = 2**63 - 1
_ALL_BUT_SIGN = np.int64(2**63 - 1)


class PartialAggregate(ABC):
    """One aggregate: its inputs, each put together by a function of Arrow's, and what is made of them.

    A group of one row has its inputs for their aggregates.
    """

    @property
    @abstractmethod
    def type(self) -> DataType:
        """The type of the partial result."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that it looks at."""

    @abstractmethod
    def inputs(self, rows: pa.Table) -> list[tuple[pa.ChunkedArray, str]]:
        """Values of the rows, and the function that puts them together."""

    def result(self, found: Sequence[pa.Array]) -> pa.Array:
        """What the functions found, made one; it may be too great for the type."""
        return found[0]

    def fitting(self, result: pa.Array) -> tuple[pa.Array, pa.Array | None]:
        """As much of a result as the type holds, and what is left, which another row takes; None if it all fits."""
        return result, None

    @property
    def neutral(self) -> pa.Scalar:
        """The result that changes nothing."""
        return pa.scalar(None, arrow_type(self.type))


@dataclass(frozen=True)
class CountRows(PartialAggregate):
    """The number of rows."""

    @property
    def type(self) -> DataType:
        return BigIntType(False)

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    def inputs(self, rows: pa.Table) -> list[tuple[pa.ChunkedArray, str]]:
        return [(pa.chunked_array([pa.array(np.ones(len(rows), np.int64))]), "sum")]

    @property
    def neutral(self) -> pa.Scalar:
        return pa.scalar(0, pa.int64())


@dataclass(frozen=True)
class CountValues(CountRows):
    """The number of values that are not null."""

    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def inputs(self, rows: pa.Table) -> list[tuple[pa.ChunkedArray, str]]:
        return [(pc.is_valid(rows[self.column]).cast(pa.int64()), "sum")]


@dataclass(frozen=True)
class Sum(PartialAggregate):
    """The sum of floating-point numbers, or of whole ones that are so small that it cannot overflow."""

    column: str
    floating: bool

    @property
    def type(self) -> DataType:
        return DoubleType() if self.floating else BigIntType()

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def inputs(self, rows: pa.Table) -> list[tuple[pa.ChunkedArray, str]]:
        return [(rows[self.column].cast(arrow_type(self.type)), "sum")]


@dataclass(frozen=True)
class WideSum(PartialAggregate):
    """The sum of numbers of 64 bits, or of decimals, in their own type: what it does not hold goes to further rows."""

    column: str
    kind: BigIntType | DecimalType

    @property
    def type(self) -> DataType:
        return self.kind.as_nullable()

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def _scale(self) -> int:
        return self.kind.scale if isinstance(self.kind, DecimalType) else 0

    @property
    def _wide(self) -> pa.DataType:
        return pa.decimal128(_WIDE, self._scale)

    def inputs(self, rows: pa.Table) -> list[tuple[pa.ChunkedArray, str]]:
        return [(rows[self.column].cast(self._wide), "sum")]

    def result(self, found: Sequence[pa.Array]) -> pa.Array:
        return found[0].cast(self._wide)

    @property
    def neutral(self) -> pa.Scalar:
        return pa.scalar(None, self._wide)

    def fitting(self, result: pa.Array) -> tuple[pa.Array, pa.Array | None]:
        most = 10**self.kind.precision - 1 if isinstance(self.kind, DecimalType) else _LONG
        upper = pa.scalar(Decimal(most).scaleb(-self._scale), result.type)
        lower = pa.scalar(Decimal(-most).scaleb(-self._scale), result.type)
        held = pc.if_else(pc.greater(result, upper), upper, pc.if_else(pc.less(result, lower), lower, result))
        rest = None if held.equals(result) else pc.subtract(result, held).cast(result.type)
        return held.cast(arrow_type(self.kind)), rest


@dataclass(frozen=True)
class Extreme(PartialAggregate):
    """The least or the greatest value, of which NaN is the greatest there is."""

    column: str
    kind: DataType
    function: str

    @property
    def type(self) -> DataType:
        return self.kind.as_nullable()

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def inputs(self, rows: pa.Table) -> list[tuple[pa.ChunkedArray, str]]:
        values = rows[self.column]
        if pa.types.is_floating(values.type):
            values = pa.chunked_array([_ordered(chunk) for chunk in values.chunks], pa.int64())
        return [(values, self.function)]

    def result(self, found: Sequence[pa.Array]) -> pa.Array:
        wanted = arrow_type(self.kind)
        return _floating(found[0]).cast(wanted) if pa.types.is_floating(wanted) else found[0]


@dataclass(frozen=True)
class PartialAggregation:
    """Aggregates of groups, as an answer has them: first the columns of the groups, then the aggregates.

    Attributes:
        groups: the columns whose values make the groups; none puts all rows together.
        aggregates: what is told of each group.
    """

    groups: tuple[str, ...]
    aggregates: tuple[PartialAggregate, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that must be read; one at least, whose rows can be counted, unless there is none to choose."""
        return tuple(dict.fromkeys([*self.groups, *(c for a in self.aggregates for c in a.columns)]))

    def of(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Partial aggregates of rows; without groups at least one row of them, if only of no rows.

        Args:
            batches: rows with all `columns`.
        """
        held: list[pa.RecordBatch] = []
        waiting = 0
        grouped, empty = True, True
        for batch in batches:
            held.append(batch)
            waiting += batch.num_rows
            if waiting >= _PORTION:
                rows, held, waiting = pa.Table.from_batches(held), [], 0
                for made in self._portion(rows, grouped=grouped):
                    empty = False
                    yield made
                    grouped = grouped and made.num_rows < len(rows) * _WORTH_IT
        if waiting:
            yield from self._portion(pa.Table.from_batches(held), grouped=grouped)
        elif empty and not self.groups:
            yield from self._rows([], [pa.repeat(a.neutral, 1) for a in self.aggregates])

    def _portion(self, rows: pa.Table, *, grouped: bool) -> Iterator[pa.RecordBatch]:
        inputs = [a.inputs(rows) for a in self.aggregates]
        if grouped:
            keys = {f"k{i}": rows[name] for i, name in enumerate(self.groups)}
            values = {f"v{i}_{j}": array for i, parts in enumerate(inputs) for j, (array, _) in enumerate(parts)}
            wanted = [(f"v{i}_{j}", how) for i, parts in enumerate(inputs) for j, (_, how) in enumerate(parts)]
            found = pa.table({**keys, **values}).group_by(list(keys), use_threads=False).aggregate(wanted)
            groups = [_whole(found[name]) for name in keys]
            made = [
                a.result([_whole(found[f"v{i}_{j}_{how}"]) for j, (_, how) in enumerate(inputs[i])])
                for i, a in enumerate(self.aggregates)
            ]
        else:
            groups = [_whole(rows[name]) for name in self.groups]
            told = zip(self.aggregates, inputs, strict=True)
            made = [a.result([_whole(array) for array, _ in parts]) for a, parts in told]
        yield from self._rows(groups, made)

    def _rows(self, groups: list[pa.Array], made: list[pa.Array]) -> Iterator[pa.RecordBatch]:
        """The rows of an answer: further ones of the groups that have sums too great for one."""
        while True:
            parts = [a.fitting(result) for a, result in zip(self.aggregates, made, strict=True)]
            yield self._batch([*groups, *(held for held, _ in parts)])
            rests = [rest for _, rest in parts if rest is not None]
            if not rests:
                return
            left = np.logical_or.reduce([_is_left(rest) for rest in rests])
            groups = [g.filter(pa.array(left)) for g in groups]
            made = [
                pa.repeat(a.neutral, int(left.sum())) if rest is None else rest.filter(pa.array(left))
                for a, (_, rest) in zip(self.aggregates, parts, strict=True)
            ]

    def _batch(self, columns: list[pa.Array]) -> pa.RecordBatch:
        names = [*self.groups, *(f"aggregate_{i}" for i in range(len(self.aggregates)))]
        return pa.RecordBatch.from_arrays(columns, names=names)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks()


def _is_left(rest: pa.Array) -> npt.NDArray[np.bool_]:
    is_some = pc.not_equal(rest, pa.scalar(Decimal(0), rest.type))
    return np.asarray(pc.fill_null(is_some, False).to_numpy(zero_copy_only=False))


def _ordered(values: pa.Array) -> pa.Array:
    """Floating-point numbers as whole ones that stand in their order, NaN last."""
    numbers = pc.fill_null(values.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
    bits = np.where(np.isnan(numbers), np.nan, numbers).view(np.int64)
    mask = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    return pa.array(_flipped(bits), mask=mask)


def _floating(codes: pa.Array) -> pa.Array:
    bits = _flipped(pc.fill_null(codes, 0).to_numpy(zero_copy_only=False))
    mask = codes.is_null().to_numpy(zero_copy_only=False) if codes.null_count else None
    return pa.array(bits.view(np.float64), mask=mask)


def _flipped(bits: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """All bits but the sign turned over where the sign is set, which done twice changes nothing."""
    return bits ^ ((bits >> 63) & _ALL_BUT_SIGN)
