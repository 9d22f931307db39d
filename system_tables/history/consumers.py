"""``t$consumers``: the consumers with their next snapshots."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.format.schema.records import Long, Record, column
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import RecordTable, SystemTable


class Consumers(RecordTable[Table], SystemTable):
    """The consumers, by name."""

    summary = "One row per consumer."

    class Row(Record):
        consumer_id: str = column("name")
        next_snapshot_id: Long = column("snapshot that it reads next; this and later ones do not expire")

    def records(self, table: Table) -> Iterable[Row]:
        for name, c in table.consumers.all().items():
            yield self.Row(name, c.next_snapshot)
