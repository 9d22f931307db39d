"""The aggregate functions ``sum`` and ``count``."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_sql.storage.expressions.kernels.sorting import Indices, Mask, Segments
from paimon_sql.storage.merge.aggregates import arithmetic
from paimon_sql.storage.merge.aggregates.base import WHOLE_NUMBERS, Steps

_SAFE = 0.999
"""Floating-point sums are trusted up to this fraction of a bound."""


class Sum(arithmetic.NumberFunction):
    """The sum of the non-null values; retractions are subtracted (Paimon: `FieldSumAgg`).

    Integers overflow as in Java. A decimal that exceeds its precision becomes null, and the next value starts a new
    sum.
    """

    name = "sum"

    def of_numbers(self, steps: Steps) -> pa.Array:
        kind, segments = steps.values.type, steps.segments
        if pa.types.is_decimal(kind):
            return _decimal_sums(steps)
        values = steps.values.to_numpy(zero_copy_only=False)
        with np.errstate(all="ignore"):
            if steps.effects is not None:
                values = np.where(steps.retracts, -values, values)
            return arithmetic.spread(segments, pa.array(arithmetic.fold(values, segments, np.add), kind))


class Count(Sum):
    """The number of non-null values.

    Each input is stored as 1 or 0, so that partly merged rows add up.
    """

    name = "count"
    types = WHOLE_NUMBERS
    supported_types = "an integer"

    def lift(self, values: pa.Array) -> pa.Array:
        return values.is_valid().cast(pa.int8()).cast(values.type)


def _decimal_sums(steps: Steps) -> pa.Array:
    kind, segments = steps.values.type, steps.segments
    bound = 10**kind.precision
    fits = kind.precision <= arithmetic.LONG_DIGITS
    values: arithmetic.Numbers = arithmetic.unscaled_longs(steps.values) if fits else arithmetic.unscaled(steps.values)
    if steps.effects is not None:
        values = np.where(steps.retracts, -values, values)
    # If the sum of absolute values is below the bound, so is every intermediate sum.
    sizes = np.add.reduceat(np.abs(values.astype(np.float64)), segments.starts)
    sums = np.add.reduceat(values, segments.starts)
    valid = np.ones(len(sums), dtype=np.bool_)
    risky = np.flatnonzero(sizes >= _SAFE * bound)
    if len(risky):
        sums = sums.astype(object)
        _sum_step_by_step(values.astype(object), segments, risky, bound, sums, valid)
    return arithmetic.spread(segments, arithmetic.scaled(sums, kind, valid))


def _sum_step_by_step(
    values: arithmetic.Numbers, segments: Segments, groups: Indices, bound: int, sums: arithmetic.Numbers, valid: Mask
) -> None:
    """Sum the values of some groups, starting from 0 after an overflow."""
    chosen = np.isin(segments.owners, segments.present[groups])
    chosen_values = values[chosen]
    sums[groups], valid[groups] = 0, False

    def step(active: Indices, rows: Indices) -> None:
        at = groups[active]
        total = sums[at] + chosen_values[rows]
        fits = (np.abs(total) < bound).astype(np.bool_)
        sums[at] = np.where(fits, total, 0)
        valid[at] = fits

    arithmetic.walk(segments.where(chosen), step)
