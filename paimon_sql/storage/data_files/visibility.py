"""Visibility of rows of primary-key tables before they are compacted."""

from __future__ import annotations

from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED, DELETION_VECTORS_MERGE_ON_READ
from paimon_sql.storage.merge.registry import engine_of
from paimon_sql.storage.table.table import Table


def reads_compacted(table: Table) -> bool:
    """Whether reads see only compacted files, in which deletion vectors or the merge engine make keys unique."""
    options = table.options
    if engine_of(options).keeps_first:
        return True
    return options.get(DELETION_VECTORS_ENABLED) and not options.get(DELETION_VECTORS_MERGE_ON_READ)
