"""Predicates on the elements of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.storage.expressions.predicates import ColumnStats, Predicate, canonical_floats, may_match_all


@dataclass(frozen=True)
class ContainsAny(Predicate):
    """An array contains one of several non-null values; null if it contains none of them but has nulls.

    Attributes:
        column: the array column.
        values: the values.
    """

    column: str
    values: pa.Array

    def columns(self) -> frozenset[str]:
        return frozenset([self.column])

    def evaluate(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        arrays = columns[self.column]
        if isinstance(arrays, pa.ChunkedArray):
            arrays = arrays.combine_chunks()
        elements, wanted = pc.list_flatten(arrays), self.values
        owners = pc.list_parent_indices(arrays).to_numpy(zero_copy_only=False)
        if pa.types.is_floating(elements.type):
            elements, wanted = canonical_floats(elements), canonical_floats(wanted)
        valid = pc.is_valid(elements).to_numpy(zero_copy_only=False)
        hits = pc.is_in(elements, value_set=wanted).to_numpy(zero_copy_only=False) & valid
        found, has_null = np.zeros(len(arrays), np.bool_), np.zeros(len(arrays), np.bool_)
        found[owners[hits]] = True
        has_null[owners[~valid]] = True
        unknown = pc.is_null(arrays).to_numpy(zero_copy_only=False) | (has_null & ~found)
        return pa.array(found, mask=unknown)

    def may_hold(self, stats: Mapping[str, ColumnStats]) -> pa.Array:
        return may_match_all(stats)

    def negate(self) -> Predicate | None:
        return None

    def __str__(self) -> str:
        shown = ", ".join(str(v) for v in self.values[:5])
        return f"{self.column} HOLDS ANY OF ({shown}{', …' if len(self.values) > 5 else ''})"
