"""``t$branches``: the branches without main."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import TimestampType, string_type
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import SystemTable, column
from paimon_sql.system_tables.clock import wall_clock


class Branches(SystemTable):
    """The branches of the table, by name, whichever of them is asked; main is not listed."""

    name = "branches"
    summary = "One row per branch."
    columns = (
        column("branch_name", string_type(False), "name; main is not listed"),
        column("create_time", TimestampType(False, 3), "when it was made"),
    )

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        found = [{"branch_name": b.name, "create_time": wall_clock(b.time_millis)} for b in table.branches.all()]
        return pa.Table.from_pylist(found, schema=arrow_schema(self.columns))
