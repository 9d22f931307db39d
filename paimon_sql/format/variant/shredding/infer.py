"""What variants have in common: the fields and types that most of them share, which get columns of their own.

The rules are those of the connectors: whole numbers become BIGINT, decimals DECIMAL(18, s) or DECIMAL(38, s), types
that do not go together VARIANT; what few values have, and what goes beyond the widest or deepest shape, stays inside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_sql.format.bytes.memory import Longs
from paimon_sql.format.schema import types as t
from paimon_sql.format.variant.decimals import Whole, digits
from paimon_sql.format.variant.header import Basic, Primitive
from paimon_sql.format.variant.scalars import DECIMALS, INTEGERS, decimal_numbers, whole_numbers
from paimon_sql.format.variant.shredding.shred import values_of
from paimon_sql.format.variant.values import Values

_MOST_FIELDS = 1000
SMALL_DIGITS, BIG_DIGITS = 18, 38
LONG_DIGITS = 19
_ATOMIC: dict[tuple[Primitive, ...], t.DataType] = {
    (Primitive.TRUE, Primitive.FALSE): t.BooleanType(),
    (Primitive.DOUBLE,): t.DoubleType(),
    (Primitive.FLOAT,): t.FloatType(),
    (Primitive.DATE,): t.DateType(),
    (Primitive.TIMESTAMP,): t.LocalZonedTimestampType(),
    (Primitive.TIMESTAMP_NTZ,): t.TimestampType(),
    (Primitive.BINARY,): t.bytes_type(),
    (Primitive.STRING,): t.string_type(),
}
UNSHREDDED = t.VariantType()


@dataclass(frozen=True)
class Limits:
    """How far variants are taken apart.

    Attributes:
        width: the most columns of all variants of a file.
        depth: how deep inside values fields are looked for.
        share: in which share of the variants a field must be.
    """

    width: int
    depth: int
    share: float


@dataclass(frozen=True)
class Seen:
    """What values at one place are: a type, the fields of objects with how many have each, or the elements of arrays.

    ``type`` is VARIANT for values of types that do not go together. None instead of it all stands for null alone.
    """

    type: t.DataType
    fields: tuple[tuple[str, float, Seen | None], ...] = ()
    element: Seen | None = None


def shapes_of(columns: Sequence[pa.StructArray], limits: Limits) -> list[t.DataType]:
    """The shape of each of some columns of variants."""
    budget = Budget(limits.width)
    shapes = []
    for column in columns:
        values, present = values_of(column)
        least = least_of(float(present.sum()), limits)
        shapes.append(final(seen(values.some(present), limits.depth, least), least, budget))
    return shapes


def least_of(roots: float, limits: Limits) -> int:
    """How many of so many variants must have a field."""
    return math.ceil(roots * limits.share)


def seen(values: Values, depth: int, least: int = 0) -> Seen | None:
    """What values are, looking so deep inside; fields that fewer than ``least`` objects have need not be told."""
    values = values.some(~values.is_primitive(Primitive.NULL))
    if not len(values):
        return None
    if (values.basic == Basic.OBJECT).all() and depth > 0:
        return _objects(values, depth, least)
    if (values.basic == Basic.ARRAY).all() and depth > 0:
        inside = values.children()
        is_null = inside.values.is_primitive(Primitive.NULL)
        # An array without a value that is not null tells nothing of its elements, so that they may be anything.
        told = np.bincount(inside.owners[~is_null], minlength=len(values)) > 0
        element = seen(inside.values, depth - 1, least) if told.all() else Seen(UNSHREDDED)
        return Seen(t.ArrayType(True, UNSHREDDED), element=element)
    if (values.basic == Basic.SHORT_STRING).any():
        is_text = (values.basic == Basic.SHORT_STRING) | values.is_primitive(Primitive.STRING)
        return Seen(t.string_type() if is_text.all() else UNSHREDDED)
    for primitives, kind in _ATOMIC.items():
        if values.is_primitive(*primitives).all():
            return Seen(kind)
    if values.is_primitive(*INTEGERS, *DECIMALS).all():
        return Seen(_number_type(values))
    return Seen(UNSHREDDED)


def _objects(values: Values, depth: int, least: int) -> Seen:
    inside = values.children()
    keys = inside.keys
    order = np.argsort(keys, kind="stable")
    different, first, counts = np.unique(keys[order], return_index=True, return_counts=True)
    names = values.dictionaries.names_at(different)
    ranks = values.dictionaries.ranks[different] if len(different) else different
    fields = []
    for i in np.argsort(ranks)[:_MOST_FIELDS]:
        if counts[i] >= least:
            of_key = order[first[i] : first[i] + counts[i]]
            fields.append((names[i], float(counts[i]), seen(inside.values.some(of_key), depth - 1, least)))
    return Seen(t.RowType(True, ()), fields=tuple(fields))


def _number_type(values: Values) -> t.DataType:
    """BIGINT or the DECIMAL that has the digits of all numbers before and behind the point; VARIANT if none has."""
    whole, is_whole = whole_numbers(values)
    before = digits(whole[is_whole])
    is_long = bool((before > SMALL_DIGITS).any())
    ahead, scale = int(before[before <= SMALL_DIGITS].max(initial=0)), 0
    if not is_whole.all():
        numbers, scales = _without_zeros(*decimal_numbers(values.some(~is_whole)))
        lengths = np.maximum(digits(numbers), scales)
        ahead, scale = max(ahead, int((lengths - scales).max())), int(scales.max())
    if not is_long:
        return decimal_type(ahead, scale)
    return t.BigIntType() if scale == 0 and ahead <= SMALL_DIGITS else decimal_type(max(ahead, LONG_DIGITS), scale)


def decimal_type(ahead: int, scale: int) -> t.DataType:
    """The DECIMAL of so many digits before and behind the point; VARIANT if there is none."""
    precision = max(1, ahead + scale)
    return t.DecimalType(True, precision, scale) if precision <= BIG_DIGITS else UNSHREDDED


def _without_zeros(numbers: Whole, scales: Longs) -> tuple[Whole, Longs]:
    """Decimals without the zeros at their ends, as far as these stand behind the point."""
    while (longer := (scales > 0) & (numbers % 10 == 0)).any():
        numbers = np.where(longer, numbers // 10, numbers)
        scales = scales - longer
    return numbers, scales


@dataclass
class Budget:
    """How many columns a file's variants may still get."""

    left: int


def final(found: Seen | None, least: int, budget: Budget) -> t.DataType:
    """The shape for values that are such, of whose fields those are left out that fewer than ``least`` have."""
    budget.left -= 1
    if budget.left <= 0 or found is None:
        return UNSHREDDED
    match found.type:
        case t.VariantType():
            return UNSHREDDED
        case t.RowType():
            kept = []
            for name, count, inner in found.fields:
                if count >= least and budget.left > 0:
                    kept.append((name, final(inner, least, budget)))
            return row_of(kept)
        case t.ArrayType():
            return t.ArrayType(True, final(found.element, least, budget))
    budget.left -= 1
    return widened(found.type)


def row_of(fields: Sequence[tuple[str, t.DataType]]) -> t.DataType:
    """A row of some fields; VARIANT of none."""
    made = tuple(t.DataField(i, name, kind) for i, (name, kind) in enumerate(fields))
    return t.RowType(True, made) if made else UNSHREDDED


def widened(kind: t.DataType) -> t.DataType:
    """The type of a column for values of a type, which later values fit as well."""
    if not isinstance(kind, t.DecimalType):
        return kind
    if kind.precision <= SMALL_DIGITS and kind.scale == 0:
        return t.BigIntType()
    return t.DecimalType(True, SMALL_DIGITS if kind.precision <= SMALL_DIGITS else BIG_DIGITS, kind.scale)
