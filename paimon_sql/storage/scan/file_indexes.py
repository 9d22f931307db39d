"""Data skipping of a scan by file indexes, where rows that merging replaces must not hide newer ones.

A raw file is skipped if no row of it can match. Where files are merged, an old version of a row may satisfy a condition
that its newest does not: then only conditions on the key skip a file, and the files of a section are skipped together
if none holds a matching row and the merge engine returns one of the rows that it merges.
"""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.storage.data_files.live_files import ScanMetrics
from paimon_sql.storage.data_files.pruning.file_indexes import IndexFilter
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.expressions.predicates import Predicate, conjuncts_on
from paimon_sql.storage.merge.registry import engine_of
from paimon_sql.storage.scan.split import FileKey, Split
from paimon_sql.storage.table.table import Table

_MAX_INDEX_FILES = 1000
"""The max number of index files that a plan opens; readers of the other files open theirs."""
_THREADS = 32


def prune_by_indexes(
    table: Table, splits: Iterable[Split], predicate: Predicate | None, metrics: ScanMetrics
) -> list[Split]:
    """The splits without the files that file indexes skip.

    Args:
        table: the table of the files.
        splits: the splits.
        predicate: the condition.
        metrics: reduced by the skipped files.
    """
    before = list(splits)
    if predicate is None or not IndexFilter(table, predicate).is_of_use:
        return before
    merged = [split for split in before if not split.raw]
    on_keys = conjuncts_on(predicate, table.schema.primary_keys)
    chooses = engine_of(table.options).selects
    alone = _unwanted(table, [split for split in before if split.raw or chooses], predicate)
    of_keys = _unwanted(table, merged, on_keys) if on_keys is not None else frozenset()
    after = [split.without(alone, of_keys) for split in before]
    for old, new in zip(before, after, strict=True):
        metrics.files_read -= len(old.files) - len(new.files)
        metrics.bytes_read -= old.size - new.size
    return [split for split in after if split.files]


def _unwanted(table: Table, splits: Iterable[Split], predicate: Predicate) -> frozenset[FileKey]:
    """The files without a matching row, by their indexes."""
    look = IndexFilter(table, predicate)
    files = [(split, f) for split in splits for f in split.files if look.looks_at(f)]
    opened = 0
    chosen = []
    for split, file in files:
        opened += look.opens(file)
        if opened <= _MAX_INDEX_FILES or not look.opens(file):
            chosen.append((split, file))

    def is_unwanted(item: tuple[Split, DataFileMeta]) -> bool:
        split, file = item
        rows = look.rows(split.partition, split.bucket, file)
        return rows is not None and not rows

    answers = map_in_threads(is_unwanted, chosen, table.file_io.threads_for(table.path, opened, _THREADS))
    return frozenset(split.file_key(f) for (split, f), unwanted in zip(chosen, answers, strict=True) if unwanted)
