"""``t$branches``: the branches without main."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.format.schema.records import Record, Timestamp, column
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import RecordTable, SystemTable
from paimon_sql.system_tables.formatting import wall_clock


class Branches(RecordTable[Table], SystemTable):
    """All branches of the table, by name, except main."""

    summary = "One row per branch."

    class Row(Record):
        branch_name: str = column("name; main is not listed")
        create_time: Timestamp = column("when it was created")

    def records(self, table: Table) -> Iterable[Row]:
        for b in table.branches.all():
            yield self.Row(b.name, wall_clock(b.time_millis))
