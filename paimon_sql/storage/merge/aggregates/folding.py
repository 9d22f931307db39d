"""Ordered folds over many groups at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.storage.expressions.kernels.segments import NOWHERE, Segments
from paimon_sql.storage.expressions.kernels.sorting import Indices

Numbers = npt.NDArray[Any]
SHORT = 64
"""Max length of groups that are folded together, one position at a time; longer ones are folded one by one."""


def fold(values: Numbers, segments: Segments, step: np.ufunc) -> Numbers:
    """Fold each group strictly from the first value to the last.

    ``reduceat`` may associate floating-point operations differently, which rounds differently.

    Args:
        values: the values.
        segments: the groups; the result has one value per non-empty group.
        step: the binary function.
    """
    lengths = np.diff(segments.starts, append=len(values))
    result = values[segments.starts]
    for group in np.flatnonzero(lengths > SHORT):
        start = segments.starts[group]
        result[group] = step.accumulate(values[start : start + lengths[group]])[-1]
    active = np.flatnonzero((lengths > 1) & (lengths <= SHORT))
    for position in range(1, SHORT):
        active = active[lengths[active] > position]
        if not len(active):
            break
        result[active] = step(result[active], values[segments.starts[active] + position])
    return result


def walk(segments: Segments, step: Callable[[Indices, Indices], None], first: int = 0) -> None:
    """Visit the rows of all groups, one position at a time.

    Args:
        segments: the groups.
        step: takes the indices, among the non-empty groups, of those that have this position, and their rows there.
        first: the first position.
    """
    lengths = np.diff(segments.starts, append=len(segments))
    active = np.arange(len(lengths))
    for position in range(first, int(lengths.max(initial=0))):
        active = active[lengths[active] > position]
        step(active, segments.starts[active] + position)


def spread(segments: Segments, values: pa.Array) -> pa.Array:
    """Expand values of the non-empty groups to all groups, null for empty ones."""
    if len(values) == segments.count:
        return values
    positions = np.full(segments.count, NOWHERE, dtype=np.int64)
    positions[segments.present] = np.arange(len(values))
    return values.take(pa.array(positions, mask=positions == NOWHERE))
