"""``sys.snapshots``: the snapshots of all tables of the catalog."""

from __future__ import annotations

from paimon_sql.system_tables.every_table import OfAllTables, OfTable
from paimon_sql.system_tables.history.snapshots import Snapshots


class AllSnapshots(OfAllTables):
    """The rows of ``t$snapshots`` of the main branch of every table ``t``; tables that cannot be read are omitted."""

    name = "snapshots"
    summary = "One row per retained snapshot of each table."
    of_one = Snapshots()

    class Row(Snapshots.Row, OfTable):
        """A snapshot, after the names of its table."""
