"""``sys.tags``: the tags of all tables of the catalog."""

from __future__ import annotations

from paimon_sql.system_tables.every_table import OfAllTables, OfTable
from paimon_sql.system_tables.history.tags import Tags


class AllTags(OfAllTables):
    """The rows of ``t$tags`` of the main branch of every table ``t``; tables that cannot be read are omitted."""

    name = "tags"
    summary = "One row per tag of each table."
    of_one = Tags()

    class Row(Tags.Row, OfTable):
        """A tag, after the names of its table."""
