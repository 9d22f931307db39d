"""Columns of a data frame in a table's types, and columns computed from them in Python workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.functions import arrow_udf, col

from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import BUCKET
from paimon_sql.storage.columns.defaults import default_scalars, fill_defaults
from paimon_sql.storage.table.partitioning.routing import conform_batch


def column_of(
    schema: TableSchema, names: Sequence[str], function: Callable[[pa.RecordBatch], pa.Array], spark_type: str
) -> Column:
    """A column computed by a function from some columns of each batch, in the table's types."""
    conform = conformer(schema, names)

    def evaluate(*columns: pa.Array) -> pa.Array:
        return function(conform(columns))

    return arrow_udf(evaluate, spark_type)(*(col(quoted(n)) for n in names))


def conformer(schema: TableSchema, names: Sequence[str]) -> Callable[[Sequence[pa.Array]], pa.RecordBatch]:
    """A function that converts columns to the table's types and fills in defaults, as the writer does."""
    types = {f.name: arrow_type(f.type) for f in schema.fields} | {BUCKET.name: arrow_type(BUCKET.type)}
    target = pa.schema([pa.field(n, types[n]) for n in names])
    defaults = {n: v for n, v in default_scalars(schema.fields).items() if n in names}

    def conform(columns: Sequence[pa.Array]) -> pa.RecordBatch:
        batch = conform_batch(pa.RecordBatch.from_arrays(list(columns), names=list(names)), target)
        return fill_defaults(batch, defaults) if defaults else batch

    return conform


def quoted(name: str) -> str:
    """A column's name quoted for Spark."""
    return "`" + name.replace("`", "``") + "`"
