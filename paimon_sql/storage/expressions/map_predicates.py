"""Predicates on the value of a map's key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.storage.expressions.predicates import ColumnStats, Predicate, may_match_all


@dataclass(frozen=True)
class OfMapKey(Predicate):
    """A predicate on the value of a key, for a map with string keys; null if the map or the key is missing.

    Attributes:
        column: the map column.
        key: the key.
        inner: the predicate on the value, whose column is called ``value``.
    """

    column: str
    key: str
    inner: Predicate

    VALUE = "value"

    def columns(self) -> frozenset[str]:
        return frozenset([self.column])

    def evaluate(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        found = pc.map_lookup(columns[self.column], pa.scalar(self.key), "first")
        return self.inner.evaluate({self.VALUE: found})

    def may_hold(self, stats: Mapping[str, ColumnStats]) -> pa.Array:
        return may_match_all(stats)

    def negate(self) -> Predicate | None:
        opposite = self.inner.negate()
        return None if opposite is None else OfMapKey(self.column, self.key, opposite)

    @property
    def is_exact(self) -> bool:
        return self.inner.is_exact

    def __str__(self) -> str:
        return str(self.inner).replace(self.VALUE, f"{self.column}[{self.key}]", 1)
