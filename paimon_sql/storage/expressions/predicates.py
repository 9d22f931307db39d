"""Predicates on columns: evaluated exactly on rows, or conservatively on statistics for data skipping.

A predicate is a small immutable tree. Logic is three-valued as in SQL: a null makes it unknown, and a row is retained
only if its predicate is true. A predicate that cannot be expressed may be omitted, because a scan may always return
more rows.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True)
class ColumnStats:
    """Statistics of one column, one element per file.

    ``minimum``, ``maximum`` and ``null_count`` are null if unknown. ``minimum`` may be below and ``maximum`` above the
    real bound, as for truncated strings.
    """

    minimum: pa.Array
    maximum: pa.Array
    null_count: pa.Array
    row_count: pa.Array


class Predicate(ABC):
    """A condition on columns."""

    @abstractmethod
    def columns(self) -> frozenset[str]:
        """Return the columns that it reads."""

    @abstractmethod
    def evaluate(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        """Evaluate it for each row: true, false or null."""

    def holds(self, rows: pa.RecordBatch) -> pa.Array:
        """Return whether it is true for each row of a batch, like `evaluate`; never null."""
        return pc.fill_null(self.evaluate({name: rows.column(name) for name in self.columns()}), False)

    def may_hold(self, stats: Mapping[str, ColumnStats]) -> pa.Array:
        """Return false for each file only if it is true for none of the file's rows; never null."""
        files = len(next(iter(stats.values())).row_count) if stats else 1
        return pa.array([True] * files, pa.bool_())

    def negate(self) -> Predicate | None:
        """The predicate that is true where this one is false, and null where it is null; None if not expressible."""
        return None

    @property
    def is_exact(self) -> bool:
        """Whether `evaluate` decides each row; otherwise it may retain rows that a later evaluation drops."""
        return True

    def __str__(self) -> str:
        return repr(self)


def all_of(parts: list[Predicate]) -> Predicate | None:
    """Return the conjunction; None if empty."""
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def conjuncts(predicate: Predicate | None) -> list[Predicate]:
    """Return the predicates that must all be true."""
    if predicate is None:
        return []
    return [c for p in predicate.parts for c in conjuncts(p)] if isinstance(predicate, And) else [predicate]


def conjuncts_on(predicate: Predicate | None, columns: Collection[str]) -> Predicate | None:
    """Return the conjuncts that read only some columns: a weaker predicate; None if there are none."""
    names = frozenset(columns)
    return all_of([p for p in conjuncts(predicate) if p.columns() <= names])


KERNELS: dict[str, Callable[..., pa.Array]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_WILDCARD = re.compile(r"[%_\\]")
OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The operator of a comparison whose sides are exchanged."""


@dataclass(frozen=True)
class OfColumn(Predicate):
    """A predicate on one column."""

    column: str

    def columns(self) -> frozenset[str]:
        return frozenset([self.column])

    def may_hold(self, stats: Mapping[str, ColumnStats]) -> pa.Array:
        known = stats.get(self.column)
        outside = None if known is None else self._outside(known)
        if known is None or outside is None:
            return super().may_hold(stats)
        return pc.invert(pc.or_(pc.fill_null(outside, False), _only_nulls(known)))

    def _outside(self, known: ColumnStats) -> pa.Array | None:
        """Return true for each file whose bounds exclude it, null if unknown; None if bounds do not help."""
        return None


@dataclass(frozen=True)
class Comparison(OfColumn):
    """A comparison with a non-null value; NaN is greater than all other numbers and equal to itself."""

    operator: str
    value: pa.Scalar

    def evaluate(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        values = columns[self.column]
        if not pa.types.is_floating(values.type):
            return KERNELS[self.operator](values, self.value)
        return _compare_floats(values, self.operator, self.value)

    def _outside(self, known: ColumnStats) -> pa.Array | None:
        minimum, maximum, value = known.minimum, known.maximum, self.value
        if pa.types.is_floating(value.type):
            return None  # statistics of floating-point columns do not cover NaN
        if self.operator == "=":
            return pc.or_kleene(pc.greater(minimum, value), pc.less(maximum, value))
        if self.operator == "!=":
            if pa.types.is_string(value.type) or pa.types.is_binary(value.type):
                # A truncated bound may equal the value although the full strings do not.
                return pa.array([False] * len(minimum))
            return pc.and_kleene(pc.equal(minimum, value), pc.equal(maximum, value))
        return KERNELS[OPPOSITE[self.operator]](minimum if self.operator in ("<", "<=") else maximum, value)

    def negate(self) -> Predicate:
        return Comparison(self.column, OPPOSITE[self.operator], self.value)

    def __str__(self) -> str:
        return f"{self.column} {self.operator} {self.value}"


@dataclass(frozen=True)
class IsNull(OfColumn):
    """A column is null, or, with ``negated``, is not."""

    negated: bool = False

    def evaluate(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        values = columns[self.column]
        return pc.is_valid(values) if self.negated else pc.is_null(values)

    def may_hold(self, stats: Mapping[str, ColumnStats]) -> pa.Array:
        known = stats.get(self.column)
        if known is None:
            return super().may_hold(stats)
        return pc.invert(_only_nulls(known)) if self.negated else pc.fill_null(pc.greater(known.null_count, 0), True)

    def negate(self) -> Predicate:
        return IsNull(self.column, not self.negated)

    def __str__(self) -> str:
        return f"{self.column} IS {'NOT ' if self.negated else ''}NULL"


@dataclass(frozen=True)
class In(OfColumn):
    """A column equals one of several non-null values."""

    values: pa.Array

    def evaluate(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        values = columns[self.column]
        return pc.if_else(pc.is_valid(values), _is_in(values, self.values), pa.scalar(None, pa.bool_()))

    def _outside(self, known: ColumnStats) -> pa.Array | None:
        if not len(self.values) or pa.types.is_floating(self.values.type):
            return None
        minimum, maximum = pc.min(self.values), pc.max(self.values)
        return pc.or_kleene(pc.greater(known.minimum, maximum), pc.less(known.maximum, minimum))

    def __str__(self) -> str:
        return f"{self.column} IN ({_shown(self.values)})"


def canonical_floats(values: pa.Array) -> pa.Array:
    """Make equal floating-point values bitwise equal: zeros of either sign, and all NaNs."""
    positive = pc.add(values, pa.scalar(0, values.type))
    return pc.if_else(pc.is_nan(positive), pa.scalar(float("nan"), values.type), positive)


def _is_in(values: pa.Array, wanted: pa.Array) -> pa.Array:
    """Return whether each value is one of others; false for null."""
    if pa.types.is_floating(values.type):
        values, wanted = canonical_floats(values), canonical_floats(wanted)
    return pc.is_in(values, value_set=wanted)


def _shown(values: pa.Array) -> str:
    shown = ", ".join(map(str, values[:5]))
    return f"{shown}, …" if len(values) > 5 else shown


@dataclass(frozen=True)
class StartsWith(OfColumn):
    """A string column begins with a prefix."""

    prefix: str

    def evaluate(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        return pc.starts_with(columns[self.column], self.prefix)

    def _outside(self, known: ColumnStats) -> pa.Array | None:
        above = pc.greater(pc.utf8_slice_codeunits(known.minimum, 0, len(self.prefix)), self.prefix)
        return pc.or_kleene(above, pc.less(known.maximum, self.prefix))

    def __str__(self) -> str:
        return f"{self.column} LIKE '{self.prefix}%'"


@dataclass(frozen=True)
class Like(OfColumn):
    r"""A string column matches a pattern of ``%`` and ``_``, escaped by ``\``, or, with ``negated``, does not."""

    pattern: str
    negated: bool = False

    def evaluate(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        matches = pc.match_like(columns[self.column], self.pattern)
        return pc.invert(matches) if self.negated else matches

    def _outside(self, known: ColumnStats) -> pa.Array | None:
        prefix = _WILDCARD.split(self.pattern, maxsplit=1)[0]
        return None if self.negated or not prefix else StartsWith(self.column, prefix)._outside(known)

    def negate(self) -> Predicate:
        return Like(self.column, self.pattern, not self.negated)

    def __str__(self) -> str:
        return f"{self.column} {'NOT ' if self.negated else ''}LIKE '{self.pattern}'"


@dataclass(frozen=True)
class _Junction(Predicate):
    """Several predicates, joined by a keyword."""

    parts: tuple[Predicate, ...]

    word: ClassVar[str]
    _join: ClassVar[Callable[..., pa.Array]]
    _join_known: ClassVar[Callable[..., pa.Array]]

    @property
    def is_exact(self) -> bool:
        return all(p.is_exact for p in self.parts)

    def columns(self) -> frozenset[str]:
        return frozenset().union(*(p.columns() for p in self.parts))

    def evaluate(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        return reduce(self._join, [p.evaluate(columns) for p in self.parts])

    def may_hold(self, stats: Mapping[str, ColumnStats]) -> pa.Array:
        return reduce(self._join_known, [p.may_hold(stats) for p in self.parts])

    def negate(self) -> Predicate | None:
        parts = [p.negate() for p in self.parts]
        known = tuple(p for p in parts if p is not None)
        if len(known) < len(parts):
            return None
        return Or(known) if isinstance(self, And) else And(known)

    def __str__(self) -> str:
        return "(" + f" {self.word} ".join(str(p) for p in self.parts) + ")"


class And(_Junction):
    """All of the predicates are true."""

    word = "AND"
    _join = staticmethod(pc.and_kleene)
    _join_known = staticmethod(pc.and_)


class Or(_Junction):
    """At least one of the predicates is true."""

    word = "OR"
    _join = staticmethod(pc.or_kleene)
    _join_known = staticmethod(pc.or_)


def _only_nulls(known: ColumnStats) -> pa.Array:
    return pc.fill_null(pc.equal(known.null_count, known.row_count), False)


def _compare_floats(values: pa.Array, operator: str, value: pa.Scalar) -> pa.Array:
    """Compare in Spark's order of floating-point numbers: NaN equals itself and is greater than everything else."""
    is_nan = pc.is_nan(values)
    if pc.is_nan(value).as_py():
        return KERNELS[operator](is_nan.cast(pa.int8()), pa.scalar(1, pa.int8()))
    plain = KERNELS[operator](values, value)
    return pc.or_(plain, is_nan) if operator in (">", ">=") else plain


@dataclass(frozen=True)
class ContainsAny(OfColumn):
    """An array contains one of several non-null values; null if it contains none of them but has nulls.

    Attributes:
        column: the array column.
        values: the values.
    """

    values: pa.Array

    def evaluate(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        arrays = columns[self.column]
        if isinstance(arrays, pa.ChunkedArray):
            arrays = arrays.combine_chunks()
        elements = pc.list_flatten(arrays)
        owners = pc.list_parent_indices(arrays).to_numpy(zero_copy_only=False)
        valid = pc.is_valid(elements).to_numpy(zero_copy_only=False)
        hits = _is_in(elements, self.values).to_numpy(zero_copy_only=False) & valid
        found, has_null = np.zeros(len(arrays), np.bool_), np.zeros(len(arrays), np.bool_)
        found[owners[hits]] = True
        has_null[owners[~valid]] = True
        unknown = pc.is_null(arrays).to_numpy(zero_copy_only=False) | (has_null & ~found)
        return pa.array(found, mask=unknown)

    def __str__(self) -> str:
        return f"{self.column} CONTAINS ANY OF ({_shown(self.values)})"


@dataclass(frozen=True)
class OfMapKey(OfColumn):
    """A predicate on the value of a key, for a map with string keys; null if the map or the key is missing.

    Attributes:
        column: the map column.
        key: the key.
        inner: the predicate on the value, whose column is called ``value``.
    """

    key: str
    inner: Predicate

    VALUE = "value"

    def evaluate(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        found = pc.map_lookup(columns[self.column], pa.scalar(self.key), "first")
        return self.inner.evaluate({self.VALUE: found})

    def negate(self) -> Predicate | None:
        opposite = self.inner.negate()
        return None if opposite is None else OfMapKey(self.column, self.key, opposite)

    @property
    def is_exact(self) -> bool:
        return self.inner.is_exact

    def __str__(self) -> str:
        return str(self.inner).replace(self.VALUE, f"{self.column}[{self.key}]", 1)
