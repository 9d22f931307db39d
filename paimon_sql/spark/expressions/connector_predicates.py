"""Translation of the connector predicates of an overwrite (Spark: `Predicate`) to predicates on partitions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.storage.expressions.predicates import And, Comparison, In, IsNull, Or, Predicate, all_of

_COMPARISONS = {"=", "<", "<=", ">", ">=", "<=>"}


def partition_condition(table: AnyTable, conditions: Iterable[Any]) -> Predicate | None:
    """The predicate on partitions that is the conjunction of conditions; None if there is no condition.

    Raises:
        InvalidInputError: a condition uses other columns, or cannot be evaluated on partitions.
    """
    return all_of([_translate(table, c) for c in conditions if c.name() != "ALWAYS_TRUE"])


def _translate(table: AnyTable, condition: Any) -> Predicate:
    name, children = condition.name(), list(condition.children())
    if name == "AND":
        return And(tuple(_translate(table, c) for c in children))
    if name == "OR":
        return Or(tuple(_translate(table, c) for c in children))
    if name in ("IS_NULL", "IS_NOT_NULL"):
        return IsNull(_column(table, children[0], condition), negated=name == "IS_NOT_NULL")
    if name == "NOT" and (inner := _translate(table, children[0]).negate()) is not None:
        return inner
    if name in _COMPARISONS:
        column = _column(table, children[0], condition)
        value = _value(table, column, children[1])
        if value.as_py() is None:
            return IsNull(column)
        return Comparison(column, "=" if name == "<=>" else name, value)
    if name == "IN":
        column = _column(table, children[0], condition)
        values = [_value(table, column, c).as_py() for c in children[1:]]
        return In(column, pa.array(values, arrow_type(table.schema.field(column).type)))
    raise _refused(table, condition)


def _column(table: AnyTable, reference: Any, condition: Any) -> str:
    names = list(reference.fieldNames()) if hasattr(reference, "fieldNames") else []
    if len(names) != 1 or names[0] not in table.schema.partition_keys:
        raise _refused(table, condition)
    return str(names[0])


def _value(table: AnyTable, column: str, literal: Any) -> pa.Scalar:
    target = arrow_type(table.schema.field(column).type)
    value = literal.value()
    if value is None:
        return pa.scalar(None, target)
    kind = json.loads(literal.dataType().json())
    if kind == "date":
        return pa.scalar(date(1970, 1, 1) + timedelta(days=value), target)
    if kind in ("timestamp", "timestamp_ntz"):
        return pa.scalar(value, pa.int64()).cast(pa.timestamp("us")).cast(target)
    if isinstance(kind, str) and kind.startswith("decimal"):
        return pa.scalar(Decimal(str(value)), target)
    if isinstance(value, (bool, int, float, bytes)):
        return pa.scalar(value, target)
    return pa.scalar(value.toString(), pa.string()).cast(target)


def _refused(table: AnyTable, condition: Any) -> InvalidInputError:
    return InvalidInputError(
        f"{table.name}: an overwrite replaces whole partitions, and {condition.describe()} does not tell which.",
        remedy=f"Use the partition columns {list(table.schema.partition_keys)} with constants, or DELETE and INSERT.",
    )
