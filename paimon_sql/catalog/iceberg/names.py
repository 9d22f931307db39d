"""How a table is called in a catalog of Iceberg's."""

from __future__ import annotations

from paimon_sql.format.options.table.iceberg import METADATA_ICEBERG_DATABASE, METADATA_ICEBERG_TABLE
from paimon_sql.storage.table.table import Table


def databases_of(table: Table) -> list[str]:
    """The databases that the table is in: its own, unless ``metadata.iceberg.database`` names others."""
    said: str = table.options.get(METADATA_ICEBERG_DATABASE) or ""
    return [part.strip() for part in said.split(";") if part.strip()] or [_parts(table)[0]]


def name_in_catalog(table: Table) -> str:
    """The table's name there: its own, unless ``metadata.iceberg.table`` gives another."""
    return table.options.get(METADATA_ICEBERG_TABLE) or _parts(table)[1]


def _parts(table: Table) -> tuple[str, str]:
    rest, _, name = table.name.rpartition(".")
    return rest.rpartition(".")[2], name
