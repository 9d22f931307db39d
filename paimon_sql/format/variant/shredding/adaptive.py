"""Adaptive shapes: inferred from the first rows of a file and of the previous files of the same writer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from paimon_sql.format.schema import types as t
from paimon_sql.format.variant.shredding.infer import (
    LONG_DIGITS,
    SMALL_DIGITS,
    UNSHREDDED,
    Budget,
    Limits,
    Seen,
    decimal_type,
    final,
    least_of,
    row_of,
    seen,
    widened,
)
from paimon_sql.format.variant.shredding.shred import values_of

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
