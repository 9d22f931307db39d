"""Names of a table in Iceberg's catalogs."""

from __future__ import annotations

from paimon_sql.format.options.table.iceberg import METADATA_ICEBERG_DATABASE, METADATA_ICEBERG_TABLE
from paimon_sql.storage.table.table import Table


def databases_of(table: Table) -> list[str]:
    """The databases of the table: those of ``metadata.iceberg.database``, by default its own."""
    names: str = table.options.get(METADATA_ICEBERG_DATABASE) or ""
    return [part.strip() for part in names.split(";") if part.strip()] or [_parts(table)[0]]


def name_in_catalog(table: Table) -> str:
    """The name of the table: that of ``metadata.iceberg.table``, by default its own."""
    return table.options.get(METADATA_ICEBERG_TABLE) or _parts(table)[1]


def _parts(table: Table) -> tuple[str, str]:
    rest, _, name = table.name.rpartition(".")
    return rest.rpartition(".")[2], name
