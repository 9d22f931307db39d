"""``t$ro``: the rows of the last full compaction, read without merging."""

from __future__ import annotations

from dataclasses import replace

from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import TableView


class ReadOptimized(TableView):
    """The max level of a primary-key table; all files of an append table."""

    name = "ro"
    summary = "The rows of the last full compaction, read without merging."

    def of(self, table: Table) -> Table:
        return replace(table, read_optimized=True)
