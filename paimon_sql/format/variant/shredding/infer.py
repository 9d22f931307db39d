"""Inference of shapes from the variants of a file, and of the previous files of the same writer.

The rules are those of Paimon's connectors: integers become BIGINT, decimals DECIMAL(18, s) or DECIMAL(38, s),
incompatible types VARIANT; rare fields, and those beyond the max width or depth, are not shredded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from paimon_sql.format.bytes.memory import Longs
from paimon_sql.format.schema import types as t
from paimon_sql.format.variant.scalars import DECIMALS, INTEGERS, Integers, decimal_numbers, digits, whole_numbers
from paimon_sql.format.variant.shredding.shred import row_type, values_of
from paimon_sql.format.variant.values import Basic, Primitive, Values

_MAX_FIELDS = 1000
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
    """Limits of shredding.

    Attributes:
        width: max columns of all variants of a file.
        depth: max depth of fields.
        share: min share of variants that have a field.
    """

    width: int
    depth: int
    share: float


@dataclass(frozen=True)
class Seen:
    """The values seen at one path: their type, the fields of objects with their counts, the elements of arrays.

    ``type`` is VARIANT for values of incompatible types. If there are only nulls, None is used instead of `Seen`.
    """

    type: t.DataType
    fields: tuple[tuple[str, float, Seen | None], ...] = ()
    element: Seen | None = None


def shapes_of(columns: Sequence[pa.StructArray], limits: Limits) -> list[t.DataType]:
    """Infer the shape of each column of variants."""
    budget = Budget(limits.width)
    shapes = []
    for column in columns:
        values, present = values_of(column)
        min_count = least_of(float(present.sum()), limits)
        shapes.append(final(seen(values.some(present), limits.depth, min_count), min_count, budget))
    return shapes


def least_of(roots: float, limits: Limits) -> int:
    """The min number of variants, of ``roots``, that must have a field."""
    return math.ceil(roots * limits.share)


def seen(values: Values, depth: int, min_count: int = 0) -> Seen | None:
    """Summarize values up to a depth; fields of fewer than ``min_count`` objects may be omitted."""
    values = values.some(~values.is_primitive(Primitive.NULL))
    if not len(values):
        return None
    if (values.basic == Basic.OBJECT).all() and depth > 0:
        return _objects(values, depth, min_count)
    if (values.basic == Basic.ARRAY).all() and depth > 0:
        inside = values.children()
        is_null = inside.values.is_primitive(Primitive.NULL)
        # The element type of an array without non-null values is unknown, so the elements become VARIANT.
        is_known = np.bincount(inside.owners[~is_null], minlength=len(values)) > 0
        element = seen(inside.values, depth - 1, min_count) if is_known.all() else Seen(UNSHREDDED)
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


def _objects(values: Values, depth: int, min_count: int) -> Seen:
    inside = values.children()
    keys = inside.keys
    order = np.argsort(keys, kind="stable")
    distinct, first, counts = np.unique(keys[order], return_index=True, return_counts=True)
    names = values.dictionaries.names_at(distinct)
    ranks = values.dictionaries.ranks[distinct] if len(distinct) else distinct
    fields = []
    for i in np.argsort(ranks)[:_MAX_FIELDS]:
        if counts[i] >= min_count:
            of_key = order[first[i] : first[i] + counts[i]]
            fields.append((names[i], float(counts[i]), seen(inside.values.some(of_key), depth - 1, min_count)))
    return Seen(t.RowType(True, ()), fields=tuple(fields))


def _number_type(values: Values) -> t.DataType:
    """BIGINT or the DECIMAL that represents all numbers; VARIANT if there is none."""
    integers, is_integer = whole_numbers(values)
    before = digits(integers[is_integer])
    is_long = bool((before > SMALL_DIGITS).any())
    ahead, scale = int(before[before <= SMALL_DIGITS].max(initial=0)), 0
    if not is_integer.all():
        numbers, scales = _without_zeros(*decimal_numbers(values.some(~is_integer)))
        lengths = np.maximum(digits(numbers), scales)
        ahead, scale = max(ahead, int((lengths - scales).max())), int(scales.max())
    if not is_long:
        return decimal_type(ahead, scale)
    return t.BigIntType() if scale == 0 and ahead <= SMALL_DIGITS else decimal_type(max(ahead, LONG_DIGITS), scale)


def decimal_type(ahead: int, scale: int) -> t.DataType:
    """The DECIMAL with so many digits before and after the decimal point; VARIANT if there is none."""
    precision = max(1, ahead + scale)
    return t.DecimalType(True, precision, scale) if precision <= BIG_DIGITS else UNSHREDDED


def _without_zeros(numbers: Integers, scales: Longs) -> tuple[Integers, Longs]:
    """Remove trailing zeros after the decimal point."""
    while (longer := (scales > 0) & (numbers % 10 == 0)).any():
        numbers = np.where(longer, numbers // 10, numbers)
        scales = scales - longer
    return numbers, scales


@dataclass
class Budget:
    """The remaining number of columns for a file's variants."""

    left: int


def final(found: Seen | None, min_count: int, budget: Budget) -> t.DataType:
    """The shape of values, without fields that fewer than ``min_count`` of them have."""
    budget.left -= 1
    if budget.left <= 0 or found is None:
        return UNSHREDDED
    match found.type:
        case t.VariantType():
            return UNSHREDDED
        case t.RowType():
            shredded = []
            for name, count, inner in found.fields:
                if count >= min_count and budget.left > 0:
                    shredded.append((name, final(inner, min_count, budget)))
            return row_of(shredded)
        case t.ArrayType():
            return t.ArrayType(True, final(found.element, min_count, budget))
    budget.left -= 1
    return widened(found.type)


def row_of(fields: Sequence[tuple[str, t.DataType]]) -> t.DataType:
    """The ROW of fields; VARIANT if there are none."""
    return row_type(fields) if fields else UNSHREDDED


def widened(kind: t.DataType) -> t.DataType:
    """The column's type for values of a type, widened for later values."""
    if not isinstance(kind, t.DecimalType):
        return kind
    if kind.precision <= SMALL_DIGITS and kind.scale == 0:
        return t.BigIntType()
    return t.DecimalType(True, SMALL_DIGITS if kind.precision <= SMALL_DIGITS else BIG_DIGITS, kind.scale)


_NESTED = (t.RowType, t.ArrayType)


@dataclass(frozen=True)
class _Evidence:
    """The observed values of a column: the number (weight) of variants, and what was seen in them."""

    roots: float
    seen: Seen | None


class ShapeHistory:
    """The shapes of the files of one writer.

    Args:
        limits: the limits of shredding.
        max_roots: max weight of the evidence of a column, in variants: older evidence is scaled down to it.
        min_share: min share of variants for a field that was a column of the previous file.
    """

    def __init__(self, limits: Limits, max_roots: int, min_share: float) -> None:
        self._limits = limits
        self._max_roots = max_roots
        self._min_share = min_share
        self._evidence: list[_Evidence] = []
        self._shapes: list[t.DataType] = []

    @property
    def is_new(self) -> bool:
        """Whether no file has been observed."""
        return not self._evidence

    def shapes_of(self, columns: Sequence[pa.StructArray]) -> list[t.DataType]:
        """Choose the shape of each column for a file that begins with these values, and record them as evidence."""
        budget, found = Budget(self._limits.width), [self._observed(column) for column in columns]
        if self.is_new:
            self._shapes = [final(e.seen, least_of(e.roots, self._limits), budget) for e in found]
            self._evidence = [_at_most(e, self._max_roots) for e in found]
            return self._shapes
        together = [self._combined(old, new) for old, new in zip(self._evidence, found, strict=True)]
        self._shapes = [
            self._choose(all_.seen, new.seen, shape, all_.roots, budget)
            for all_, new, shape in zip(together, found, self._shapes, strict=True)
        ]
        self._evidence = together
        return self._shapes

    def _observed(self, column: pa.StructArray) -> _Evidence:
        values, present = values_of(column)
        return _Evidence(float(present.sum()), seen(values.some(present), self._limits.depth))

    def _combined(self, old: _Evidence, new: _Evidence) -> _Evidence:
        if not new.roots:
            return old
        before = _at_most(old, self._max_roots)
        return _at_most(_Evidence(before.roots + new.roots, _merged(before.seen, new.seen)), self._max_roots)

    def _choose(
        self, together: Seen | None, now: Seen | None, before: t.DataType | None, roots: float, budget: Budget
    ) -> t.DataType:
        budget.left -= 1
        if budget.left <= 0:
            return UNSHREDDED
        if now is not None and before is not None and not _are_compatible(before, now.type):
            together, before = now, None
        if together is None or together.type == UNSHREDDED:
            if now is not None and now.type != UNSHREDDED:
                together = now
            else:
                return UNSHREDDED if before is None else before
        match together.type:
            case t.RowType():
                return self._row(together, now, before, roots, budget)
            case t.ArrayType():
                element = before.element if isinstance(before, t.ArrayType) else None
                return t.ArrayType(
                    True, self._choose(together.element, now.element if now else None, element, roots, budget)
                )
        budget.left -= 1
        return _scalar(together.type, None if now is None else now.type, before)

    def _row(
        self, together: Seen, now: Seen | None, before: t.DataType | None, roots: float, budget: Budget
    ) -> t.DataType:
        old = {f.name: f.type for f in before.fields} if isinstance(before, t.RowType) else {}
        new = {name: inner for name, _, inner in now.fields} if now is not None else {}

        def is_frequent(name: str, count: float) -> bool:
            return (count / roots if roots else 0) >= (self._min_share if name in old else self._limits.share)

        candidates = sorted(
            ((name, count, inner) for name, count, inner in together.fields if is_frequent(name, count)),
            key=lambda field: (-field[1], field[0] not in old, field[0]),
        )
        chosen = []
        for name, _, inner in candidates:
            if budget.left <= 0:
                break
            chosen.append((name, self._choose(inner, new.get(name), old.get(name), roots, budget)))
        return row_of(sorted(chosen))


def _scalar(together: t.DataType, now: t.DataType | None, before: t.DataType | None) -> t.DataType:
    if now is None:
        return widened(together) if before is None else before
    if before is None:
        return widened(now)
    both = _merged_types(before, now)
    return widened(now) if both == UNSHREDDED else both


def _are_compatible(before: t.DataType, now: t.DataType) -> bool:
    if isinstance(before, _NESTED) or isinstance(now, _NESTED):
        return type(before) is type(now)
    return _merged_types(before, now) != UNSHREDDED


def _merged_types(first: t.DataType, second: t.DataType) -> t.DataType:
    if isinstance(first, t.DecimalType) and isinstance(second, t.DecimalType):
        ahead = max(first.precision - first.scale, second.precision - second.scale)
        return decimal_type(ahead, max(first.scale, second.scale))
    if isinstance(first, t.BigIntType) and isinstance(second, t.DecimalType):
        first, second = second, first
    if isinstance(first, t.DecimalType) and isinstance(second, t.BigIntType):
        if first.scale == 0 and first.precision <= SMALL_DIGITS:
            return second
        return decimal_type(max(first.precision - first.scale, LONG_DIGITS), first.scale)
    return first if first == second else UNSHREDDED


def _merged(first: Seen | None, second: Seen | None) -> Seen | None:
    if first is None or second is None:
        return first or second
    if isinstance(first.type, t.RowType) and isinstance(second.type, t.RowType):
        fields = {name: (count, inner) for name, count, inner in first.fields}
        for name, count, inner in second.fields:
            more, other = fields.get(name, (0.0, None))
            fields[name] = (more + count, _merged(other, inner))
        return Seen(first.type, tuple((name, *fields[name]) for name in sorted(fields)))
    if isinstance(first.type, t.ArrayType) and isinstance(second.type, t.ArrayType):
        return Seen(first.type, element=_merged(first.element, second.element))
    if isinstance(first.type, _NESTED) or isinstance(second.type, _NESTED):
        return Seen(UNSHREDDED)
    return Seen(_merged_types(first.type, second.type))


def _at_most(evidence: _Evidence, max_roots: int) -> _Evidence:
    if evidence.roots <= max_roots:
        return evidence
    return _Evidence(float(max_roots), _scaled(evidence.seen, max_roots / evidence.roots))


def _scaled(found: Seen | None, share: float) -> Seen | None:
    if found is None:
        return None
    fields = tuple((name, count * share, _scaled(inner, share)) for name, count, inner in found.fields)
    return replace(found, fields=fields, element=_scaled(found.element, share))
