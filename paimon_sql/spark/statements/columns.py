"""Flink's ALTER TABLE ADD (..) and MODIFY: columns by the exact types that they are written with."""

from __future__ import annotations

from paimon_sql.spark.alter import alter_table
from paimon_sql.spark.statements.base import Answer, Runner, Surroundings
from paimon_sql.sql.context import TableName
from paimon_sql.sql.statements.alter_table import AddColumns, ColumnChange, ModifyColumns
from paimon_sql.sql.types import read_type_text
from paimon_sql.storage.schema_change import AddColumn, ModifyColumn, Position, SchemaChange


class RunAddColumns(Runner):
    """ALTER TABLE .. ADD (..)."""

    statement = AddColumns

    def run(self, statement: AddColumns, surroundings: Surroundings) -> Answer:
        return _alter(
            surroundings,
            statement.table,
            [AddColumn((c.name,), read_type_text(c.type), c.comment, _position(c)) for c in statement.columns],
        )


class RunModifyColumns(Runner):
    """ALTER TABLE .. MODIFY."""

    statement = ModifyColumns

    def run(self, statement: ModifyColumns, surroundings: Surroundings) -> Answer:
        return _alter(
            surroundings,
            statement.table,
            [ModifyColumn(c.name, read_type_text(c.type), c.comment, _position(c)) for c in statement.columns],
        )


def _alter(surroundings: Surroundings, name: TableName, changes: list[SchemaChange]) -> Answer:
    exact = bool(surroundings.session.sessionState().conf().caseSensitiveAnalysis())
    alter_table(surroundings.catalog, surroundings.identifier(name), changes, case_sensitive=exact)
    return Answer()


def _position(change: ColumnChange) -> Position | None:
    return Position(change.position, change.after) if change.position else None
