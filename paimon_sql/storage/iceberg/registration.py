"""Catalogs of Iceberg's that are told where a table's metadata stand: one `Registration` for each kind of them.

Those that are servers are spoken with by the room of catalogs, which adds them to `REGISTRATIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.iceberg.table_metadata import TableMetadata
from paimon_sql.format.options.table.iceberg import HADOOP_CATALOG, METADATA_ICEBERG_STORAGE, TABLE_LOCATION
from paimon_sql.storage.iceberg.store import MetadataStore
from paimon_sql.storage.table.table import Table


class Registration(Protocol):
    """Tells a catalog of a table."""

    def register(self, store: MetadataStore, metadata: TableMetadata) -> None:
        """Let the catalog lead to these metadata; nothing happens if it does already.

        Args:
            store: where they stand.
            metadata: the current version.

        Raises:
            PaimonError: the catalog does not answer or refuses.
        """

    def withdraw(self) -> None:
        """Let the catalog forget the table, which goes or gets another name."""


class FolderAlone:
    """Readers find the metadata by their folder."""

    def register(self, store: MetadataStore, metadata: TableMetadata) -> None:
        """Nobody is to be told."""

    def withdraw(self) -> None:
        """Nobody is to be told."""


REGISTRATIONS: dict[str, Callable[[Table], Registration]] = {
    TABLE_LOCATION: lambda table: FolderAlone(),
    HADOOP_CATALOG: lambda table: FolderAlone(),
}
"""What makes a table's registration, by ``metadata.iceberg.storage``."""


def registration_of(table: Table) -> Registration:
    """The registration that the table's options ask for."""
    storage = table.options.get(METADATA_ICEBERG_STORAGE)
    make = REGISTRATIONS.get(storage)
    if make is None:
        raise UnsupportedError(
            f"{table.name}: '{METADATA_ICEBERG_STORAGE.key}' = '{storage}' needs a table of a catalog.",
            remedy="Open the table by its name in a catalog, not by its path.",
        )
    return make(table)
