"""The aggregate functions ``max``, ``min``, ``bool_and`` and ``bool_or``."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.schema.types import BooleanType, DataType
from paimon_sql.storage.expressions.kernels.sorting import NOWHERE, Indices, Segments, ordinals
from paimon_sql.storage.merge.aggregates.arithmetic import SHORT, walk
from paimon_sql.storage.merge.aggregates.base import UNORDERED, ChoosingFunction, Steps


class Maximum(ChoosingFunction):
    """The maximum non-null value in key order: NaN above all, -0.0 < 0.0, strings by bytes (Paimon: `FieldMaxAgg`)."""

    name = "max"
    supported_types = "a type whose values can be compared"
    pick: ClassVar[np.ufunc] = np.maximum
    beats: ClassVar[str] = "greater"

    @classmethod
    def supports(cls, data_type: DataType) -> bool:
        return super().supports(data_type) and not isinstance(data_type, UNORDERED)

    def choose(self, steps: Steps) -> Indices:
        rows = np.flatnonzero(steps.valid)
        segments = steps.segments if len(rows) == len(steps.values) else steps.segments.where(steps.valid)
        if not len(rows):
            return segments.first()
        lengths = np.diff(segments.starts, append=len(rows))
        if _is_wide(steps.values.type) and lengths.max() <= SHORT:
            found = self._by_comparison(steps.values, segments, rows)
        else:
            numbers = ordinals(steps.values)[rows]
            found = segments.first(numbers == np.repeat(self.pick.reduceat(numbers, segments.starts), lengths))
        return np.where(found == NOWHERE, found, rows[found])

    def _by_comparison(self, values: pa.Array, segments: Segments, rows: Indices) -> Indices:
        """Find the best value per key by comparison: faster than ranking all values if keys have few rows."""
        best = segments.starts.copy()

        def step(active: Indices, at: Indices) -> None:
            pair = [values.take(pa.array(rows[at])), values.take(pa.array(rows[best[active]]))]
            won = pc.call_function(self.beats, pair).to_numpy(zero_copy_only=False)
            best[active[won]] = at[won]

        walk(segments, step, first=1)
        found = np.full(segments.count, NOWHERE, dtype=np.int64)
        found[segments.present] = best
        return found


class Minimum(Maximum):
    """The minimum non-null value (Paimon: `FieldMinAgg`)."""

    name = "min"
    pick = np.minimum
    beats = "less"


class BoolAnd(Minimum):
    """Whether all non-null values are true (Paimon: `FieldBoolAndAgg`)."""

    name = "bool_and"
    types = (BooleanType,)
    supported_types = "BOOLEAN"


class BoolOr(Maximum):
    """Whether any value is true (Paimon: `FieldBoolOrAgg`)."""

    name = "bool_or"
    types = (BooleanType,)
    supported_types = "BOOLEAN"


def _is_wide(kind: pa.DataType) -> bool:
    """Whether values of the type are slow to rank."""
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_decimal(kind))
