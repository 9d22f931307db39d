"""ALTER COLUMN .. TYPE and SET or DROP NOT NULL: old files stay as they are and are cast when they are read."""

from __future__ import annotations

from dataclasses import dataclass, replace

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.options.table_options import TableOptions
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import BinaryType, BlobType, CharType, DataType, VarBinaryType, VarCharType, walk
from paimon_sql.storage.columns.in_options import global_index_of
from paimon_sql.storage.schema.changes.base import CAREFUL, Context, Path, SchemaChange, dotted, refuse_key
from paimon_sql.storage.schema.changes.columns.nesting import replace_type, resolve, type_at
from paimon_sql.storage.schema.changes.columns.promotions import Promotion, same_type

_SAME_HASH = ((CharType, VarCharType), (BinaryType, VarBinaryType))


@dataclass(frozen=True)
class UpdateColumnType(SchemaChange):
    """Give a column, or a part of one, another type.

    With ``keep_nullability`` the column itself stays as nullable as it is; else the type says it.
    """

    path: Path
    type: DataType
    keep_nullability: bool = True

    def apply(self, schema: TableSchema, context: Context = CAREFUL) -> TableSchema:
        path = resolve(schema, self.path, context)
        source = type_at(schema, path)
        target = self.type.as_nullable(source.nullable) if self.keep_nullability else self.type
        promotion = Promotion.of(TableOptions(schema.options), schema.highest_field_id)
        if same_type(source, target):
            return UpdateColumnNullability(path, target.nullable).apply(schema, context)
        refuse_key(schema, path, f"changed to {target.sql()}", primary=True)
        _refuse_bound(schema, path, source, target, context)
        changed = replace_type(schema, path, lambda old: promotion.change(path, old, target))
        return replace(changed, highest_field_id=next(promotion.ids) - 1)


@dataclass(frozen=True)
class UpdateColumnNullability(SchemaChange):
    """Let a column hold null, or forbid it where the table allows to."""

    path: Path
    nullable: bool

    def apply(self, schema: TableSchema, context: Context = CAREFUL) -> TableSchema:
        path = resolve(schema, self.path, context)
        was = type_at(schema, path).nullable
        if was == self.nullable:
            return schema
        if self.nullable and path[0] in schema.primary_keys:
            raise InvalidSchemaError(f"Column '{path[0]}' cannot become nullable: it is a primary key column.")
        promotion = Promotion.of(TableOptions(schema.options), schema.highest_field_id)
        promotion.check_nullability(path, was, self.nullable)
        return replace_type(schema, path, lambda old: old.as_nullable(self.nullable))


def _refuse_bound(schema: TableSchema, path: Path, source: DataType, target: DataType, context: Context) -> None:
    """Refuse types that the place of rows or the form of files depends on."""
    where = dotted(path)
    if any(isinstance(inner, BlobType) for side in (source, target) for inner in walk(side)):
        raise InvalidSchemaError(
            f"Column '{where}' cannot change from {source.sql()} to {target.sql()}: blobs stay blobs."
        )
    if len(path) > 1:
        return
    alike = any(isinstance(source, kinds) and isinstance(target, kinds) for kinds in _SAME_HASH)
    if context.has_data and where in schema.bucket_keys and not alike:
        raise InvalidSchemaError(
            f"Column '{where}' cannot change from {source.sql()} to {target.sql()}: it is in the bucket key, and rows"
            " that exist would be looked for in other buckets.",
            remedy="Create a new table with the wanted columns and copy the data into it.",
        )
    if index := global_index_of(schema.options, where):
        raise InvalidSchemaError(
            f"Column '{where}' cannot change its type: the index of '{index}' is built on it.",
            remedy="Drop the index first.",
        )
