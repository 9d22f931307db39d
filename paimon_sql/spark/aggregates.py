"""Aggregates that a scan answers: the number of all rows, or those of groups, which Spark puts together once more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from paimon_sql.format import types as t
from paimon_sql.format.types import BigIntType, DataField
from paimon_sql.spark.java import Jvm
from paimon_sql.storage.read.partial_aggregates import (
    MOST_DIGITS,
    CountRows,
    CountValues,
    Extreme,
    PartialAggregate,
    PartialAggregation,
    Sum,
    WideSum,
)
from paimon_sql.storage.read.task import ReadTask

COUNT = (DataField(-1, "count(*)", BigIntType(False)),)
_SMALL = (t.TinyIntType, t.SmallIntType, t.IntType)
_FLOATING = (t.FloatType, t.DoubleType)
_ORDERED = (
    *_SMALL,
    *_FLOATING,
    t.BigIntType,
    t.DecimalType,
    t.BooleanType,
    t.DateType,
    t.TimestampType,
    t.LocalZonedTimestampType,
    t.VarCharType,
    t.VarBinaryType,
)


def is_count(jvm: Jvm, aggregation: Any) -> bool:
    """Whether an aggregation is nothing but the number of rows."""
    show = jvm.static("org.apache.commons.lang3.ArrayUtils", "toString")
    # A column of that name would stand in back-quotes.
    functions, groups = aggregation.aggregateExpressions(), aggregation.groupByExpressions()
    return bool(show(functions) == "{COUNT(*)}" and show(groups) == "{}")


def partial_aggregation(aggregation: Any, fields: Sequence[DataField]) -> PartialAggregation | None:
    """What Spark asks of groups, as far as readers can put rows together; None if they cannot.

    Args:
        aggregation: Spark's ``Aggregation``.
        fields: the columns of the table.
    """
    known = {f.name: f for f in fields}
    groups = [_column(e, known) for e in aggregation.groupByExpressions()]
    aggregates = [_aggregate(e, known) for e in aggregation.aggregateExpressions()]
    names, made = [g.name for g in groups if g is not None], [a for a in aggregates if a is not None]
    if len(names) < len(groups) or len(made) < len(aggregates):
        return None
    if not all(isinstance(known[name].type, _ORDERED) and not _is_floating(known[name]) for name in names):
        return None
    return PartialAggregation(tuple(names), tuple(made))


def answer_fields(aggregation: PartialAggregation, fields: Sequence[DataField]) -> tuple[DataField, ...]:
    """The columns of an answer: those of the groups and one of each aggregate."""
    known = {f.name: f for f in fields}
    made = (DataField(-1, f"aggregate_{i}", a.type) for i, a in enumerate(aggregation.aggregates))
    return (*(known[name] for name in aggregation.groups), *made)


def _column(expression: Any, known: dict[str, DataField]) -> DataField | None:
    """The column that an expression is; None if it is another."""
    if expression.getClass().getSimpleName() != "FieldReference":
        return None
    names = list(expression.fieldNames())
    return known.get(names[0]) if len(names) == 1 else None


def _aggregate(function: Any, known: dict[str, DataField]) -> PartialAggregate | None:
    kind = function.getClass().getSimpleName()
    if kind == "CountStar":
        return CountRows()
    if kind not in ("Count", "Sum", "Min", "Max") or (kind in ("Count", "Sum") and function.isDistinct()):
        return None
    column = _column(function.children()[0], known)
    if column is None:
        return None
    if kind == "Count":
        return CountValues(column.name)
    if kind == "Sum":
        return _sum(column)
    return Extreme(column.name, column.type, kind.lower()) if isinstance(column.type, _ORDERED) else None


def _sum(column: DataField) -> PartialAggregate | None:
    if isinstance(column.type, (*_SMALL, *_FLOATING)):
        return Sum(column.name, _is_floating(column))
    if isinstance(column.type, t.DecimalType) and column.type.precision > MOST_DIGITS:
        return None
    return WideSum(column.name, column.type) if isinstance(column.type, (t.BigIntType, t.DecimalType)) else None


def _is_floating(column: DataField) -> bool:
    return isinstance(column.type, _FLOATING)


@dataclass(frozen=True)
class CountTask:
    """Counts what a read task would read; the answer is one row."""

    task: ReadTask

    def batches(self) -> Iterator[pa.RecordBatch]:
        """One batch of one row, the number of rows."""
        yield pa.RecordBatch.from_pydict({COUNT[0].name: pa.array([self.count()], pa.int64())})

    def count(self) -> int:
        """The number of rows."""
        return sum(batch.num_rows for batch in self.task.batches())


@dataclass(frozen=True)
class AggregateTask:
    """Puts the rows of a read task together by groups."""

    task: ReadTask
    aggregation: PartialAggregation

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Partial aggregates."""
        return self.aggregation.of(self.task.batches())
