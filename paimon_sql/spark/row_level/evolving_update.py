"""An UPDATE that brings fields inside of columns which its table lacks: the table gets them first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from paimon_sql.format.types import DataField
from paimon_sql.spark.row_level.evolving_change import EvolvingChange
from paimon_sql.sql.statements.rows import Update
from paimon_sql.storage.table import Table


@dataclass(frozen=True)
class EvolvingUpdate(EvolvingChange):
    """An UPDATE under schema evolution: columns that are set as a whole get the fields of their values."""

    statement: Update

    @property
    def incoming(self) -> Sequence[tuple[DataField, ...]]:
        return [(field,) for field in self._set if field is not None]

    def text(self, target: Table) -> str:
        s = self.statement
        pairs = ", ".join(f"{c} = {v}" for c, v in self._pairs_of(s.assignments, self._set, target))
        where = f" WHERE {s.where}" if s.where else ""
        return f"{s.ctes} UPDATE {self._target()} SET {pairs}{where}"

    @cached_property
    def _set(self) -> list[DataField | None]:
        return self._columns(self.statement.assignments, f"FROM {self._target()}")
