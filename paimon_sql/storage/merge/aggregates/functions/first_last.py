"""Aggregate functions that choose the first or the last value."""

from __future__ import annotations

import numpy as np

from paimon_sql.storage.expressions.kernels.sorting import NOWHERE, Indices, settled
from paimon_sql.storage.merge.aggregates.base import ChoosingFunction, Steps


class PrimaryKey(ChoosingFunction):
    """The value of the newest row of any kind, for columns that are equal in all rows of a key."""

    name = "primary-key"
    can_retract = True

    def choose(self, steps: Steps) -> Indices:
        return steps.segments.last()


class LastValue(ChoosingFunction):
    """The newest value, which may be null; null after a retraction (Paimon: `FieldLastValueAgg`)."""

    name = "last_value"
    can_retract = True

    def choose(self, steps: Steps) -> Indices:
        if steps.effects is None:
            return steps.segments.last()
        last = steps.segments.last(~steps.lates)
        return np.where((last != NOWHERE) & steps.adds[last], last, NOWHERE)


class LastNonNullValue(ChoosingFunction):
    """The newest non-null value; null after a retraction of a non-null value (Paimon: `FieldLastNonNullValueAgg`)."""

    name = "last_non_null_value"
    can_retract = True

    def choose(self, steps: Steps) -> Indices:
        if steps.effects is None:
            return steps.segments.last(steps.valid if steps.values.null_count else None)
        valid = steps.valid
        return settled(steps.segments, steps.adds & valid, steps.retracts & valid, steps.lates & valid)


class FirstValue(ChoosingFunction):
    """The oldest value, which may be null; a late row is older than all rows before it."""

    name = "first_value"

    def choose(self, steps: Steps) -> Indices:
        first = steps.segments.first()
        if steps.effects is None or not len(steps.values):
            return first
        late = steps.segments.last(steps.lates & (steps.segments.places > 0))
        return np.where(late != NOWHERE, late, np.where(steps.adds[first], first, NOWHERE))


class FirstNonNullValue(ChoosingFunction):
    """The oldest non-null value; a late row replaces it (Paimon: `FieldFirstNonNullValueAgg`)."""

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
    """The older name of ``first_non_null_value``."""

    name = "first_not_null_value"
