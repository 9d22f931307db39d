"""DROP COLUMN: the data stay in old files and are never read again, for the field id is not reused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.columns.in_options import forget_storage, options_naming
from paimon_sql.storage.schema.changes.base import (
    STRICT,
    Context,
    Path,
    SchemaChange,
    dotted,
    missing_column,
    refuse_key,
)
from paimon_sql.storage.schema.changes.columns.nesting import parts_of, replace_fields, resolve, type_at


@dataclass(frozen=True)
class DropColumn(SchemaChange):
    """Drop a column, or a nested field; with ``if_exists`` a missing one is ignored."""

    path: Path
    if_exists: bool = False

    def apply(self, schema: TableSchema, context: Context = STRICT) -> TableSchema:
        parent = resolve(schema, self.path[:-1], context)
        siblings = parts_of(type_at(schema, parent))
        name = context.find(self.path[-1], siblings)
        if name is None:
            if self.if_exists:
                return schema
            raise missing_column((*parent, self.path[-1]), siblings)
        path = (*parent, name)
        refuse_key(schema, path, "dropped", primary=True)
        options: Mapping[str, str] = schema.options
        if not parent:
            options = forget_storage(options, name)
            if named := options_naming(options, name):
                raise InvalidSchemaError(
                    f"Column '{name}' cannot be dropped: the option '{named[0]}' needs it.",
                    remedy=f"Remove the option first: ALTER TABLE .. UNSET TBLPROPERTIES ('{named[0]}').",
                )

        def drop(fields: Sequence[DataField]) -> list[DataField]:
            remaining = [f for f in fields if f.name != name]
            if not remaining:
                raise InvalidSchemaError(f"Column '{dotted(path)}' cannot be dropped: it is the last one.")
            return remaining

        return replace(replace_fields(schema, parent, drop), options=options)
