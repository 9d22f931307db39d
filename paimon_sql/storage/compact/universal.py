"""Universal compaction: which runs are merged so that neither reads nor space suffer (spec: Compaction).

Runs are given from the newest to the oldest. A merge always takes the newest runs, without gaps, so that rows never
overtake newer ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.compaction import (
    COMPACTION_MAX_SIZE_AMPLIFICATION_PERCENT,
    COMPACTION_OFFPEAK_END_HOUR,
    COMPACTION_OFFPEAK_RATIO,
    COMPACTION_OFFPEAK_START_HOUR,
    COMPACTION_SIZE_RATIO,
    NUM_SORTED_RUNS_COMPACTION_TRIGGER,
)
from paimon_sql.storage.data_files.lsm_levels import CompactUnit, LevelRun, max_level


@dataclass(frozen=True)
class UniversalCompaction:
    """The strategy of tables with a primary key, as their options tune it."""

    trigger: int
    max_size_amplification: int
    size_ratio: int
    deepest: int

    @classmethod
    def of(cls, options: TableOptions) -> UniversalCompaction:
        """The strategy that a table's options describe, at this hour."""
        quiet = _is_quiet(options, datetime.now().hour)  # the machine's clock, as the hours are those of its users
        return cls(
            trigger=options.get(NUM_SORTED_RUNS_COMPACTION_TRIGGER),
            max_size_amplification=options.get(COMPACTION_MAX_SIZE_AMPLIFICATION_PERCENT),
            size_ratio=options.get(COMPACTION_SIZE_RATIO) + quiet * options.get(COMPACTION_OFFPEAK_RATIO),
            deepest=max_level(options),
        )

    def pick(self, runs: Sequence[LevelRun]) -> CompactUnit | None:
        """What is to be merged now; None if there are few enough runs."""
        if len(runs) < self.trigger:
            return None
        unit = self._by_amplification(runs) or self._by_ratio(runs, 1)
        if unit is None and len(runs) > self.trigger:
            unit = self._by_ratio(runs, len(runs) - self.trigger + 1)
        return unit if unit is not None and unit.changes_something() else None

    def pick_fresh(self, runs: Sequence[LevelRun]) -> CompactUnit | None:
        """All runs of level 0, and older ones that are no bigger; None if level 0 is empty."""
        fresh = sum(run.level == 0 for run in runs)
        unit = self._by_ratio(runs, fresh, triggered=True) if fresh else None
        return unit if unit is not None and unit.changes_something() else None

    def _by_amplification(self, runs: Sequence[LevelRun]) -> CompactUnit | None:
        """Everything, when what lies over the oldest run is too big in comparison with it."""
        over = sum(run.size for run in runs[:-1])
        if over * 100 > self.max_size_amplification * runs[-1].size:
            return self._unit(runs, len(runs))
        return None

    def _by_ratio(self, runs: Sequence[LevelRun], count: int, *, triggered: bool = False) -> CompactUnit | None:
        """The newest runs, as long as the next is no bigger than those before it together."""
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
        # Files may stand deeper than the options now have it.
        deepest = max(self.deepest, runs[-1].level)
        output = deepest if count == len(runs) else max(0, runs[count].level - 1)
        if output == 0:
            # A result on level 0 would count as fresh; take runs until a deeper level is reached.
            while count < len(runs):
                count += 1
                if runs[count - 1].level != 0:
                    output = runs[count - 1].level
                    break
        if count == len(runs):
            output = deepest
        return CompactUnit(output, tuple(f for run in runs[:count] for f in run.files))


def _is_quiet(options: TableOptions, hour: int) -> bool:
    """Whether an hour lies in the quiet time, which may go beyond midnight."""
    start, end = options.get(COMPACTION_OFFPEAK_START_HOUR), options.get(COMPACTION_OFFPEAK_END_HOUR)
    if -1 in (start, end) or start == end:
        return False
    return start <= hour < end if start < end else hour < end or start <= hour
