"""Reference page of the system tables."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from paimon_sql.shell.reference.markdown import code, sentence, table
from paimon_sql.system_tables import (
    CatalogTable,
    ScannedTable,
    SystemTable,
    TableView,
    catalog_tables,
    scanned_tables,
    system_tables,
    table_views,
)

_HEAD = (
    "# System tables",
    "",
    "The tables `t$name` of a table `t`. What they are good for shows [System tables](../system-tables.md).",
)
_OF_CATALOGS = ("", "# Tables of the database sys", "", "Their rows are about a whole catalog.")


def system_tables_page() -> str:
    """The page: system tables, with their columns unless these depend on the table."""
    found = sorted((system_tables() | scanned_tables() | table_views()).items())
    of_tables = (line for _, t in found for line in _section(t))
    of_catalogs = (line for t in catalog_tables().values() for line in _section(t))
    return "\n".join([*_HEAD, *of_tables, *_OF_CATALOGS, *of_catalogs]) + "\n"


def _section(system_table: SystemTable | ScannedTable | TableView | CatalogTable) -> Iterator[str]:
    name = f"sys.{system_table.name}" if isinstance(system_table, CatalogTable) else system_table.name
    yield from ("", f"## {name}", "", system_table.summary, "", inspect.getdoc(type(system_table)) or "")
    if not isinstance(system_table, SystemTable | CatalogTable):
        return
    rows = ((code(c.name), c.type.as_nullable().sql(), sentence(c.description or "")) for c in system_table.columns)
    yield from table(("column", "type", "meaning"), rows)
