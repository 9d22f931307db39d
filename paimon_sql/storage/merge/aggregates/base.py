"""Base classes of aggregate functions, which fold values over the rows of a key, and the types they support."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.errors import ConstraintViolationError, PaimonError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.merge_engine import FIELD_IGNORE_RETRACT
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.types import DataField, DataType, RowType
from paimon_sql.storage.expressions.kernels.sorting import NOWHERE, Indices, Mask, Segments
from paimon_sql.storage.metadata.definition import Definition, conflict, quoted_list


class Effect(IntEnum):
    """The effect of a row on the accumulated value.

    ``LATE`` is a row that its sequence group orders before rows already merged: its value does not override theirs.
    """

    ADD = 0
    RETRACT = 1
    LATE = 2


Effects = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Steps:
    """The values of a column to fold, by key, from the oldest to the newest.

    Attributes:
        values: the values.
        segments: the key of each value.
        effects: the `Effect` of each; None if all add.
    """

    values: pa.Array
    segments: Segments
    effects: Effects | None = None

    @cached_property
    def valid(self) -> Mask:
        """Mask of the values that are not null."""
        return valid_mask(self.values)

    @cached_property
    def adds(self) -> Mask:
        """Mask of the rows that add."""
        return self._has(Effect.ADD)

    @cached_property
    def retracts(self) -> Mask:
        """Mask of the rows that retract."""
        return self._has(Effect.RETRACT)

    @cached_property
    def lates(self) -> Mask:
        """Mask of the late rows."""
        return self._has(Effect.LATE)

    def where(self, mask: Mask) -> Steps:
        """Return only the rows of the mask."""
        if mask.all():
            return self
        effects = None if self.effects is None else self.effects[mask]
        return Steps(self.values.filter(pa.array(mask)), self.segments.where(mask), effects)

    def lates_in_front(self) -> Steps:
        """Return the rows of each key with the late ones first, the latest before all, as if written in that order."""
        if self.effects is None or not self.lates.any():
            return self
        positions = np.where(self.lates, -1 - self.segments.places, self.segments.places)
        order = np.lexsort((positions, self.segments.owners))
        effects = np.where(self.lates, np.uint8(Effect.ADD), self.effects)[order]
        return Steps(self.values.take(pa.array(order)), self.segments, effects)

    def only_valid(self) -> Steps:
        """Return the steps without null values."""
        return self.where(self.valid) if self.values.null_count else self

    def _has(self, effect: Effect) -> Mask:
        if self.effects is None:
            return np.full(len(self.values), effect is Effect.ADD)
        mask: Mask = self.effects == effect
        return mask


class AggregateFunction(ABC):
    """Folds the values of one column (Paimon: `FieldAggregator`).

    Class attributes:
        name: the value of the option ``fields.<column>.aggregate-function``.
        types: the types that it supports.
        supported_types: these types, in words.
        can_retract: whether it supports retractions.

    Args:
        column: the column.
        options: the table's options.
    """

    name: ClassVar[str]
    types: ClassVar[tuple[type[DataType], ...]] = (DataType,)
    supported_types: ClassVar[str] = "any type"
    can_retract: ClassVar[bool] = False

    def __init__(self, column: DataField, options: TableOptions) -> None:
        self.column = column
        self.ignores_retract = options.get(FIELD_IGNORE_RETRACT, column.name)

    @classmethod
    def supports(cls, data_type: DataType) -> bool:
        """Whether the function supports columns of the type."""
        return isinstance(data_type, cls.types)

    @classmethod
    def problems(cls, table: Definition, column: DataField) -> Iterator[PaimonError]:
        """Yield an error for each option of a table that conflicts with the function of a column."""
        yield from ()

    def apply(self, steps: Steps) -> pa.Array:
        """Return the aggregated value of each key.

        Raises:
            ConstraintViolationError: there is a retraction, which the function does not support.
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
        """Return the aggregated value of each key; only functions with ``can_retract`` get retractions."""

    def lift(self, values: pa.Array) -> pa.Array:
        """Return input values in their stored form."""
        return values


class ChoosingFunction(AggregateFunction):
    """A function whose result is one of the input values, or null."""

    @abstractmethod
    def choose(self, steps: Steps) -> Indices:
        """Return the position of each key's value; NOWHERE for null."""

    def reduce(self, steps: Steps) -> pa.Array:
        return taken(steps.values, self.choose(steps))


def taken(values: pa.Array, positions: Indices) -> pa.Array:
    """Return the values at the positions, null for NOWHERE."""
    missing = positions == NOWHERE
    return values.take(pa.array(positions, mask=missing if missing.any() else None))


def valid_mask(values: pa.Array) -> Mask:
    """Mask of the values that are not null."""
    if not values.null_count:
        return np.ones(len(values), dtype=np.bool_)
    mask: Mask = values.is_valid().to_numpy(zero_copy_only=False)
    return mask


def first_retraction_error(functions: Mapping[str, AggregateFunction]) -> ConstraintViolationError | None:
    """Return the error of the first function that does not support retraction; None if all do."""
    failing = (f for f in functions.values() if not (f.can_retract or f.ignores_retract))
    return next(map(no_retraction, failing), None)


def unknown_fields(key: str, names: Iterable[str], row: RowType) -> Iterator[PaimonError]:
    """Yield an error for each name in an option that is no field of a row type."""
    for name in names:
        if name not in row.names:
            yield conflict(
                key, f"names '{name}', which is not a field of {row.sql()}.", f"Fields are {quoted_list(row.names)}."
            )


def no_retraction(function: AggregateFunction) -> ConstraintViolationError:
    """Return the error for a retraction that the function does not support."""
    name = function.column.name
    return ConstraintViolationError(
        f"The aggregate function '{function.name}' of column '{name}' does not support retraction: it cannot"
        " retract the values of rows of kind -D or -U.",
        remedy=f"Set 'fields.{name}.ignore-retract' = 'true', or leave such rows out.",
    )


WHOLE_NUMBERS: tuple[type[t.DataType], ...] = (t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType)
NUMBERS: tuple[type[t.DataType], ...] = (*WHOLE_NUMBERS, t.FloatType, t.DoubleType, t.DecimalType)
UNORDERED = (t.ArrayType, t.MapType, t.MultisetType, t.RowType, t.VectorType, t.VariantType, t.BlobType)
"""Types without an order."""
