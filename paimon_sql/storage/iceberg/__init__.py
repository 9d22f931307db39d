"""Iceberg compatibility: Iceberg metadata for a table's Parquet files."""

from __future__ import annotations

import logging

from paimon_sql.storage.iceberg.location import is_published, metadata_folder
from paimon_sql.storage.table.table import Table

__all__ = ["is_published", "metadata_folder", "publish_quietly"]

_LOG = logging.getLogger(__name__)


def publish_quietly(table: Table) -> None:
    """Publish the table's newest snapshot to Iceberg, after a change that is committed in any case.

    Errors are logged: Iceberg readers see the older state until the next change or ``CALL sys.publish_iceberg``.
    """
    try:
        if is_published(table):
            # Every change of a table ends here, and few tables are published.
            from paimon_sql.storage.iceberg.publish import publish

            publish(table)
    except Exception as error:
        _LOG.warning("%s: Iceberg's readers do not see the newest change: %s", table.name, error)
