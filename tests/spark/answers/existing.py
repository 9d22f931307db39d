"""Tables that are there already, such as those that Java wrote: asked with the values that they hold."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from tests.spark.answers.queries import Asker, Columns
from tests.spark.answers.story import Check
from tests.spark.answers.values import KINDS, Kind, quoted

_NUMBERS = ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_ORDERED = (*_NUMBERS, "date", "binary", "string", "timestamp")


def check_of(spark: SparkSession, table: str, chance: Random, queries: int) -> Check | None:
    """Queries of a table with the values that it holds; None if it has no column that can be compared.

    Args:
        spark: the session.
        table: the table, as FROM names it.
        chance: what decides.
        queries: how many queries there are.
    """
    frame = spark.sql(f"SELECT * FROM {table}")
    rows, columns = frame.limit(200).toArrow(), _columns(frame.schema)
    kinds: Columns = {}
    for name, kind in columns.items():
        values = {_literal(value, kind) for value in _values(rows.column(name))} - {None}
        known = KINDS.get(kind.upper())
        own = list(known.literals) if known is not None and not chance.randint(0, 3) else []
        literals = [v for v in (*sorted(map(str, values)), *own) if v]
        if literals:
            is_ordered = kind.startswith(_ORDERED)
            kinds[f"`{name}`"] = Kind(kind.upper(), literals, is_ordered, is_fixed=True)
    ordered = [name for name, kind in kinds.items() if kind.is_ordered]
    if not ordered:
        return None
    asker = Asker(chance, kinds)
    return Check(table, (), tuple(asker.query() for _ in range(queries)))


def _columns(schema: StructType) -> dict[str, str]:
    return {f.name: f.dataType.simpleString() for f in schema.fields}


def _values(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    values: list[Any] = column.to_pylist()
    return values


def _literal(value: Any, kind: str) -> str | None:
    """A value as SQL writes it; None for those that are not compared."""
    if value is None or not kind.startswith(_ORDERED):
        return None
    if kind == "string":
        return quoted(value)
    if kind == "binary":
        return f"X'{value.hex()}'"
    if kind == "timestamp":
        return f"timestamp_micros({value})"
    if kind == "timestamp_ntz":
        return f"(TIMESTAMP_NTZ '1970-01-01' + make_dt_interval(0, 0, 0, {value} / CAST(1000000 AS DECIMAL(20, 0))))"
    return f"CAST('{value}' AS {kind})"
