"""The reference of the system tables."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from paimon_sql.shell.reference.markdown import code, sentence, table
from paimon_sql.system_tables import ScannedTable, SystemTable, TableView, scanned_tables, system_tables, table_views

_HEAD = (
    "# System tables",
    "",
    "The tables `t$name` of a table `t`. What they are good for shows [System tables](../system-tables.md).",
)


def system_tables_page() -> str:
    """All system tables, with their columns where these do not depend on the table."""
    found = sorted((system_tables() | scanned_tables() | table_views()).items())
    return "\n".join([*_HEAD, *(line for _, t in found for line in _section(t))]) + "\n"


def _section(system_table: SystemTable | ScannedTable | TableView) -> Iterator[str]:
    yield from ("", f"## {system_table.name}", "", system_table.summary, "", inspect.getdoc(type(system_table)) or "")
    if not isinstance(system_table, SystemTable):
        return
    rows = ((code(c.name), c.type.as_nullable().sql(), sentence(c.description or "")) for c in system_table.columns)
    yield from table(("column", "type", "meaning"), rows)
