"""Registry of casts: one rule per pair of type kinds.

A rule works on whole columns. Values out of range behave like Java's casts: integers wrap, floating-point numbers
saturate, decimals that are too big become null, unparsable strings are an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import pyarrow as pa

from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.storage.expressions.kernels.conform import conform

Kind: TypeAlias = type[t.DataType]


@dataclass(frozen=True, slots=True)
class CastCall:
    """The parameters of a rule: both types, and the session time zone for timestamps with local time zone."""

    source: t.DataType
    target: t.DataType
    time_zone: str = "UTC"

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type of the result."""
        return arrow_type(self.target)


Rule: TypeAlias = Callable[[pa.Array, CastCall], pa.Array]
R = TypeVar("R", bound=Rule)

_RULES: dict[tuple[Kind, Kind], Rule] = {}

INTEGERS: tuple[Kind, ...] = (t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType)
FLOATS: tuple[Kind, ...] = (t.FloatType, t.DoubleType)
TEXTS: tuple[Kind, ...] = (t.CharType, t.VarCharType)
BYTES: tuple[Kind, ...] = (t.BinaryType, t.VarBinaryType)
TIMESTAMPS: tuple[Kind, ...] = (t.TimestampType, t.LocalZonedTimestampType)


def rule(sources: Iterable[Kind], targets: Iterable[Kind]) -> Callable[[R], R]:
    """Register a function as the rule from each of the source kinds to each of the target kinds."""
    pairs = [(source, target) for source in sources for target in targets]

    def register(function: R) -> R:
        _RULES.update(dict.fromkeys(pairs, function))
        return function

    return register


def can_cast(source: t.DataType, target: t.DataType) -> bool:
    """Whether columns of one type can be read as another; nullability does not matter.

    Children are checked too: an array casts if its elements do, a row to a string if all its fields do.
    """
    if source.as_nullable() == target.as_nullable():
        return True
    is_known = (type(source), type(target)) in _RULES
    return is_known and all(can_cast(part, t.string_type()) for part in source.children())


def cast(array: pa.Array, source: t.DataType, target: t.DataType, *, time_zone: str = "UTC") -> pa.Array:
    """Cast a column to another type.

    Args:
        array: the column, of the canonical Arrow type of ``source``.
        source: its type.
        target: the target type; its nullability is not enforced.
        time_zone: the zone of timestamps with local time zone.

    Raises:
        UnsupportedError: there is no such cast.
        InvalidInputError: a value cannot be cast, such as a string that is not a number.
    """
    if source.as_nullable() == target.as_nullable():
        return conform(array, arrow_type(target))
    apply = _RULES.get((type(source), type(target)))
    if apply is None:
        raise UnsupportedError(f"{source.sql()} cannot be cast to {target.sql()}.")
    try:
        return conform(apply(array, CastCall(source, target, time_zone)), arrow_type(target))
    except pa.ArrowInvalid as error:
        raise InvalidInputError(f"A value of type {source.sql()} cannot be read as {target.sql()}: {error}.") from error
