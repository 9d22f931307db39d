"""Sort orders: top-n push-down, and Catalyst's order of an attribute."""

from __future__ import annotations

from typing import Any

from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.spark.conversion.references import column_of
from paimon_sql.spark.jvm.gateway import CATALYST, Jvm
from paimon_sql.storage.scan.selection.top_n import TopN


def first_in_order(orders: Any, limit: int, schema: TableSchema) -> TopN | None:
    """The top-n of a query; None if its first order is not by a column.

    Args:
        orders: Spark's ``SortOrder``s.
        limit: the number of rows.
        schema: the schema of the table.
    """
    first = orders[0]
    name = column_of(first.expression())
    if name is None or name not in schema.names:
        return None
    descending = first.direction().name() == "DESCENDING"
    return TopN(name, descending, first.nullOrdering().name() == "NULLS_FIRST", limit, alone=len(orders) == 1)


def ascending(jvm: Jvm, attribute: Any) -> Any:
    """Catalyst's ascending order by an attribute, which sort-merge joins require."""
    direction = jvm.singleton(f"{CATALYST}.expressions.Ascending")
    return jvm.singleton(f"{CATALYST}.expressions.SortOrder").apply(attribute, direction, jvm.seq([]))
