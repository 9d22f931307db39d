"""The functions that keep the first or the last value."""

from __future__ import annotations

import numpy as np

from paimon_sql.storage.expressions.kernels.segments import NOWHERE, settled
from paimon_sql.storage.expressions.kernels.sorting import Indices
from paimon_sql.storage.merge.aggregates.base import ChoosingFunction, Steps


class PrimaryKey(ChoosingFunction):
    """The value of the newest row, whatever its kind: for columns that are the same in all rows of a key."""

    name = "primary-key"
    can_retract = True

    def choose(self, steps: Steps) -> Indices:
        return steps.segments.last()


class LastValue(ChoosingFunction):
    """The newest value, also if it is null; what is taken back is null."""

    name = "last_value"
    can_retract = True

    def choose(self, steps: Steps) -> Indices:
        if steps.effects is None:
            return steps.segments.last()
        last = steps.segments.last(~steps.lates)
        return np.where((last != NOWHERE) & steps.adds[last], last, NOWHERE)


class LastNonNullValue(ChoosingFunction):
    """The newest value that is not null; taking a value back leaves null."""

    name = "last_non_null_value"
    can_retract = True

    def choose(self, steps: Steps) -> Indices:
        if steps.effects is None:
            return steps.segments.last(steps.valid if steps.values.null_count else None)
        valid = steps.valid
        return settled(steps.segments, steps.adds & valid, steps.retracts & valid, steps.lates & valid)


class FirstValue(ChoosingFunction):
    """The oldest value, also if it is null; a row that a sequence group calls late is older than all before it."""

    name = "first_value"

    def choose(self, steps: Steps) -> Indices:
        first = steps.segments.first()
        if steps.effects is None or not len(steps.values):
            return first
        late = steps.segments.last(steps.lates & (steps.segments.places > 0))
        return np.where(late != NOWHERE, late, np.where(steps.adds[first], first, NOWHERE))


class FirstNonNullValue(ChoosingFunction):
    """The oldest value that is not null; a late row takes its place."""

    name = "first_non_null_value"

    def choose(self, steps: Steps) -> Indices:
        segments = steps.segments
        first = segments.first(steps.adds & steps.valid)
        if steps.effects is None:
            return first
        after = steps.lates & (first[segments.owners] != NOWHERE)
        after &= np.arange(len(segments)) > first[segments.owners]
        late = segments.last(after)
        found = np.where(late != NOWHERE, late, first)
        return np.where(found != NOWHERE, found, segments.first(steps.lates & steps.valid))


class FirstNotNullValue(FirstNonNullValue):
    """The function first_non_null_value under its older name."""

    name = "first_not_null_value"
