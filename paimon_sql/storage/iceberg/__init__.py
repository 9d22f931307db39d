"""Iceberg compatibility: a table's Parquet files, as Iceberg's readers see them by metadata of their own format."""

from __future__ import annotations

import logging

from paimon_sql.storage.iceberg.places import is_published, metadata_folder
from paimon_sql.storage.iceberg.publish import publish
from paimon_sql.storage.table import Table

__all__ = ["is_published", "metadata_folder", "publish", "publish_quietly"]

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
