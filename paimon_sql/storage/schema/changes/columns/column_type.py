"""ALTER COLUMN .. TYPE and SET or DROP NOT NULL: values of old files are cast when they are read."""

from __future__ import annotations

from dataclasses import dataclass, replace

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.options.table_options import TableOptions
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import BinaryType, BlobType, CharType, DataType, VarBinaryType, VarCharType, walk
from paimon_sql.storage.columns.in_options import global_index_of
from paimon_sql.storage.schema.changes.base import STRICT, Context, Path, SchemaChange, dotted, refuse_key
from paimon_sql.storage.schema.changes.columns.nesting import replace_type, resolve, type_at
from paimon_sql.storage.schema.changes.columns.promotions import Promotion, same_type

_SAME_HASH = ((CharType, VarCharType), (BinaryType, VarBinaryType))


@dataclass(frozen=True)
class UpdateColumnType(SchemaChange):
    """Change the type of a column, or of a part of one.

    With ``keep_nullability`` the nullability of the column itself does not change; otherwise it is that of the type.
    """

    path: Path
    type: DataType
    keep_nullability: bool = True

    def apply(self, schema: TableSchema, context: Context = STRICT) -> TableSchema:
        path = resolve(schema, self.path, context)
        source = type_at(schema, path)
        target = self.type.as_nullable(source.nullable) if self.keep_nullability else self.type
        promotion = Promotion.of(TableOptions(schema.options), schema.highest_field_id)
        if same_type(source, target):
            return UpdateColumnNullability(path, target.nullable).apply(schema, context)
        refuse_key(schema, path, f"changed to {target.sql()}", primary=True)
        _refuse_dependent(schema, path, source, target, context)
        changed = replace_type(schema, path, lambda old: promotion.change(path, old, target))
        return replace(changed, highest_field_id=next(promotion.ids) - 1)


@dataclass(frozen=True)
class UpdateColumnNullability(SchemaChange):
    """Make a column nullable, or NOT NULL if the table allows that."""

    path: Path
    nullable: bool

    def apply(self, schema: TableSchema, context: Context = STRICT) -> TableSchema:
        path = resolve(schema, self.path, context)
        was = type_at(schema, path).nullable
        if was == self.nullable:
            return schema
        if self.nullable and path[0] in schema.primary_keys:
            raise InvalidSchemaError(f"Column '{path[0]}' cannot become nullable: it is a primary key column.")
        promotion = Promotion.of(TableOptions(schema.options), schema.highest_field_id)
        promotion.check_nullability(path, was, self.nullable)
        return replace_type(schema, path, lambda old: old.as_nullable(self.nullable))


def _refuse_dependent(schema: TableSchema, path: Path, source: DataType, target: DataType, context: Context) -> None:
    """Refuse changes of types on which buckets, files or indexes depend."""
    label = dotted(path)
    if any(isinstance(inner, BlobType) for side in (source, target) for inner in walk(side)):
        raise InvalidSchemaError(
            f"Column '{label}' cannot change from {source.sql()} to {target.sql()}: blobs stay blobs."
        )
    if len(path) > 1:
        return
    same_hash = any(isinstance(source, kinds) and isinstance(target, kinds) for kinds in _SAME_HASH)
    if context.has_data and label in schema.bucket_keys and not same_hash:
        raise InvalidSchemaError(
            f"Column '{label}' cannot change from {source.sql()} to {target.sql()}: it is in the bucket key, and rows"
            " that exist would be looked for in other buckets.",
            remedy="Create a new table with the wanted columns and copy the data into it.",
        )
    if index := global_index_of(schema.options, label):
        raise InvalidSchemaError(
            f"Column '{label}' cannot change its type: the index of '{index}' is built on it.",
            remedy="Drop the index first.",
        )
