"""Strategies of compaction: the files of a bucket that are due, or all of them (spec: Compaction)."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations import compaction
from paimon_sql.storage.data_files.lsm_tree import CompactUnit, LevelRun, max_level
from paimon_sql.storage.merge.lookup_levels import looks_up


@dataclass(frozen=True)
class UniversalCompaction:
    """The strategy of tables with a primary key, with its options (Paimon: `UniversalCompaction`)."""

    trigger: int
    max_size_amplification: int
    size_ratio: int
    max_level: int

    @classmethod
    def of(cls, options: TableOptions) -> UniversalCompaction:
        """The strategy by a table's options, at the current hour."""
        off_peak = _is_off_peak(options, datetime.now().hour)  # local time, for the options mean the user's hours
        return cls(
            trigger=options.get(compaction.NUM_SORTED_RUNS_COMPACTION_TRIGGER),
            max_size_amplification=options.get(compaction.COMPACTION_MAX_SIZE_AMPLIFICATION_PERCENT),
            size_ratio=options.get(compaction.COMPACTION_SIZE_RATIO)
            + off_peak * options.get(compaction.COMPACTION_OFFPEAK_RATIO),
            max_level=max_level(options),
        )

    def pick(self, runs: Sequence[LevelRun]) -> CompactUnit | None:
        """Pick the files to merge; None if there are few enough runs."""
        if len(runs) < self.trigger:
            return None
        unit = self._by_amplification(runs) or self._by_ratio(runs, 1)
        if unit is None and len(runs) > self.trigger:
            unit = self._by_ratio(runs, len(runs) - self.trigger + 1)
        return unit if unit is not None and unit.changes_something() else None

    def pick_fresh(self, runs: Sequence[LevelRun]) -> CompactUnit | None:
        """Pick all runs of level 0, and older ones that are no bigger; None if level 0 is empty.

        (Paimon: `ForceUpLevel0Compaction`)
        """
        fresh = sum(run.level == 0 for run in runs)
        unit = self._by_ratio(runs, fresh, triggered=True) if fresh else None
        return unit if unit is not None and unit.changes_something() else None

    def _by_amplification(self, runs: Sequence[LevelRun]) -> CompactUnit | None:
        """Pick all runs if the newer runs are too big in comparison with the oldest."""
        over = sum(run.size for run in runs[:-1])
        if over * 100 > self.max_size_amplification * runs[-1].size:
            return self._unit(runs, len(runs))
        return None

    def _by_ratio(self, runs: Sequence[LevelRun], count: int, *, triggered: bool = False) -> CompactUnit | None:
        """Pick the newest runs, as long as the next one is no bigger than all before it together."""
        size = sum(run.size for run in runs[:count])
        triggered = triggered or count > 1
        for run in runs[count:]:
            if size * (100 + self.size_ratio) / 100 < run.size and (not triggered or run.level > 1):
                break
            size += run.size
            count += 1
            triggered = True
        return self._unit(runs, count) if triggered else None

    def _unit(self, runs: Sequence[LevelRun], count: int) -> CompactUnit:
        # Files may be on deeper levels than the current options allow.
        deepest = max(self.max_level, runs[-1].level)
        output = deepest if count == len(runs) else max(0, runs[count].level - 1)
        if output == 0:
            # A result on level 0 would count as fresh; add runs until a deeper level is reached.
            while count < len(runs):
                count += 1
                if runs[count - 1].level != 0:
                    output = runs[count - 1].level
                    break
        if count == len(runs):
            output = deepest
        return CompactUnit(output, tuple(f for run in runs[:count] for f in run.files))


def _is_off_peak(options: TableOptions, hour: int) -> bool:
    """Whether an hour is in the off-peak time, which may span midnight (Paimon: `OffPeakHours`)."""
    start = options.get(compaction.COMPACTION_OFFPEAK_START_HOUR)
    end = options.get(compaction.COMPACTION_OFFPEAK_END_HOUR)
    if -1 in (start, end) or start == end:
        return False
    return start <= hour < end if start < end else hour < end or start <= hour


def pick_due(runs: Sequence[LevelRun], options: TableOptions) -> CompactUnit | None:
    """Pick the files of a bucket that a write must compact; None if nothing is due.

    Args:
        runs: the bucket's sorted runs from the newest to the oldest, with those just written.
        options: the table's options.
    """
    if (options.get(compaction.FULL_COMPACTION_DELTA_COMMITS) or 0) > 0 or _is_full_due(runs, options):
        return pick_full(runs, options)
    universal = UniversalCompaction.of(options)
    unit = universal.pick(runs)
    if unit is None and (
        options.get(compaction.COMPACTION_FORCE_UP_LEVEL_0) or (looks_up(options) and _lifts(runs, options))
    ):
        unit = universal.pick_fresh(runs)
    return unit


def pick_full(runs: Sequence[LevelRun], options: TableOptions, marked: Collection[str] = ()) -> CompactUnit | None:
    """Pick all files of a bucket, for the max level; None if they are there already.

    Args:
        runs: the bucket's sorted runs from the newest to the oldest.
        options: the table's options.
        marked: the names of files with deleted or expired rows, which are rewritten even if they are there.
    """
    if not runs:
        return None
    deepest = max(max_level(options), runs[-1].level)
    files = tuple(f for run in runs for f in run.files)
    if len(runs) > 1 or runs[0].level != deepest or options.get(compaction.COMPACTION_FORCE_REWRITE_ALL_FILES):
        return CompactUnit(deepest, files)
    stale = tuple(f for f in files if f.file_name in marked)
    return CompactUnit(deepest, stale, rewrite=True) if stale else None


def _is_full_due(runs: Sequence[LevelRun], options: TableOptions) -> bool:
    """Whether the bucket is small enough, has enough fresh rows, or its last full compaction is old enough.

    (Paimon: `EarlyFullCompaction`)
    """
    if len(runs) < 2:
        return False
    deepest = max_level(options)
    interval = options.get(compaction.COMPACTION_OPTIMIZATION_INTERVAL)
    if interval is not None:
        settled = [f.creation_epoch_millis() or 0 for run in runs if run.level >= deepest for f in run.files]
        if time.time() * 1000 - max(settled, default=0) > interval.total_seconds() * 1000:
            return True
    max_small = options.get(compaction.COMPACTION_TOTAL_SIZE_THRESHOLD)
    if max_small is not None and sum(run.size for run in runs) < max_small:
        return True
    max_increment = options.get(compaction.COMPACTION_INCREMENTAL_SIZE_THRESHOLD)
    return max_increment is not None and sum(run.size for run in runs if run.level != deepest) > max_increment


def _lifts(runs: Sequence[LevelRun], options: TableOptions) -> bool:
    """Whether rows of level 0 are compacted now; with ``lookup-compact`` = gentle, only when they are enough."""
    if options.get(compaction.LOOKUP_COMPACT) == "RADICAL":
        return True
    max_runs = options.get(compaction.LOOKUP_COMPACT_MAX_INTERVAL) or 2 * options.get(
        compaction.NUM_SORTED_RUNS_COMPACTION_TRIGGER
    )
    return sum(run.level == 0 for run in runs) >= max_runs
