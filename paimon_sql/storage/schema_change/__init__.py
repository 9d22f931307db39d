"""Changes of a table's definition: one class a kind of change, one new version of the schema a statement."""

from __future__ import annotations

from paimon_sql.storage.schema_change.add_column import AddColumn
from paimon_sql.storage.schema_change.apply import apply_changes
from paimon_sql.storage.schema_change.base import Context, SchemaChange
from paimon_sql.storage.schema_change.column_facts import UpdateColumnComment, UpdateColumnDefaultValue
from paimon_sql.storage.schema_change.column_type import UpdateColumnNullability, UpdateColumnType
from paimon_sql.storage.schema_change.drop_column import DropColumn
from paimon_sql.storage.schema_change.modify_column import ModifyColumn
from paimon_sql.storage.schema_change.options import DropPrimaryKey, RemoveOption, SetOption, UpdateComment
from paimon_sql.storage.schema_change.position import FIRST, LAST, Position, UpdateColumnPosition
from paimon_sql.storage.schema_change.rename_column import RenameColumn

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
