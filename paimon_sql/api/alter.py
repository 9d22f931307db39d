"""Changes of a table's definition, as `Table.alter` takes them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.types import DataType
from paimon_sql.format.schema.types_of_arrow import fields_of
from paimon_sql.storage.schema.changes.alter_columns import AddColumn, DropColumn, RenameColumn, UpdateColumnComment
from paimon_sql.storage.schema.changes.base import Path, SchemaChange
from paimon_sql.storage.schema.changes.column_types import UpdateColumnNullability, UpdateColumnType
from paimon_sql.storage.schema.changes.options import RemoveOption, SetOption, UpdateComment

_PART = r"(?:`(?:[^`]|``)+`|[^.`]+)"
_NAME = re.compile(rf"{_PART}(?:\.{_PART})*")


@dataclass(frozen=True)
class Alteration:
    """Changes of a definition; the attributes are the arguments of `Table.alter`."""

    drop: Collection[str]
    rename: Mapping[str, str]
    add: Mapping[str, pa.DataType]
    types: Mapping[str, pa.DataType]
    nullable: Mapping[str, bool]
    comments: Mapping[str, str | None]
    options: Mapping[str, str | None]
    comment: str | None

    def changes(self) -> Iterator[SchemaChange]:
        """The changes in the order in which they apply.

        Raises:
            InvalidInputError: a name cannot be read.
            InvalidSchemaError: a type has no counterpart.
        """
        for name in self.drop:
            yield DropColumn(_path(name))
        for name, new_name in self.rename.items():
            yield RenameColumn(_path(name), new_name)
        for name, kind in self.add.items():
            yield AddColumn(_path(name), _type(name, kind))
        for name, kind in self.types.items():
            yield UpdateColumnType(_path(name), _type(name, kind))
        for name, is_nullable in self.nullable.items():
            yield UpdateColumnNullability(_path(name), is_nullable)
        for name, text in self.comments.items():
            yield UpdateColumnComment(_path(name), text or None)
        for key, value in self.options.items():
            yield RemoveOption(key) if value is None else SetOption(key, value)
        if self.comment is not None:
            yield UpdateComment(self.comment or None)


def _path(name: str) -> Path:
    """A column, or after dots a nested field; a name that has dots itself is in back-quotes."""
    if not _NAME.fullmatch(name):
        raise InvalidInputError(f"'{name}' is not the name of a column.", remedy="Write column, or column.field.")
    return tuple(part[1:-1].replace("``", "`") if part.startswith("`") else part for part in re.findall(_PART, name))


def _type(name: str, kind: pa.DataType) -> DataType:
    return fields_of(pa.schema([(name, kind)]))[0].type
