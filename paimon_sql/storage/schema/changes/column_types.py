"""Changes of column types and nullability: allowed are the casts that values of old files can be read with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.options.table.table import ALTER_COLUMN_NULL_TO_NOT_NULL_DISABLED, DISABLE_EXPLICIT_TYPE_CASTING
from paimon_sql.format.options.values import TableOptions
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import BinaryType, BlobType, CharType, DataType, VarBinaryType, VarCharType, walk
from paimon_sql.storage.columns.in_options import global_index_of
from paimon_sql.storage.expressions.casts import can_cast
from paimon_sql.storage.schema.changes.base import (
    Context,
    Path,
    SchemaChange,
    dotted,
    refuse_key,
    resolve,
    type_at,
    with_type,
)

_INTEGERS: dict[type[t.DataType], int] = {t.TinyIntType: 3, t.SmallIntType: 5, t.IntType: 10, t.BigIntType: 19}
"""The integers with the number of digits of their max values."""
_WIDER: dict[type[t.DataType], tuple[type[t.DataType], ...]] = {
    t.TinyIntType: (t.SmallIntType, t.IntType, t.BigIntType, t.FloatType, t.DoubleType),
    t.SmallIntType: (t.IntType, t.BigIntType, t.FloatType, t.DoubleType),
    t.IntType: (t.BigIntType, t.DoubleType),
    t.FloatType: (t.DoubleType,),
    t.DateType: (t.TimestampType,),
}
_LENGTHS = (t.CharType, t.VarCharType, t.BinaryType, t.VarBinaryType)
_TIMES = (t.TimeType, t.TimestampType, t.LocalZonedTimestampType)


@dataclass(frozen=True, slots=True)
class Promotion:
    """The rules of a table for changes of types.

    A change is allowed if the values of old files can be cast as by a SQL CAST; with ``disable-explicit-type-casting``
    only if every value of the old type is a value of the new one.

    Attributes:
        widening_only: whether every old value must be preserved.
        not_null_allowed: whether a nullable type may become NOT NULL.
        ids: the ids for new fields.
    """

    widening_only: bool
    not_null_allowed: bool
    ids: count[int]

    @classmethod
    def of(cls, options: TableOptions, highest_field_id: int) -> Promotion:
        """The rules by a table's options."""
        return cls(
            options.get(DISABLE_EXPLICIT_TYPE_CASTING),
            not options.get(ALTER_COLUMN_NULL_TO_NOT_NULL_DISABLED),
            count(highest_field_id + 1),
        )

    def change(self, path: Path, source: t.DataType, target: t.DataType) -> t.DataType:
        """Return a column's type after the change; nested fields are matched by name and keep their ids.

        Args:
            path: the column, for messages.
            source: its current type.
            target: the wanted type; its nested ids are ignored.

        Raises:
            InvalidSchemaError: old values could not be read as the new type.
        """
        self.check_nullability(path, source.nullable, target.nullable)
        match source, target:
            case t.RowType(), t.RowType():
                return self._row(path, source, target)
            case t.ArrayType(), t.ArrayType():
                return replace(target, element=self.change((*path, "element"), source.element, target.element))
            case t.MultisetType(), t.MultisetType():
                return replace(target, element=self.change((*path, "element"), source.element, target.element))
            case t.MapType(), t.MapType():
                key = self._key((*path, "key"), source.key, target.key)
                return replace(target, key=key, value=self.change((*path, "value"), source.value, target.value))
        castable = can_cast(source, target)
        if not castable or (self.widening_only and not is_widening(source, target)):
            why = " without losing information" if castable else ": existing rows cannot be read as the new type"
            raise InvalidSchemaError(
                f"Column '{dotted(path)}' cannot change from {source.sql()} to {target.sql()}{why}.",
                remedy="Add a new column of the wanted type and fill it with UPDATE.",
            )
        return target

    def check_nullability(self, path: Path, was: bool, becomes: bool) -> None:
        """Refuse that a nullable column becomes NOT NULL, unless the table allows it."""
        if was and not becomes and not self.not_null_allowed:
            raise InvalidSchemaError(
                f"Column '{dotted(path)}' is nullable and cannot become NOT NULL: rows that exist may hold null.",
                remedy=f"If none does, set '{ALTER_COLUMN_NULL_TO_NOT_NULL_DISABLED.key}' = 'false' first.",
            )

    def _key(self, path: Path, source: t.DataType, target: t.DataType) -> t.DataType:
        """Refuse a change of a map's key type, for two keys could become equal."""
        if not same_type(source, target):
            raise InvalidSchemaError(
                f"Column '{dotted(path)}' cannot change from {source.sql()} to {target.sql()}: it is a map's key."
            )
        return source

    def _row(self, path: Path, source: t.RowType, target: t.RowType) -> t.DataType:
        old = {f.name: f for f in source.fields}
        retained = [f.name for f in target.fields if f.name in old]
        if retained != [name for name in source.names if name in retained]:
            raise InvalidSchemaError(
                f"Column '{dotted(path)}': the order of the fields {', '.join(retained)} must not change.",
                remedy="Move a field with ALTER COLUMN .. AFTER.",
            )
        fields = []
        for field in target.fields:
            nested_path = (*path, field.name)
            if existing := old.get(field.name):
                changed = self.change(nested_path, existing.type, field.type)
                fields.append(replace(field, id=existing.id, type=changed, default=existing.default))
            else:
                self.check_nullability(nested_path, True, field.type.nullable)
                field_id = next(self.ids)
                fields.append(replace(field, id=field_id, type=t.reassign_ids(field.type, self.ids.__next__)))
        return t.RowType(target.nullable, tuple(fields))


def is_widening(source: t.DataType, target: t.DataType) -> bool:
    """Whether every value of an atomic type is a value of another, ignoring nullability."""
    if source.as_nullable() == target.as_nullable() or type(target) in _WIDER.get(type(source), ()):
        return True
    match source, target:
        case t.DecimalType(), t.DecimalType():
            return target.scale >= source.scale and (target.precision - target.scale >= source.precision - source.scale)
        case _, t.DecimalType() if type(source) in _INTEGERS:
            return target.precision - target.scale >= _INTEGERS[type(source)]
    if isinstance(source, _TIMES) and isinstance(target, _TIMES) and type(source) is type(target):
        return target.precision >= source.precision
    if isinstance(source, _LENGTHS) and isinstance(target, t.VarCharType | t.VarBinaryType):
        same_kind = isinstance(source, t.CharType | t.VarCharType) == isinstance(target, t.VarCharType)
        return same_kind and target.length >= source.length
    return isinstance(source, t.CharType) and isinstance(target, t.CharType) and target.length >= source.length


def same_type(source: t.DataType, target: t.DataType) -> bool:
    """Whether two types are equal except for their own nullability and nested ids."""
    return _without_ids(source) == _without_ids(target)


def _without_ids(data_type: t.DataType) -> t.DataType:
    return t.reassign_ids(data_type.as_nullable(), lambda: 0)


_SAME_HASH = ((CharType, VarCharType), (BinaryType, VarBinaryType))


@dataclass(frozen=True)
class UpdateColumnType(SchemaChange):
    """Change the type of a column, or of a part of one.

    With ``keep_nullability`` the nullability of the column itself does not change; otherwise it is that of the type.
    """

    path: Path
    type: DataType
    keep_nullability: bool = True

    def apply(self, schema: TableSchema, context: Context) -> TableSchema:
        path = resolve(schema, self.path, context)
        source = type_at(schema, path)
        target = self.type.as_nullable(source.nullable) if self.keep_nullability else self.type
        promotion = Promotion.of(TableOptions(schema.options), schema.highest_field_id)
        if same_type(source, target):
            return UpdateColumnNullability(path, target.nullable).apply(schema, context)
        refuse_key(schema, path, f"changed to {target.sql()}", primary=True)
        _refuse_dependent(schema, path, source, target, context)
        changed = with_type(schema, path, promotion.change(path, source, target))
        return replace(changed, highest_field_id=next(promotion.ids) - 1)


@dataclass(frozen=True)
class UpdateColumnNullability(SchemaChange):
    """Make a column nullable, or NOT NULL if the table allows that."""

    path: Path
    nullable: bool

    def apply(self, schema: TableSchema, context: Context) -> TableSchema:
        path = resolve(schema, self.path, context)
        source = type_at(schema, path)
        if source.nullable == self.nullable:
            return schema
        if self.nullable and path[0] in schema.primary_keys:
            raise InvalidSchemaError(f"Column '{path[0]}' cannot become nullable: it is a primary key column.")
        promotion = Promotion.of(TableOptions(schema.options), schema.highest_field_id)
        promotion.check_nullability(path, source.nullable, self.nullable)
        return with_type(schema, path, source.as_nullable(self.nullable))


def _refuse_dependent(schema: TableSchema, path: Path, source: DataType, target: DataType, context: Context) -> None:
    """Refuse changes of types on which buckets, files or indexes depend."""
    label = dotted(path)
    if any(isinstance(inner, BlobType) for side in (source, target) for inner in walk(side)):
        raise InvalidSchemaError(
            f"Column '{label}' cannot change from {source.sql()} to {target.sql()}: the type of blobs is fixed."
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
