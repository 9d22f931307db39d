"""Base class of schema changes, the context in which they apply, and the paths of nested columns."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import ArrayType, DataField, DataType, MapType, MultisetType, RowType, VectorType
from paimon_sql.storage.schema.validation import validate_change

Path: TypeAlias = tuple[str, ...]
"""A column's name, followed by the names of nested fields; parts of arrays and maps are ``element``, ``key`` and
``value``."""


@dataclass(frozen=True, slots=True)
class Context:
    """The conditions under which a change is made.

    Attributes:
        has_data: whether the table has rows that must stay readable after the change.
        case_sensitive: whether ``A`` and ``a`` are two columns (``spark.sql.caseSensitive``).
    """

    has_data: bool = True
    case_sensitive: bool = False

    def find(self, name: str, among: Iterable[str]) -> str | None:
        """Resolve a name among others; None if it matches none, or several."""
        names = list(among)
        if name in names or self.case_sensitive:
            return name if name in names else None
        matches = [n for n in names if n.lower() == name.lower()]
        return matches[0] if len(matches) == 1 else None

    def clash(self, name: str, among: Iterable[str]) -> str | None:
        """The existing name that conflicts with a new one; None if there is none."""
        return next((n for n in among if n == name or (not self.case_sensitive and n.lower() == name.lower())), None)


class SchemaChange(ABC):
    """A change of a table's schema."""

    @abstractmethod
    def apply(self, schema: TableSchema, context: Context) -> TableSchema:
        """Return the changed schema; the same object if nothing changes.

        Id and time are not changed: `apply_changes` sets them.

        Raises:
            InvalidSchemaError: the change names a column that does not exist, or keys or data forbid it.
            InvalidOptionError: an option does not exist, its value is invalid, or it must not change.
        """


def dotted(path: Path) -> str:
    """The path for messages."""
    return ".".join(path)


def missing_column(path: Path, among: Iterable[str]) -> InvalidSchemaError:
    """The error for a column or field that does not exist."""
    return InvalidSchemaError(
        f"Column '{dotted(path)}' does not exist.", remedy=f"Existing columns: {', '.join(among) or 'none'}."
    )


def refuse_key(schema: TableSchema, path: Path, verb: str, *, primary: bool) -> None:
    """Refuse a change of a partition column, or with ``primary`` of one of the primary key.

    Args:
        schema: the schema.
        path: the column.
        verb: the change in the past participle, such as ``dropped``.
        primary: whether to refuse columns of the primary key as well.
    """
    if len(path) > 1:
        return
    kind = "partition" if path[0] in schema.partition_keys else "primary key"
    if path[0] in schema.partition_keys or (primary and path[0] in schema.primary_keys):
        raise InvalidSchemaError(
            f"Column '{path[0]}' cannot be {verb}: it is a {kind} column.",
            remedy="Create a new table with the wanted columns and copy the data into it.",
        )


def apply_changes(
    schema: TableSchema,
    changes: Iterable[SchemaChange],
    *,
    has_data: bool,
    case_sensitive: bool = False,
    now: Callable[[], float] = time.time,
) -> TableSchema:
    """Apply changes one after the other, and return the next schema version.

    Args:
        schema: the latest version.
        changes: the changes; each applies to the result of those before it.
        has_data: whether the table has a snapshot.
        case_sensitive: whether ``A`` and ``a`` are two columns.
        now: the clock, in seconds.

    Returns:
        The version with the next id; the same object if nothing changes.

    Raises:
        InvalidSchemaError: a change is not possible, or the new schema would be invalid.
        InvalidOptionError: an option does not exist, its value is invalid, or it must not change.
    """
    context = Context(has_data, case_sensitive)
    changed = schema
    for change in changes:
        changed = change.apply(changed, context)
    if changed == schema:
        return schema
    validate_change(schema, changed)
    return replace(changed, id=schema.id + 1, time_millis=max(int(now() * 1000), schema.time_millis))


def parts_of(data_type: DataType) -> tuple[str, ...]:
    """The names of a type's parts: fields of a row, ``element``, or ``key`` and ``value``; none for an atomic type."""
    match data_type:
        case RowType():
            return data_type.names
        case MapType():
            return ("key", "value")
        case ArrayType() | MultisetType() | VectorType():
            return ("element",)
    return ()


def part(data_type: DataType, name: str) -> DataType:
    """The type of the part with exactly this name."""
    if isinstance(data_type, RowType):
        return data_type.field(name).type
    inner: DataType = getattr(data_type, name)
    return inner


def resolve(schema: TableSchema, path: Path, context: Context) -> Path:
    """Resolve a path: the names as spelled in the schema.

    Raises:
        InvalidSchemaError: a step does not exist; the message lists the names that do.
    """
    found: list[str] = []
    current: DataType = schema.row_type
    for step in path:
        names = parts_of(current)
        name = context.find(step, names)
        if name is None:
            raise missing_column((*found, step), names)
        found.append(name)
        current = part(current, name)
    return tuple(found)


def type_at(schema: TableSchema, path: Path) -> DataType:
    """The type at a resolved path."""
    root: DataType = schema.row_type
    return reduce(part, path, root)


def fields_at(schema: TableSchema, parent: Path) -> tuple[DataField, ...]:
    """The fields of the row type at a resolved path; the empty path is the table itself.

    Raises:
        InvalidSchemaError: the type at the path has no fields.
    """
    row = type_at(schema, parent)
    if not isinstance(row, RowType):
        label, inner = dotted(parent), parts_of(row)
        remedy = f"Its parts are {' and '.join(f'{label}.{name}' for name in inner)}." if inner else None
        raise InvalidSchemaError(f"Column '{label}' is {row.sql()} and has no fields.", remedy=remedy)
    return row.fields


def with_fields(schema: TableSchema, parent: Path, fields: Iterable[DataField]) -> TableSchema:
    """Replace the fields of the row type at a resolved path."""
    return with_type(schema, parent, RowType(type_at(schema, parent).nullable, tuple(fields)))


def with_type(schema: TableSchema, path: Path, new: DataType) -> TableSchema:
    """Replace the type at a resolved path."""
    row = _with_part(schema.row_type, path, new)
    assert isinstance(row, RowType)
    return schema if row.fields == schema.fields else replace(schema, fields=row.fields)


def _with_part(root: DataType, path: Path, new: DataType) -> DataType:
    if not path:
        return new
    step, inner = path[0], _with_part(part(root, path[0]), path[1:], new)
    if isinstance(root, RowType):
        return replace(root, fields=tuple(replace(f, type=inner) if f.name == step else f for f in root.fields))
    if isinstance(root, MapType):
        return replace(root, key=inner) if step == "key" else replace(root, value=inner)
    assert isinstance(root, ArrayType | MultisetType | VectorType)
    return replace(root, element=inner)
