"""A condition as a filter of row groups, by the statistics that a data file itself keeps of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from paimon_sql.storage.expressions.predicates import ColumnStats, Predicate, all_of, conjuncts
from paimon_sql.storage.file_formats.base import ColumnRange


@dataclass(frozen=True)
class PredicateRowGroups:
    """Leaves out row groups in which the predicate is true for no row.

    ``types`` are the Arrow types of the columns that the predicate looks at, by their names in the file.
    """

    predicate: Predicate
    types: Mapping[str, pa.DataType]

    def may_match(self, row_count: int, columns: Mapping[str, ColumnRange]) -> bool:
        """False only if no row of the group can be wanted."""
        known = {
            name: self._stats(row_count, columns[name], kind) for name, kind in self.types.items() if name in columns
        }
        wanted = all_of([p for p in conjuncts(self.predicate) if p.columns() <= set(known)])
        if wanted is None:
            return True
        stats = {name: s for name, s in known.items() if name in wanted.columns()}
        return bool(wanted.may_hold(stats)[0].as_py())

    @staticmethod
    def _stats(row_count: int, bounds: ColumnRange, kind: pa.DataType) -> ColumnStats:
        return ColumnStats(
            minimum=pa.array([bounds.low], kind),
            maximum=pa.array([bounds.high], kind),
            null_count=pa.array([bounds.null_count], pa.int64()),
            row_count=pa.array([row_count], pa.int64()),
        )
