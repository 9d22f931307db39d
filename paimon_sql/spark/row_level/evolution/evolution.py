"""Schema evolution of row-level statements: columns that the table lacks are added before the statement runs."""

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
    """An UPDATE with schema evolution: columns that it sets get the new fields of their values."""

    statement: Update

    @property
    def incoming(self) -> Sequence[tuple[DataField, ...]]:
        return [(field,) for field in self._assigned if field is not None]

    def text(self, target: Table) -> str:
        s = self.statement
        pairs = ", ".join(f"{c} = {v}" for c, v in self._pairs_of(s.assignments, self._assigned, target))
        where = f" WHERE {s.where}" if s.where else ""
        return f"{s.ctes} UPDATE {self._target()} SET {pairs}{where}"

    @cached_property
    def _assigned(self) -> list[DataField | None]:
        return self._columns(self.statement.assignments, f"FROM {self._target()}")


_EVOLVING: dict[type[Any], type[EvolvingChange]] = {MergeInto: EvolvingMerge, Update: EvolvingUpdate}


def evolve(
    analyzer: Analyzer, catalog: Catalog, identifier: Identifier, table: Table, statement: Any
) -> tuple[Table, str]:
    """Add a statement's new columns to its table; return the table and the statement's text for it.

    Nothing changes unless the statement or an option requests schema evolution.
    """
    kind = _EVOLVING.get(type(statement))
    evolves = table.options.get(WRITE_MERGE_SCHEMA) or getattr(statement, "schema_evolution", False)
    if kind is None or not evolves:
        return table, statement.text
    case_sensitive = bool(analyzer.session.sessionState().conf().caseSensitiveAnalysis())
    change = kind(analyzer, statement, table, case_sensitive)
    has_data = table.snapshots.latest_id() is not None
    if change.evolved(table.schema, has_data=has_data) is not table.schema:
        catalog.alter_table(identifier, lambda schema: change.evolved(schema, has_data=has_data))
        evolved = catalog.table(identifier)
        dynamic = {k: v for k, v in table.schema.options.items() if evolved.schema.options.get(k) != v}
        table = evolved.with_options(dynamic)
    return table, change.text(table)
