"""Arithmetic of aggregate functions: ordered folds over many groups, and exact decimals as unscaled integers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.storage.expressions.kernels.sorting import NOWHERE, Indices, Segments
from paimon_sql.storage.merge.aggregates.base import NUMBERS, AggregateFunction, Steps

Numbers = npt.NDArray[Any]
SHORT = 64
"""Max length of groups that are folded together, one position at a time; longer ones are folded one by one."""


class NumberFunction(AggregateFunction):
    """A function of the non-null values of a column of numbers, which can retract them."""

    types = NUMBERS
    supported_types = "a number"
    can_retract = True

    def reduce(self, steps: Steps) -> pa.Array:
        valid = steps.only_valid()
        return self.of_numbers(valid) if len(valid.segments) else pa.nulls(valid.segments.count, valid.values.type)

    @abstractmethod
    def of_numbers(self, steps: Steps) -> pa.Array:
        """As `reduce`, of some values without nulls."""


def fold(values: Numbers, segments: Segments, step: np.ufunc) -> Numbers:
    """Fold each group, floating-point values strictly from the first to the last.

    ``reduceat`` may associate floating-point operations differently, which rounds differently.

    Args:
        values: the values.
        segments: the groups; the result has one value per non-empty group.
        step: the binary function.
    """
    if values.dtype.kind != "f":
        folded: Numbers = step.reduceat(values, segments.starts, dtype=values.dtype)
        return folded
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


_LOW = 1 << 64
LONG_DIGITS = 18
"""The precision that always fits into 64 bits."""


def unscaled(values: pa.Array) -> npt.NDArray[np.object_]:
    """Return the unscaled values as Python integers; the value at a null is undefined."""
    words = np.frombuffer(values.buffers()[1], dtype="<u8")[2 * values.offset : 2 * (values.offset + len(values))]
    high = words[1::2].astype(np.int64).astype(object)
    numbers: npt.NDArray[np.object_] = high * _LOW + words[0::2].astype(object)
    return numbers


def unscaled_longs(values: pa.Array) -> npt.NDArray[np.int64]:
    """Like `unscaled`, for decimals of at most `LONG_DIGITS` digits."""
    words = np.frombuffer(values.buffers()[1], dtype="<i8")[2 * values.offset : 2 * (values.offset + len(values))]
    return words[0::2]


def scaled(numbers: npt.NDArray[np.object_] | npt.NDArray[np.int64], kind: pa.DataType, valid: np.ndarray) -> pa.Array:
    """Build decimals from unscaled integers that fit into the type; null where not valid."""
    words = np.empty((len(numbers), 2), dtype="<u8")
    if numbers.dtype == object:
        words[:, 0] = (numbers % _LOW).astype(np.uint64)
        words[:, 1] = (numbers // _LOW % _LOW).astype(np.uint64)
    else:
        words[:, 0] = numbers.view(np.uint64)
        words[:, 1] = (numbers >> 63).view(np.uint64)
    mask = None if valid.all() else pa.array(valid).buffers()[1]
    return pa.Array.from_buffers(kind, len(numbers), [mask, pa.py_buffer(words.tobytes())])


def divided(numbers: npt.NDArray[np.object_], divisor: npt.NDArray[np.object_] | int) -> npt.NDArray[np.object_]:
    """Divide, rounding to the nearest integer, halves away from zero."""
    size = np.abs(divisor)
    quotients = (2 * np.abs(numbers) + size) // (2 * size)
    negative = (numbers < 0) != (np.asarray(divisor) < 0)
    rounded: npt.NDArray[np.object_] = np.where(negative, -quotients, quotients)
    return rounded
