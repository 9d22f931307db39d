"""Iceberg compatibility: Iceberg metadata for a table's Parquet files."""

from __future__ import annotations

import logging

from paimon_sql.storage.file_io.paths import is_under, parent_of
from paimon_sql.storage.iceberg.publish import publish
from paimon_sql.storage.iceberg.registration import registration_of
from paimon_sql.storage.iceberg.store import MetadataStore, database_folder, is_published, metadata_folder
from paimon_sql.storage.table.table import Table

__all__ = ["is_published", "metadata_folder", "publish", "publish_quietly", "withdraw_quietly"]

_LOG = logging.getLogger(__name__)


def publish_quietly(table: Table) -> None:
    """Publish the table's newest snapshot to Iceberg, after a change that is committed in any case.

    Errors are logged: Iceberg readers see the older state until the next change or ``CALL sys.publish_iceberg``.
    """
    try:
        publish(table)
    except Exception as error:
        _LOG.warning("%s: Iceberg's readers do not see the newest change: %s", table.name, error)


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
