"""Data skipping by file indexes.

A raw file is skipped if no row of it can match. Where files are merged, an old version of a row may satisfy a condition
that its newest does not: then only conditions on the key skip a file, and the files of a section are skipped together
if none holds a matching row and the merge engine returns one of the rows that it merges.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options.table.merge_engine import MERGE_ENGINE
from paimon_sql.storage.data_files.live_files import ScanMetrics
from paimon_sql.storage.data_files.pruning.file_indexes import IndexFilter
from paimon_sql.storage.data_files.sections import Section
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.expressions.predicates import Predicate, conjuncts_on
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.table.table import Table

FileKey = tuple[bytes, int, str]
CHOOSING_ENGINES = ("deduplicate", "first-row")
"""The merge engines that return one of the rows of a key, unchanged."""
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
    chooses = table.options.get(MERGE_ENGINE) in CHOOSING_ENGINES
    alone = _unwanted(table, [split for split in before if split.raw or chooses], predicate)
    of_keys = _unwanted(table, merged, on_keys) if on_keys is not None else frozenset()
    after = [without_files(split, alone, of_keys) for split in before]
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
    return frozenset(file_key(*item) for item, unwanted in zip(chosen, answers, strict=True) if unwanted)


def file_key(split: Split, file: DataFileMeta) -> FileKey:
    """The identity of a split's file in its table."""
    return split.partition, split.bucket, file.file_name


def without_files(split: Split, unwanted: frozenset[FileKey], unwanted_keys: frozenset[FileKey] | None = None) -> Split:
    """A split without unwanted files; the result may be empty.

    Args:
        split: the split.
        unwanted: files without a wanted row; if files are merged, only complete sections of them are dropped.
        unwanted_keys: files without the key of a wanted row, which are dropped one by one.
    """
    return _of_files(split, unwanted) if split.raw else _of_sections(split, unwanted, unwanted_keys or frozenset())


def _of_files(split: Split, unwanted: frozenset[FileKey]) -> Split:
    wanted = tuple(f for f in split.files if file_key(split, f) not in unwanted)
    return split if len(wanted) == len(split.files) else replace(split, files=wanted)


def _of_sections(split: Split, unwanted: frozenset[FileKey], unwanted_keys: frozenset[FileKey]) -> Split:
    """A split without sections of only unwanted files, and without files of only unwanted keys."""
    sections = []
    for section in split.sections:
        if all(file_key(split, f) in unwanted for run in section.runs for f in run):
            continue
        runs = (tuple(f for f in run if file_key(split, f) not in unwanted_keys) for run in section.runs)
        wanted = tuple(run for run in runs if run)
        if wanted:
            sections.append(Section(wanted))
    files = tuple(f for section in sections for run in section.runs for f in run)
    return split if len(files) == len(split.files) else replace(split, files=files, sections=tuple(sections))
