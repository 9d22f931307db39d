"""Aggregate push-down: the count of all rows, or partial aggregates of groups, which Spark merges."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.types import BigIntType, DataField
from paimon_sql.spark.conversion.references import column_of
from paimon_sql.spark.java.connector import Aggregation, ConnectorExpression
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.storage.expressions.partial_aggregation import (
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
JUST_COUNT = PartialAggregation((), (CountRows(),))
"""The number of all rows."""
_CALL = r"(?:COUNT\(\*\)|(?:MIN|MAX|COUNT)\(\w+\))"
_SIMPLE = re.compile(rf"\{{(?:{_CALL}(?:,{_CALL})*)?\}}\{{(?:\w+(?:,\w+)*)?\}}")
_CONSTANT = re.compile(r"\d+|true|false|null|nan|infinity", re.IGNORECASE)
_MAKERS: dict[str, Callable[[str, t.DataType], PartialAggregate]] = {
    "COUNT": lambda name, _: CountValues(name),
    "MIN": lambda name, kind: Extreme(name, kind, "min"),
    "MAX": lambda name, kind: Extreme(name, kind, "max"),
}
_SMALL = (t.TinyIntType, t.SmallIntType, t.IntType)


def simple_aggregation(jvm: Jvm, aggregation: Aggregation, fields: Sequence[DataField]) -> PartialAggregation | None:
    """An aggregation of only COUNT, MIN and MAX, parsed from its string, which saves round trips.

    None if it has anything else, such as names that must be quoted.
    """
    show = jvm.static("org.apache.commons.lang3.ArrayUtils", "toString")
    functions, groups = str(show(aggregation.aggregateExpressions())), str(show(aggregation.groupByExpressions()))
    if not _SIMPLE.fullmatch(f"{functions}{groups}"):
        return None
    # In the string a constant looks like a column of that name.
    known = {f.name: f.type for f in fields if not _CONSTANT.fullmatch(f.name)}
    names = re.findall(r"\w+", groups)
    calls = re.findall(r"(\w+)\((\*|\w+)\)", functions)
    if not known.keys() >= {*names, *(name for _, name in calls if name != "*")}:
        return None
    aggregates = [CountRows() if name == "*" else _MAKERS[what](name, known[name]) for what, name in calls]
    return PartialAggregation(tuple(names), tuple(aggregates))


def sums_for_averages(aggregation: Aggregation, fields: Sequence[DataField]) -> bool:
    """Whether all averages of an aggregation may be computed from sums and counts.

    Spark averages BIGINTs as floating-point numbers. With push-down it divides their sum by their count instead, and
    the sum may overflow.

    Args:
        aggregation: Spark's ``Aggregation``, before it replaces averages.
        fields: the columns of the table.
    """
    known = {f.name: f for f in fields}
    averages = [f for f in aggregation.aggregateExpressions() if f.getClass().getSimpleName() == "Avg"]
    columns = [_column(f.children()[0], known) for f in averages]
    return not any(c is None or isinstance(c.type, t.BigIntType) for c in columns)


def partial_aggregation(aggregation: Aggregation, fields: Sequence[DataField]) -> PartialAggregation | None:
    """The partial aggregation of Spark's; None if readers cannot compute it.

    Args:
        aggregation: Spark's ``Aggregation``; functions with DISTINCT or FILTER are never pushed down.
        fields: the columns of the table.
    """
    known = {f.name: f for f in fields}
    groups = [_column(e, known) for e in aggregation.groupByExpressions()]
    aggregates = [_aggregate(e, known) for e in aggregation.aggregateExpressions()]
    names, made = [g.name for g in groups if g is not None], [a for a in aggregates if a is not None]
    if len(names) < len(groups) or len(made) < len(aggregates):
        return None
    if not all(t.is_ordered(known[name].type) for name in names):
        return None
    found = PartialAggregation(tuple(names), tuple(made))
    # Batches without columns would lose the number of rows.
    return found if found.columns else None


def answer_fields(aggregation: PartialAggregation, fields: Sequence[DataField]) -> tuple[DataField, ...]:
    """The columns of an answer: those of the groups, then one per aggregate.

    VARCHAR becomes a string: Spark uses the types unchanged, and its expressions do not support VARCHAR.
    """
    known = {f.name: f for f in fields}
    types = [*(known[name].type for name in aggregation.groups), *(a.type for a in aggregation.aggregates)]
    plain = [t.string_type(kind.nullable) if isinstance(kind, t.VarCharType) else kind for kind in types]
    return tuple(DataField(-1, name, kind) for name, kind in zip(aggregation.names, plain, strict=True))


def _column(expression: ConnectorExpression, known: dict[str, DataField]) -> DataField | None:
    """The column that an expression refers to; None for other expressions."""
    name = column_of(expression)
    return None if name is None else known.get(name)


def _aggregate(function: ConnectorExpression, known: dict[str, DataField]) -> PartialAggregate | None:
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
    return Extreme(column.name, column.type, kind.lower()) if t.is_ordered(column.type) else None


def _sum(column: DataField) -> PartialAggregate | None:
    if isinstance(column.type, _SMALL) or t.is_floating(column.type):
        return Sum(column.name, t.is_floating(column.type))
    if isinstance(column.type, t.DecimalType) and column.type.precision > MOST_DIGITS:
        return None
    return WideSum(column.name, column.type) if isinstance(column.type, (t.BigIntType, t.DecimalType)) else None


@dataclass(frozen=True)
class CountTask:
    """Counts the rows of a read task; the answer is one row."""

    task: ReadTask

    def batches(self) -> Iterator[pa.RecordBatch]:
        """One batch with one row: the count."""
        yield pa.RecordBatch.from_pydict({COUNT[0].name: pa.array([self.count()], pa.int64())})

    def count(self) -> int:
        """The number of rows."""
        return sum(batch.num_rows for batch in self.task.batches())


@dataclass(frozen=True)
class AggregateTask:
    """Aggregates the rows of a read task by group."""

    task: ReadTask
    aggregation: PartialAggregation

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The partial aggregates."""
        return self.aggregation.of(self.task.batches())
