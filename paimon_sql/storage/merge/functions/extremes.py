"""The functions max and min, and those of booleans, which are the same."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from paimon_sql.format.types import BooleanType, DataType
from paimon_sql.storage.merge.functions.base import ChoosingFunction, Steps
from paimon_sql.storage.merge.functions.kinds import UNORDERED
from paimon_sql.storage.merge.order import Indices, ordinals


class Maximum(ChoosingFunction):
    """The greatest value that is not null, in the order of keys: NaN above all, -0.0 below 0.0, text by its bytes."""

    name = "max"
    wants = "a type whose values can be compared"
    pick: ClassVar[np.ufunc] = np.maximum

    @classmethod
    def takes(cls, data_type: DataType) -> bool:
        return not isinstance(data_type, UNORDERED)

    def choose(self, steps: Steps) -> Indices:
        rows = np.flatnonzero(steps.valid)
        segments = steps.segments if len(rows) == len(steps.values) else steps.segments.where(steps.valid)
        numbers = ordinals(steps.values)[rows]
        if not len(rows):
            return segments.first()
        lengths = np.diff(segments.starts, append=len(rows))
        best = np.repeat(self.pick.reduceat(numbers, segments.starts), lengths)
        found = segments.first(numbers == best)
        return np.where(found < 0, found, rows[found])


class Minimum(Maximum):
    """The least value that is not null."""

    name = "min"
    pick = np.minimum


class BoolAnd(Minimum):
    """Whether all values are true, nulls left out."""

    name = "bool_and"
    wants = "BOOLEAN"

    @classmethod
    def takes(cls, data_type: DataType) -> bool:
        return isinstance(data_type, BooleanType)


class BoolOr(Maximum):
    """Whether any value is true, nulls left out."""

    name = "bool_or"
    wants = "BOOLEAN"

    @classmethod
    def takes(cls, data_type: DataType) -> bool:
        return isinstance(data_type, BooleanType)
