"""Withdrawal of dropped tables from Iceberg."""

from __future__ import annotations

import logging

from paimon_sql.storage.file_io.paths import is_under, parent_of
from paimon_sql.storage.iceberg.location import database_folder, metadata_folder
from paimon_sql.storage.iceberg.registration import registration_of
from paimon_sql.storage.iceberg.store import MetadataStore
from paimon_sql.storage.table.table import Table

_LOG = logging.getLogger(__name__)


def withdraw_quietly(table: Table, *, with_database: bool = False) -> None:
    """Remove a dropped table's Iceberg metadata; errors are logged.

    Args:
        table: the table.
        with_database: whether its database was dropped too, so that an empty directory of it is deleted.
    """
    try:
        registration_of(table).withdraw()
        directory = metadata_folder(table)
        if not is_under(directory, table.path):
            MetadataStore(table.file_io, directory).clear()
            # Hadoop catalogs take directories without a table for namespaces.
            table.file_io.delete_dir(parent_of(directory))
            if with_database:
                table.file_io.delete_dir(database_folder(table))
    except Exception as error:
        _LOG.warning("%s: Iceberg's readers still see the table, which was dropped: %s", table.name, error)
