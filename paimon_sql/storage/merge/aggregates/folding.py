"""Folding numbers of many groups step by step, where the order of the steps matters."""

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
"""Groups up to this length are folded together, a place at a time; longer ones each for itself."""


def fold(values: Numbers, segments: Segments, step: np.ufunc) -> Numbers:
    """Each group's values combined from the first to the last, strictly one after the other.

    ``reduceat`` may combine floating-point numbers in another order, which gives other roundings.

    Args:
        values: the values.
        segments: the groups; the result has a value for each that is not empty.
        step: the function that combines two.
    """
    lengths = np.diff(segments.starts, append=len(values))
    result = values[segments.starts]
    for group in np.flatnonzero(lengths > SHORT):
        start = segments.starts[group]
        result[group] = step.accumulate(values[start : start + lengths[group]])[-1]
    going = np.flatnonzero((lengths > 1) & (lengths <= SHORT))
    for place in range(1, SHORT):
        going = going[lengths[going] > place]
        if not len(going):
            break
        result[going] = step(result[going], values[segments.starts[going] + place])
    return result


def walk(segments: Segments, step: Callable[[Indices, Indices], None], first: int = 0) -> None:
    """Go through all groups at once, a place at a time.

    Args:
        segments: the groups.
        step: takes the numbers of groups that reach so far, among those that are not empty, and a row of each.
        first: the place to begin with.
    """
    lengths = np.diff(segments.starts, append=len(segments))
    going = np.arange(len(lengths))
    for place in range(first, int(lengths.max(initial=0))):
        going = going[lengths[going] > place]
        step(going, segments.starts[going] + place)


def spread(segments: Segments, values: pa.Array) -> pa.Array:
    """Values of the groups that are not empty, as values of all groups: null for those that are."""
    if len(values) == segments.count:
        return values
    places = np.full(segments.count, NOWHERE, dtype=np.int64)
    places[segments.present] = np.arange(len(values))
    return values.take(pa.array(places, mask=places == NOWHERE))
