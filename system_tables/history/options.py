"""``t$options``: the stored table options."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import string_type
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import SystemTable, column


class Options(SystemTable):
    """The stored options; those of a session or statement are not among them."""

    name = "options"
    summary = "One row per table option that is set."
    columns = (
        column("key", string_type(False), "name of the option"),
        column("value", string_type(False), "its value"),
    )

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        latest = table.schemas.latest() or table.schema
        found = [{"key": key, "value": value} for key, value in latest.options.items()]
        return pa.Table.from_pylist(found, schema=arrow_schema(self.columns))
