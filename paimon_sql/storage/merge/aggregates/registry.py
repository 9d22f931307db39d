"""Registry of aggregate functions by name, and the functions of a table's columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pyarrow as pa

from paimon_sql.discovery import by_name
from paimon_sql.errors import UnsupportedError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.merge_engine import FIELD_AGG_FUNCTION, FIELDS_DEFAULT_AGG_FUNCTION
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.merge.aggregates.base import AggregateFunction
from paimon_sql.storage.merge.aggregates.functions.first_last import LastNonNullValue, LastValue, PrimaryKey
from paimon_sql.storage.merge.sequence import sequence_fields

FUNCTIONS = by_name("paimon_sql.storage.merge.aggregates.functions", AggregateFunction)


def aggregation_functions(schema: TableSchema) -> dict[str, AggregateFunction]:
    """Return the function of each column of a table with the merge engine ``aggregation``.

    Key columns and sequence fields have fixed functions; others the one set for them,
    ``fields.default-aggregate-function``, or ``last_non_null_value``.
    """
    options = TableOptions(schema.options)
    ordering = {name for name, _ in sequence_fields(schema.options)}
    found: dict[str, AggregateFunction] = {}
    for column in schema.fields:
        if column.name in ordering:
            found[column.name] = LastValue(column, options)
        elif column.name in schema.primary_keys:
            found[column.name] = PrimaryKey(column, options)
        else:
            found[column.name] = _named(column, options) or LastNonNullValue(column, options)
    return found


def group_functions(schema: TableSchema, ordering: Collection[str]) -> dict[str, AggregateFunction]:
    """Return the functions of a partial-update table, of the columns that have one.

    Args:
        schema: the schema of the table.
        ordering: the sequence columns of sequence groups, which have no function.
    """
    options = TableOptions(schema.options)
    columns = [f for f in schema.fields if f.name not in ordering and f.name not in schema.primary_keys]
    functions = {f.name: _named(f, options) for f in columns}
    return {name: function for name, function in functions.items() if function is not None}


def with_stored_values(rows: pa.RecordBatch, functions: Mapping[str, AggregateFunction]) -> pa.RecordBatch:
    """Return input rows with the values that the functions store."""
    for i, name in enumerate(rows.schema.names):
        if name in functions:
            column = rows.column(i)
            stored = functions[name].lift(column)
            if stored is not column:
                rows = rows.set_column(i, rows.schema.field(i), stored)
    return rows


def _named(column: DataField, options: TableOptions) -> AggregateFunction | None:
    name = options.get(FIELD_AGG_FUNCTION, column.name) or options.get(FIELDS_DEFAULT_AGG_FUNCTION)
    if name is None:
        return None
    if name not in FUNCTIONS:
        raise UnsupportedError(
            f"Unknown aggregate function '{name}' of column '{column.name}'.",
            remedy=f"Use one of {', '.join(sorted(FUNCTIONS))}.",
        )
    return FUNCTIONS[name](column, options)
