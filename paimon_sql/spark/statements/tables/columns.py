"""ALTER TABLE ADD (..) and MODIFY (Flink): columns with Paimon's exact types."""

from __future__ import annotations

from paimon_sql.spark.ddl.alter_table import alter_table
from paimon_sql.spark.execution.carried_statement import Answer, Runner, StatementContext
from paimon_sql.sql.context import TableName
from paimon_sql.sql.statements.tables.alter_table import AddColumns, ColumnChange, ModifyColumns
from paimon_sql.sql.types import read_type_text
from paimon_sql.storage.schema.changes import AddColumn, ModifyColumn, Position, SchemaChange


class RunAddColumns(Runner):
    """ALTER TABLE .. ADD (..)."""

    statement = AddColumns

    def run(self, statement: AddColumns, context: StatementContext) -> Answer:
        return _alter(
            context,
            statement.table,
            [AddColumn((c.name,), read_type_text(c.type), c.comment, _position(c)) for c in statement.columns],
        )


class RunModifyColumns(Runner):
    """ALTER TABLE .. MODIFY."""

    statement = ModifyColumns

    def run(self, statement: ModifyColumns, context: StatementContext) -> Answer:
        return _alter(
            context,
            statement.table,
            [ModifyColumn(c.name, read_type_text(c.type), c.comment, _position(c)) for c in statement.columns],
        )


def _alter(context: StatementContext, name: TableName, changes: list[SchemaChange]) -> Answer:
    case_sensitive = bool(context.session.sessionState().conf().caseSensitiveAnalysis())
    alter_table(context.catalog, context.identifier(name), changes, case_sensitive=case_sensitive)
    return Answer()


def _position(change: ColumnChange) -> Position | None:
    return Position(change.position, change.after) if change.position else None
