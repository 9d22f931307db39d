"""Statements that change rows and may bring columns which their table lacks: the table gets them first."""

from __future__ import annotations

from typing import Any

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.format.options.spark import WRITE_MERGE_SCHEMA
from paimon_sql.spark.row_level.analysis import Analyzer
from paimon_sql.spark.row_level.evolving_change import EvolvingChange
from paimon_sql.spark.row_level.evolving_merge import EvolvingMerge
from paimon_sql.spark.row_level.evolving_update import EvolvingUpdate
from paimon_sql.sql.statements.rows import MergeInto, Update
from paimon_sql.storage.table import Table

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
