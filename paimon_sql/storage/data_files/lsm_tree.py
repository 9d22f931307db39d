"""LSM tree of a bucket: its levels, sorted runs and sections, and whether reads see level 0 (spec: LSM Trees).

The files of a section form sorted runs. Sections are merged one by one, so memory and work are bounded by a section,
and a section of one run needs no merging.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.compaction import NUM_LEVELS, NUM_SORTED_RUNS_COMPACTION_TRIGGER
from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED, DELETION_VECTORS_MERGE_ON_READ
from paimon_sql.format.rows.decode import decode_columns
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.data_files.file_groups import FileSet
from paimon_sql.storage.expressions.kernels.sorting import dense_ranks
from paimon_sql.storage.merge.registry import engine_of
from paimon_sql.storage.table.table import Table

SortedRun = tuple[DataFileMeta, ...]


@dataclass(frozen=True)
class Section:
    """Overlapping sorted runs, from the oldest to the newest."""

    runs: tuple[SortedRun, ...]

    @property
    def size(self) -> int:
        """The total file size in bytes."""
        return sum(f.file_size for run in self.runs for f in run)


def sections_of(schema: TableSchema, files: Sequence[DataFileMeta], ages: Sequence[int] | None = None) -> list[Section]:
    """Partition the files of one bucket into sections of ascending keys (Paimon: `IntervalPartition`).

    Args:
        schema: the table's schema.
        files: the files.
        ages: for files of several buckets, the order of the buckets: files with a greater number are newer, whatever
            their level.
    """
    if not files:
        return []
    low, high = key_ranks(schema, files)
    by_key = np.lexsort((high, low))
    cuts = np.flatnonzero(low[by_key][1:] > np.maximum.accumulate(high[by_key])[:-1]) + 1
    return [_section(files, members.tolist(), low, high, ages) for members in np.split(by_key, cuts)]


def is_raw(section: Section) -> bool:
    """Whether the section can be read without merging: a single run without deletes."""
    return len(section.runs) == 1 and all(f.delete_row_count == 0 for f in section.runs[0])


def key_ranks(schema: TableSchema, files: Sequence[DataFileMeta]) -> tuple[np.ndarray, np.ndarray]:
    """Return dense ranks of the files' min and max keys, equal for equal keys."""
    types = [f.type for f in schema.key_fields]
    low = decode_columns(types, [f.min_key for f in files])
    high = decode_columns(types, [f.max_key for f in files])
    ranks = dense_ranks([pa.concat_arrays([a, b]) for a, b in zip(low, high, strict=True)])
    return ranks[: len(files)], ranks[len(files) :]


def _section(
    files: Sequence[DataFileMeta], members: Sequence[int], low: np.ndarray, high: np.ndarray, ages: Sequence[int] | None
) -> Section:
    """Form the sorted runs of a section; members are in the order of their min keys.

    Rows of one key must be ordered from the oldest to the newest run, so only files of one level share a run; on level
    0 every file is a run. Deeper levels are older.
    """
    runs: dict[object, list[int]] = {}
    for i in members:
        level = files[i].level
        runs.setdefault((ages[i] if ages else 0, level, i if level <= 0 else 0), []).append(i)
    ordered = sorted(runs.values(), key=lambda run: (ages[run[0]] if ages else 0, *age(files[run[0]])))
    return Section(tuple(tuple(files[i] for i in part) for run in ordered for part in _disjoint(run, low, high)))


def age(file: DataFileMeta) -> tuple[int, int, int, int, str]:
    """Return the sort key of the files of one bucket: older files first, which lose ties of the sequence number.

    Files of concurrent commits with equal sequence numbers are in commit order (`KeyCommits.in_commit_order`).
    """
    created = file.creation_time_millis or 0
    return (-file.level, file.max_sequence_number, file.min_sequence_number, created, file.file_name)


def _disjoint(run: Sequence[int], low: np.ndarray, high: np.ndarray) -> list[list[int]]:
    """Split a run into runs of disjoint files; files of a level should not overlap, but some writers' do."""
    parts: list[list[int]] = []
    for i in run:
        fitting = next((p for p in parts if high[p[-1]] < low[i]), None)
        if fitting is None:
            parts.append([i])
        else:
            fitting.append(i)
    return parts


@dataclass(frozen=True)
class LevelRun(FileSet):
    """A sorted run and its level."""

    level: int
    files: tuple[DataFileMeta, ...]


@dataclass(frozen=True)
class CompactUnit:
    """Files to compact into a level; ``rewrite`` forbids keeping a file unchanged (Paimon: `CompactUnit`)."""

    output_level: int
    files: tuple[DataFileMeta, ...]
    rewrite: bool = False

    def changes_something(self) -> bool:
        """Whether the compaction would do more than leave one file on its level."""
        return self.rewrite or len(self.files) > 1 or any(f.level != self.output_level for f in self.files)


def level_runs(files: Sequence[DataFileMeta]) -> list[LevelRun]:
    """Return the sorted runs of a bucket from the newest to the oldest."""
    level_0 = sorted((f for f in files if f.level == 0), key=age, reverse=True)
    runs = [LevelRun(0, (f,)) for f in level_0]
    levels = sorted({f.level for f in files if f.level > 0})
    return [*runs, *(LevelRun(level, tuple(f for f in files if f.level == level)) for level in levels)]


def max_level(options: TableOptions) -> int:
    """Return the max level of the table's LSM trees."""
    levels = options.get(NUM_LEVELS)
    return (levels or options.get(NUM_SORTED_RUNS_COMPACTION_TRIGGER) + 1) - 1


def reads_compacted(table: Table) -> bool:
    """Whether reads see only compacted files, in which deletion vectors or the merge engine make keys unique."""
    options = table.options
    if engine_of(options).keeps_first:
        return True
    return options.get(DELETION_VECTORS_ENABLED) and not options.get(DELETION_VECTORS_MERGE_ON_READ)
