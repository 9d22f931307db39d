"""ALTER TABLE: schema changes from Spark's, one function per kind of ``TableChange``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.options.table.table import PATH
from paimon_sql.spark.conversion.types import paimon_type, type_json
from paimon_sql.spark.expressions.folding import folded
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.storage.schema.changes import alter_columns, column_types, options
from paimon_sql.storage.schema.changes.alter_columns import FIRST, Position
from paimon_sql.storage.schema.changes.base import SchemaChange

_COMMENT, _LOCATION = "comment", "location"


def schema_changes(jvm: Jvm, changes: Iterable[JavaObject]) -> list[SchemaChange]:
    """Convert the changes of an ``alterTable`` call.

    Args:
        jvm: the JVM.
        changes: Java objects of the classes inside ``TableChange``.

    Raises:
        UnsupportedError: Paimon's tables do not support a kind of change.
    """
    converted: list[SchemaChange] = []
    for change in changes:
        kind = str(change.getClass().getSimpleName())
        if kind not in READERS:
            raise UnsupportedError(
                f"ALTER TABLE: Paimon tables do not support the change {kind}.", remedy=_REMEDIES.get(kind)
            )
        read = READERS[kind](change)
        if isinstance(read, alter_columns.UpdateColumnDefaultValue) and read.default:
            read = replace(read, default=folded(jvm, read.default))
        converted.append(read)
    return converted


def _set_property(change: JavaObject) -> SchemaChange:
    key, value = str(change.property()), str(change.value())
    if key == _LOCATION:
        return options.SetOption(PATH.key, value)
    return options.UpdateComment(value) if key == _COMMENT else options.SetOption(key, value)


def _remove_property(change: JavaObject) -> SchemaChange:
    key = str(change.property())
    return options.UpdateComment(None) if key == _COMMENT else options.RemoveOption(key)


def _add_column(change: JavaObject) -> SchemaChange:
    default = change.defaultValue()
    return alter_columns.AddColumn(
        _path(change),
        paimon_type(type_json(change.dataType()), bool(change.isNullable())),
        _text(change.comment()),
        _position(change.position()),
        None if default is None else str(default.getSql()),
    )


READERS: dict[str, Callable[[JavaObject], SchemaChange]] = {
    "SetProperty": _set_property,
    "RemoveProperty": _remove_property,
    "AddColumn": _add_column,
    "RenameColumn": lambda c: alter_columns.RenameColumn(_path(c), str(c.newName())),
    "DeleteColumn": lambda c: alter_columns.DropColumn(_path(c), bool(c.ifExists())),
    "UpdateColumnType": lambda c: column_types.UpdateColumnType(_path(c), paimon_type(type_json(c.newDataType()))),
    "UpdateColumnNullability": lambda c: column_types.UpdateColumnNullability(_path(c), bool(c.nullable())),
    "UpdateColumnComment": lambda c: alter_columns.UpdateColumnComment(_path(c), _text(c.newComment())),
    "UpdateColumnPosition": lambda c: alter_columns.UpdateColumnPosition(_path(c), _position(c.position()) or FIRST),
    "UpdateColumnDefaultValue": lambda c: alter_columns.UpdateColumnDefaultValue(
        _path(c), _text(c.newDefaultValue()) or None, is_sql=True
    ),
}
"""The converter of each kind of change, by the name of its class."""

_REMEDIES = {
    "ClusterBy": "Set the option 'clustering.columns'.",
    "AddConstraint": "Specify a primary key in CREATE TABLE; other constraints are not supported.",
    "DropConstraint": "A primary key cannot be dropped; other constraints are not supported.",
}


def _path(change: JavaObject) -> tuple[str, ...]:
    return tuple(str(name) for name in change.fieldNames())


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _position(position: JavaObject | None) -> Position | None:
    if position is None:
        return None
    name = position.getClass().getSimpleName()
    return Position("AFTER", str(position.column())) if name == "After" else FIRST
