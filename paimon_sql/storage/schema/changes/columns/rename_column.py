"""RENAME COLUMN: a new name for the same data, also in keys and options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import BlobType, DataField, walk
from paimon_sql.storage.columns.in_options import rename_column, rename_member
from paimon_sql.storage.schema.changes.base import STRICT, Context, Path, SchemaChange, dotted, refuse_key
from paimon_sql.storage.schema.changes.columns.nesting import replace_fields, resolve, type_at


@dataclass(frozen=True)
class RenameColumn(SchemaChange):
    """Rename a column, or a nested field; its id, and thus its data, stay the same."""

    path: Path
    new_name: str

    def apply(self, schema: TableSchema, context: Context = STRICT) -> TableSchema:
        path = resolve(schema, self.path, context)
        refuse_key(schema, path, "renamed", primary=False)
        old = path[-1]
        if any(isinstance(t, BlobType) for t in walk(type_at(schema, path))):
            raise InvalidSchemaError(f"Column '{dotted(path)}' cannot be renamed: its blobs are stored under its name.")
        if self.new_name == old:
            return schema

        def rename(fields: Sequence[DataField]) -> list[DataField]:
            if taken := context.clash(self.new_name, (f.name for f in fields if f.name != old)):
                raise InvalidSchemaError(f"Column '{dotted((*path[:-1], taken))}' exists already.")
            return [replace(f, name=self.new_name) if f.name == old else f for f in fields]

        changed = replace_fields(schema, path[:-1], rename)
        if len(path) > 1:
            return replace(changed, options=rename_member(schema.options, path, self.new_name))
        return replace(
            changed,
            primary_keys=tuple(self.new_name if k == old else k for k in schema.primary_keys),
            options=rename_column(schema.options, old, self.new_name),
        )
