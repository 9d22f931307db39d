"""``t$options``: the stored table options."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.format.schema.records import Record, column
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import RecordTable, SystemTable


class Options(RecordTable[Table], SystemTable):
    """The stored options; options of a session or statement are not included."""

    summary = "One row per table option that is set."

    class Row(Record):
        key: str = column("name of the option")
        value: str = column("its value")

    def records(self, table: Table) -> Iterable[Row]:
        latest = table.schemas.latest() or table.schema
        for key, value in latest.options.items():
            yield self.Row(key, value)
