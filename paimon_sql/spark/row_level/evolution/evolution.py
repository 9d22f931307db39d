"""Statements that change rows and may bring columns which their table lacks: the table gets them first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.format.options.engines.spark import WRITE_MERGE_SCHEMA
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.row_level.analysis import Analyzer
from paimon_sql.spark.row_level.evolution.change import EvolvingChange
from paimon_sql.spark.row_level.evolution.merge import EvolvingMerge
from paimon_sql.sql.statements.rows import MergeInto, Update
from paimon_sql.storage.table.table import Table


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


_EVOLVING: dict[type[Any], type[EvolvingChange]] = {MergeInto: EvolvingMerge, Update: EvolvingUpdate}


def evolve(
    analyzer: Analyzer, catalog: Catalog, identifier: Identifier, table: Table, statement: Any
) -> tuple[Table, str]:
    """The table with what a statement brings, and the statement's text for it.

    Nothing changes unless the statement asks for schema evolution.
    """
    kind = _EVOLVING.get(type(statement))
    asked = table.options.get(WRITE_MERGE_SCHEMA) or getattr(statement, "schema_evolution", False)
    if kind is None or not asked:
        return table, statement.text
    exact = bool(analyzer.session.sessionState().conf().caseSensitiveAnalysis())
    change = kind(analyzer, statement, table, exact)
    has_data = table.snapshots.latest_id() is not None
    if change.evolved(table.schema, has_data=has_data) is not table.schema:
        catalog.alter_table(identifier, lambda schema: change.evolved(schema, has_data=has_data))
        evolved = catalog.table(identifier)
        dynamic = {k: v for k, v in table.schema.options.items() if evolved.schema.options.get(k) != v}
        table = evolved.with_options(dynamic)
    return table, change.text(table)
