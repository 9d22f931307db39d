"""Schema changes: one class per kind of change, one new schema version per statement."""

from __future__ import annotations

from paimon_sql.storage.schema.changes.alter_columns import (
    FIRST,
    LAST,
    AddColumn,
    DropColumn,
    ModifyColumn,
    Position,
    RenameColumn,
    UpdateColumnComment,
    UpdateColumnDefaultValue,
    UpdateColumnPosition,
)
from paimon_sql.storage.schema.changes.base import Context, SchemaChange, apply_changes
from paimon_sql.storage.schema.changes.column_types import UpdateColumnNullability, UpdateColumnType
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
