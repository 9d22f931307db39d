"""``sys.consumers``: the consumers of all tables of the catalog."""

from __future__ import annotations

from paimon_sql.system_tables.every_table import OfAllTables, OfTable
from paimon_sql.system_tables.history.consumers import Consumers


class AllConsumers(OfAllTables):
    """The rows of ``t$consumers`` of the main branch of every table ``t``; tables that cannot be read are omitted."""

    name = "consumers"
    summary = "One row per consumer of each table."
    of_one = Consumers()

    class Row(Consumers.Row, OfTable):
        """A consumer, after the names of its table."""
