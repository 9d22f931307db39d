"""LSM tree of a bucket: on level 0 every file is a sorted run, every deeper level is one (Paimon: `Levels`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.compaction import NUM_LEVELS, NUM_SORTED_RUNS_COMPACTION_TRIGGER
from paimon_sql.storage.data_files.sections import age


@dataclass(frozen=True)
class LevelRun:
    """A sorted run and its level."""

    level: int
    files: tuple[DataFileMeta, ...]

    @property
    def size(self) -> int:
        """The total file size in bytes."""
        return sum(f.file_size for f in self.files)


@dataclass(frozen=True)
class CompactUnit:
    """Files to compact into a level; ``rewrite`` forbids keeping a file unchanged (Paimon: `CompactUnit`)."""

    output_level: int
    files: tuple[DataFileMeta, ...]
    rewrite: bool = False

    def changes_something(self) -> bool:
        """Whether the compaction would do more than leave one file on its level."""
        return (
            self.rewrite or len(self.files) > 1 or (len(self.files) == 1 and self.files[0].level != self.output_level)
        )


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
