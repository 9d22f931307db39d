"""Which files of a bucket are to be compacted now: what is due after a write, or everything."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.compaction import (
    COMPACTION_FORCE_REWRITE_ALL_FILES,
    COMPACTION_FORCE_UP_LEVEL_0,
    COMPACTION_INCREMENTAL_SIZE_THRESHOLD,
    COMPACTION_OPTIMIZATION_INTERVAL,
    COMPACTION_TOTAL_SIZE_THRESHOLD,
    FULL_COMPACTION_DELTA_COMMITS,
    LOOKUP_COMPACT,
    LOOKUP_COMPACT_MAX_INTERVAL,
    NUM_SORTED_RUNS_COMPACTION_TRIGGER,
)
from paimon_sql.storage.compact.universal import UniversalCompaction
from paimon_sql.storage.data_files.lsm_levels import CompactUnit, LevelRun, max_level
from paimon_sql.storage.merge.lookup_levels import looks_up


def pick_due(runs: Sequence[LevelRun], options: TableOptions) -> CompactUnit | None:
    """What a write must compact in a bucket that it wrote to; None if nothing is due.

    Args:
        runs: the bucket's sorted runs from the newest to the oldest, those just written among them.
        options: the table's options.
    """
    if (options.get(FULL_COMPACTION_DELTA_COMMITS) or 0) > 0 or _is_full_due(runs, options):
        return pick_full(runs, options)
    universal = UniversalCompaction.of(options)
    unit = universal.pick(runs)
    if unit is None and (options.get(COMPACTION_FORCE_UP_LEVEL_0) or (looks_up(options) and _lifts(runs, options))):
        unit = universal.pick_fresh(runs)
    return unit


def pick_full(runs: Sequence[LevelRun], options: TableOptions, marked: Collection[str] = ()) -> CompactUnit | None:
    """All files of a bucket onto the deepest level; None if they stand there already.

    Args:
        runs: the bucket's sorted runs from the newest to the oldest.
        options: the table's options.
        marked: the names of files with deleted or expired rows, which are rewritten even if they stand there.
    """
    if not runs:
        return None
    deepest = max(max_level(options), runs[-1].level)
    files = tuple(f for run in runs for f in run.files)
    if len(runs) > 1 or runs[0].level != deepest or options.get(COMPACTION_FORCE_REWRITE_ALL_FILES):
        return CompactUnit(deepest, files)
    stale = tuple(f for f in files if f.file_name in marked)
    return CompactUnit(deepest, stale, rewrite=True) if stale else None


def _is_full_due(runs: Sequence[LevelRun], options: TableOptions) -> bool:
    """Whether the bucket is small enough, has enough fresh rows, or was not compacted in full for long enough."""
    if len(runs) < 2:
        return False
    deepest = max_level(options)
    interval = options.get(COMPACTION_OPTIMIZATION_INTERVAL)
    if interval is not None:
        settled = [f.creation_epoch_millis() or 0 for run in runs if run.level >= deepest for f in run.files]
        if time.time() * 1000 - max(settled, default=0) > interval.total_seconds() * 1000:
            return True
    small = options.get(COMPACTION_TOTAL_SIZE_THRESHOLD)
    if small is not None and sum(run.size for run in runs) < small:
        return True
    much = options.get(COMPACTION_INCREMENTAL_SIZE_THRESHOLD)
    return much is not None and sum(run.size for run in runs if run.level != deepest) > much


def _lifts(runs: Sequence[LevelRun], options: TableOptions) -> bool:
    """Whether rows of level 0 are brought deeper now; ``lookup-compact`` = gentle lets some of them gather first."""
    if options.get(LOOKUP_COMPACT) == "RADICAL":
        return True
    most = options.get(LOOKUP_COMPACT_MAX_INTERVAL) or 2 * options.get(NUM_SORTED_RUNS_COMPACTION_TRIGGER)
    return sum(run.level == 0 for run in runs) >= most
