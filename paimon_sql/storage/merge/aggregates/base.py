"""What aggregate functions are: they fold the values that a column has in the rows of a key into one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.errors import ConstraintViolationError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.merge_engine import FIELD_IGNORE_RETRACT
from paimon_sql.format.schema.types import DataField, DataType
from paimon_sql.storage.expressions.kernels.segments import NOWHERE, Mask, Segments
from paimon_sql.storage.expressions.kernels.sorting import Indices


class Effect(IntEnum):
    """What a row does to the value so far.

    A late row is one that a sequence group tells to be older than what is there: its value goes beneath.
    """

    ADD = 0
    RETRACT = 1
    LATE = 2


Effects = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Steps:
    """The values of a column that are folded, key by key from the oldest to the newest.

    Attributes:
        values: the values.
        segments: the keys that they belong to.
        effects: the `Effect` of each; None if all add.
    """

    values: pa.Array
    segments: Segments
    effects: Effects | None = None

    @cached_property
    def valid(self) -> Mask:
        """Where there is a value."""
        return valid_mask(self.values)

    @cached_property
    def adds(self) -> Mask:
        """Which rows add."""
        return self._does(Effect.ADD)

    @cached_property
    def retracts(self) -> Mask:
        """Which rows take back."""
        return self._does(Effect.RETRACT)

    @cached_property
    def lates(self) -> Mask:
        """Which rows come late."""
        return self._does(Effect.LATE)

    def where(self, mask: Mask) -> Steps:
        """Only some of the rows."""
        if mask.all():
            return self
        effects = None if self.effects is None else self.effects[mask]
        return Steps(self.values.filter(pa.array(mask)), self.segments.where(mask), effects)

    def lates_in_front(self) -> Steps:
        """The rows of each key with the late ones in front, the latest first, as if all had come in that order."""
        if self.effects is None or not self.lates.any():
            return self
        places = np.where(self.lates, -1 - self.segments.places, self.segments.places)
        order = np.lexsort((places, self.segments.owners))
        effects = np.where(self.lates, np.uint8(Effect.ADD), self.effects)[order]
        return Steps(self.values.take(pa.array(order)), self.segments, effects)

    def only_valid(self) -> Steps:
        """Without the rows that have no value."""
        return self.where(self.valid) if self.values.null_count else self

    def _does(self, effect: Effect) -> Mask:
        if self.effects is None:
            return np.full(len(self.values), effect is Effect.ADD)
        does: Mask = self.effects == effect
        return does


class AggregateFunction(ABC):
    """Folds the values of one column.

    Class attributes:
        name: the value of the option ``fields.<column>.aggregate-function``.
        wants: the types that it takes, in words.
        can_retract: whether it can take values back.

    Args:
        column: the column.
        options: the table's options.
    """

    name: ClassVar[str]
    wants: ClassVar[str] = "any type"
    can_retract: ClassVar[bool] = False

    def __init__(self, column: DataField, options: TableOptions) -> None:
        self.column = column
        self.ignores_retract = options.get(FIELD_IGNORE_RETRACT, column.name)

    @classmethod
    def takes(cls, data_type: DataType) -> bool:
        """Whether the function is for columns of the type."""
        return True

    def apply(self, steps: Steps) -> pa.Array:
        """The value that each key ends with.

        Raises:
            ConstraintViolationError: a value is taken back, which the function cannot do.
        """
        if steps.effects is not None and steps.retracts.any():
            if self.ignores_retract:
                steps = steps.where(~steps.retracts)
            elif not self.can_retract:
                raise no_retraction(self)
        if steps.effects is not None and not steps.effects.any():
            steps = Steps(steps.values, steps.segments)
        return self.reduce(steps)

    @abstractmethod
    def reduce(self, steps: Steps) -> pa.Array:
        """The value that each key ends with; rows that take back come only to functions that can."""

    def lift(self, values: pa.Array) -> pa.Array:
        """What is stored of values as they are written."""
        return values


class ChoosingFunction(AggregateFunction):
    """A function whose result is one of the values, or null."""

    @abstractmethod
    def choose(self, steps: Steps) -> Indices:
        """The position of the value that each key ends with; NOWHERE for null."""

    def reduce(self, steps: Steps) -> pa.Array:
        return taken(steps.values, self.choose(steps))


def taken(values: pa.Array, positions: Indices) -> pa.Array:
    """The values at these positions, null for NOWHERE."""
    missing = positions == NOWHERE
    return values.take(pa.array(positions, mask=missing if missing.any() else None))


def valid_mask(values: pa.Array) -> Mask:
    """Where an array has values."""
    if not values.null_count:
        return np.ones(len(values), dtype=np.bool_)
    mask: Mask = values.is_valid().to_numpy(zero_copy_only=False)
    return mask


def keeps_values(function: AggregateFunction | None) -> bool:
    """Whether what a function gives is one of the values as it is, or null; without a function it is."""
    return function is None or isinstance(function, ChoosingFunction)


def first_refusal(functions: Mapping[str, AggregateFunction]) -> ConstraintViolationError | None:
    """The error for the first of some functions that cannot take back and need to; None if there is none."""
    hard = (f for f in functions.values() if not (f.can_retract or f.ignores_retract))
    return next(map(no_retraction, hard), None)


def no_retraction(function: AggregateFunction) -> ConstraintViolationError:
    """The error for a delete or an old half of an update that a function cannot take back."""
    name = function.column.name
    return ConstraintViolationError(
        f"The aggregate function '{function.name}' of column '{name}' does not support retraction: it cannot take back"
        " what a row of kind -D or -U says.",
        remedy=f"Set 'fields.{name}.ignore-retract' = 'true', or leave such rows out.",
    )
