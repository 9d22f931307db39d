"""``t$aggregation_fields``: the columns of a table with their options."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import string_type
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import SystemTable, column


class AggregationFields(SystemTable):
    """The columns as they are now, with the options ``fields.<name>.*`` of each."""

    name = "aggregation_fields"
    summary = "One row per column of the table."
    columns = (
        column("field_name", string_type(False), "the column"),
        column("field_type", string_type(False), "its type"),
        column("function", string_type(), "the values of its options fields.<name>.*"),
        column("function_options", string_type(), "the keys of those options"),
        column("comment", string_type(), "its comment"),
    )

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        found = []
        for f in table.schema.fields:
            prefix = f"fields.{f.name}."
            given = {k: v for k, v in table.schema.options.items() if k.startswith(prefix)}
            values, keys = (f"[{', '.join(strings)}]" for strings in (given.values(), given.keys()))
            found.append((f.name, f.type.sql(), values, keys, f.description))
        columns = zip(*found, strict=True)
        schema = arrow_schema(self.columns)
        return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
