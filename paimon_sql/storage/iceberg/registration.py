"""Registration of Iceberg metadata in catalogs of Iceberg, by type of catalog.

Those that are servers are implemented in the package ``catalog``, which adds them to `REGISTRATIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.options.table.iceberg import HADOOP_CATALOG, METADATA_ICEBERG_STORAGE, TABLE_LOCATION
from paimon_sql.storage.table.table import Table

if TYPE_CHECKING:  # catalogs import this module, also those without Iceberg metadata
    from paimon_sql.format.iceberg.table_metadata import TableMetadata
    from paimon_sql.storage.iceberg.store import MetadataStore


class Registration:
    """Registers a table's Iceberg metadata in a catalog; this one in none, where readers find it by its directory."""

    def register(self, store: MetadataStore, metadata: TableMetadata) -> None:
        """Set the metadata location of the table in the catalog, unless it is set already.

        Args:
            store: the metadata directory.
            metadata: the current version.

        Raises:
            PaimonError: the catalog does not respond, or rejects it.
        """

    def withdraw(self) -> None:
        """Remove the table from the catalog, as it is dropped or renamed."""


REGISTRATIONS: dict[str, Callable[[Table], Registration]] = {
    TABLE_LOCATION: lambda table: Registration(),
    HADOOP_CATALOG: lambda table: Registration(),
}
"""Factories of a table's registration, by ``metadata.iceberg.storage``."""


def registration_of(table: Table) -> Registration:
    """Return the registration for the table's options."""
    storage = table.options.get(METADATA_ICEBERG_STORAGE)
    make = REGISTRATIONS.get(storage)
    if make is None:
        raise UnsupportedError(
            f"{table.name}: '{METADATA_ICEBERG_STORAGE.key}' = '{storage}' needs a table of a catalog.",
            remedy="Open the table by its name in a catalog, not by its path.",
        )
    return make(table)
