"""Schema changes: one class per kind of change, one new schema version per statement."""

from __future__ import annotations

from paimon_sql.storage.schema.changes.base import Context, SchemaChange, apply_changes
from paimon_sql.storage.schema.changes.columns.add_column import AddColumn
from paimon_sql.storage.schema.changes.columns.column_facts import UpdateColumnComment, UpdateColumnDefaultValue
from paimon_sql.storage.schema.changes.columns.column_type import UpdateColumnNullability, UpdateColumnType
from paimon_sql.storage.schema.changes.columns.drop_column import DropColumn
from paimon_sql.storage.schema.changes.columns.modify_column import ModifyColumn
from paimon_sql.storage.schema.changes.columns.position import FIRST, LAST, Position, UpdateColumnPosition
from paimon_sql.storage.schema.changes.columns.rename_column import RenameColumn
from paimon_sql.storage.schema.changes.options import DropPrimaryKey, RemoveOption, SetOption, UpdateComment

__all__ = [
    "FIRST",
    "LAST",
    "AddColumn",
    "Context",
    "DropColumn",
    "DropPrimaryKey",
    "ModifyColumn",
    "Position",
    "RemoveOption",
    "RenameColumn",
    "SchemaChange",
    "SetOption",
    "UpdateColumnComment",
    "UpdateColumnDefaultValue",
    "UpdateColumnNullability",
    "UpdateColumnPosition",
    "UpdateColumnType",
    "UpdateComment",
    "apply_changes",
]
