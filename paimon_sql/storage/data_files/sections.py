"""The files of a bucket in sections: files of different sections share no key (spec: LSM Trees).

Inside a section the files form sorted runs; a run's files do not overlap. Sections can be merged one by one, so memory
and work are those of a section, and a section of one run needs no merging at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.rows.decode import decode_columns
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.expressions.kernels.sorting import SortColumn, comparable, group_starts, sort_order

SortedRun = tuple[DataFileMeta, ...]


@dataclass(frozen=True)
class Section:
    """Sorted runs that overlap, from the oldest to the newest."""

    runs: tuple[SortedRun, ...]

    @property
    def size(self) -> int:
        """The size of its files in bytes."""
        return sum(f.file_size for run in self.runs for f in run)


def sections_of(schema: TableSchema, files: Sequence[DataFileMeta], ages: Sequence[int] | None = None) -> list[Section]:
    """The files of one bucket in sections of ascending keys.

    Args:
        schema: the table's schema.
        files: the files.
        ages: for files of several buckets, how old each is: those of greater numbers are newer, whatever their level.
    """
    if not files:
        return []
    low, high = key_ranks(schema, files)
    by_key = np.lexsort((high, low))
    sections = []
    members: list[int] = []
    bound = -1
    for i in by_key:
        if members and low[i] > bound:
            sections.append(_section(files, members, low, high, ages))
            members = []
        members.append(int(i))
        bound = max(bound, int(high[i]))
    sections.append(_section(files, members, low, high, ages))
    return sections


def is_raw(section: Section) -> bool:
    """Whether the section's files hold the rows as they are: one run without deletes, be it a fresh file alone."""
    return len(section.runs) == 1 and all(f.delete_row_count == 0 for f in section.runs[0])


def key_ranks(schema: TableSchema, files: Sequence[DataFileMeta]) -> tuple[np.ndarray, np.ndarray]:
    """The files' smallest and greatest keys as numbers in the order of the keys, equal keys as equal numbers."""
    types = [f.type for f in schema.key_fields]
    low = decode_columns(types, [f.min_key for f in files])
    high = decode_columns(types, [f.max_key for f in files])
    both = [comparable(pa.concat_arrays([a, b])) for a, b in zip(low, high, strict=True)]
    order = sort_order([SortColumn(c) for c in both])
    starts = group_starts(both, order)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.searchsorted(starts, np.arange(len(order)), side="right")
    return ranks[: len(files)], ranks[len(files) :]


def _section(
    files: Sequence[DataFileMeta],
    members: Sequence[int],
    low: np.ndarray,
    high: np.ndarray,
    ages: Sequence[int] | None,
) -> Section:
    """Members come in the order of their smallest keys: each joins the first run whose last file ends before it.

    Rows of one key must come from the oldest to the newest run, so only files of one level share a run; level 0 holds
    a run a file. Deeper levels are older.
    """
    runs: dict[object, list[int]] = {}
    for i in members:
        level = files[i].level
        runs.setdefault((ages[i] if ages else 0, level, i if level <= 0 else 0), []).append(i)
    ordered = sorted(runs.values(), key=lambda run: (ages[run[0]] if ages else 0, *age(files[run[0]])))
    result: list[SortedRun] = []
    for run in ordered:
        result.extend(tuple(files[i] for i in part) for part in _disjoint(run, low, high))
    return Section(tuple(result))


def age(file: DataFileMeta) -> tuple[int, int, int, int, str]:
    """What files of one bucket are sorted by: older ones, whose rows give way at the same sequence number, come first.

    The order of rivals who used the same numbers is that of their commits (`commit/commit_order.py`).
    """
    made = file.creation_time_millis or 0
    return (-file.level, file.max_sequence_number, file.min_sequence_number, made, file.file_name)


def _disjoint(run: Sequence[int], low: np.ndarray, high: np.ndarray) -> list[list[int]]:
    """A level's files do not overlap; should they all the same, they are told apart rather than mixed up."""
    parts: list[list[int]] = []
    for i in run:
        fitting = next((p for p in parts if high[p[-1]] < low[i]), None)
        if fitting is None:
            parts.append([i])
        else:
            fitting.append(i)
    return parts
