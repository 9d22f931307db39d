"""Iceberg compatibility: a table's Parquet files, as Iceberg's readers see them by metadata of their own format."""

from __future__ import annotations

import logging

from paimon_sql.storage.file_io.paths import is_under, parent_of
from paimon_sql.storage.iceberg.places import database_folder, is_published, metadata_folder
from paimon_sql.storage.iceberg.publish import publish
from paimon_sql.storage.iceberg.registration import registration_of
from paimon_sql.storage.iceberg.store import MetadataStore
from paimon_sql.storage.table.table import Table

__all__ = ["is_published", "metadata_folder", "publish", "publish_quietly", "withdraw_quietly"]

_LOG = logging.getLogger(__name__)


def publish_quietly(table: Table) -> None:
    """Let Iceberg's readers see the table as it is, behind a change that stands whatever becomes of this.

    What goes wrong is logged: readers go on seeing the table as it was until the next change, or
    ``CALL sys.publish_iceberg``, catches up.
    """
    try:
        publish(table)
    except Exception as error:
        _LOG.warning("%s: Iceberg's readers do not see the newest change: %s", table.name, error)


def withdraw_quietly(table: Table, *, with_database: bool = False) -> None:
    """Let Iceberg's readers see a table no more whose folder has gone; what goes wrong is logged.

    Args:
        table: the table.
        with_database: whether its database has gone, too, so that its folder goes with the last table's.
    """
    try:
        registration_of(table).withdraw()
        folder = metadata_folder(table)
        if not is_under(folder, table.path):
            MetadataStore(table.file_io, folder).clear()
            # Hadoop catalogs take folders without a table in them for namespaces.
            table.file_io.delete_dir(parent_of(folder))
            if with_database:
                table.file_io.delete_dir(database_folder(table))
    except Exception as error:
        _LOG.warning("%s: Iceberg's readers still see the table, which has gone: %s", table.name, error)
