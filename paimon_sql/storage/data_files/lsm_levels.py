"""The files of a bucket as an LSM tree: level 0 holds a sorted run a file, every deeper level one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.compaction import NUM_LEVELS, NUM_SORTED_RUNS_COMPACTION_TRIGGER
from paimon_sql.storage.data_files.sections import age


@dataclass(frozen=True)
class LevelRun:
    """A sorted run and the level that it stands on."""

    level: int
    files: tuple[DataFileMeta, ...]

    @property
    def size(self) -> int:
        """The size of its files in bytes."""
        return sum(f.file_size for f in self.files)


@dataclass(frozen=True)
class CompactUnit:
    """Files to be merged, and the level on which the result stands; ``rewrite`` says that no file may stay as it is."""

    output_level: int
    files: tuple[DataFileMeta, ...]
    rewrite: bool = False

    def changes_something(self) -> bool:
        """Whether merging would do more than leave one file where it is."""
        return (
            self.rewrite or len(self.files) > 1 or (len(self.files) == 1 and self.files[0].level != self.output_level)
        )


def level_runs(files: Sequence[DataFileMeta]) -> list[LevelRun]:
    """The sorted runs of a bucket from the newest to the oldest."""
    fresh = sorted((f for f in files if f.level == 0), key=age, reverse=True)
    runs = [LevelRun(0, (f,)) for f in fresh]
    deep = sorted({f.level for f in files if f.level > 0})
    return [*runs, *(LevelRun(level, tuple(f for f in files if f.level == level)) for level in deep)]


def max_level(options: TableOptions) -> int:
    """The deepest level of a table's trees."""
    levels = options.get(NUM_LEVELS)
    return (levels or options.get(NUM_SORTED_RUNS_COMPACTION_TRIGGER) + 1) - 1
