"""Visibility of files of primary-key tables to reads, and whether they need merging."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED, DELETION_VECTORS_MERGE_ON_READ
from paimon_sql.format.options.table.merge_engine import MERGE_ENGINE
from paimon_sql.storage.data_files.lsm_levels import max_level
from paimon_sql.storage.table.table import Table


def visible_files(table: Table, files: Sequence[DataFileMeta]) -> Sequence[DataFileMeta]:
    """Return the files of a bucket that reads see."""
    if not table.schema.primary_keys or not (table.read_optimized or reads_compacted(table)):
        return files
    min_level = max_level(table.options) if table.read_optimized else 1
    return [f for f in files if f.level >= min_level]


def is_raw_readable(table: Table, visible: Sequence[DataFileMeta]) -> bool:
    """Whether every key is in only one row of the visible files, so that nothing is merged.

    Chain tables have deletes on all levels.
    """
    return (table.read_optimized or reads_compacted(table)) and not any(f.delete_row_count for f in visible)


def reads_compacted(table: Table) -> bool:
    """Whether reads see only compacted files, in which deletion vectors or the merge engine make keys unique."""
    options = table.options
    if options.get(MERGE_ENGINE) == "first-row":
        return True
    return options.get(DELETION_VECTORS_ENABLED) and not options.get(DELETION_VECTORS_MERGE_ON_READ)
