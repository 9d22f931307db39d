"""ALTER TABLE ADD (..) and MODIFY (Flink): columns with Paimon's exact types."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_sql.catalog.alter_table import alter_table
from paimon_sql.spark.execution.carried_statement import Runner, StatementContext
from paimon_sql.sql.context import TableName
from paimon_sql.sql.statements.tables.alter_table import AddColumns, ColumnChange, ModifyColumns
from paimon_sql.sql.types import read_type_text
from paimon_sql.storage.schema.changes.alter_columns import AddColumn, ModifyColumn, Position
from paimon_sql.storage.schema.changes.base import SchemaChange


class RunAddColumns(Runner[AddColumns]):
    """ALTER TABLE .. ADD (..)."""

    def run(self, statement: AddColumns, context: StatementContext) -> None:
        added = [AddColumn((c.name,), read_type_text(c.type), c.comment, _position(c)) for c in statement.columns]
        _alter(context, statement.table, added)


class RunModifyColumns(Runner[ModifyColumns]):
    """ALTER TABLE .. MODIFY."""

    def run(self, statement: ModifyColumns, context: StatementContext) -> None:
        modified = [ModifyColumn(c.name, read_type_text(c.type), c.comment, _position(c)) for c in statement.columns]
        _alter(context, statement.table, modified)


def _alter(context: StatementContext, name: TableName, changes: Sequence[SchemaChange]) -> None:
    case_sensitive = context.session.case_sensitive
    alter_table(context.catalog, context.identifier(name), changes, case_sensitive=case_sensitive)


def _position(change: ColumnChange) -> Position | None:
    return Position(change.position, change.after) if change.position else None
