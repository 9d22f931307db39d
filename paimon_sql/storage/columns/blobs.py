"""Storage of blob columns: in blob files, or as references in data files."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.row_tracking import BLOB_DESCRIPTOR_FIELD, BLOB_VIEW_FIELD
from paimon_sql.format.options.values import Option, comma_separated
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import ArrayType, BlobType, DataField, DataType, MapType


def is_blob(data_type: DataType) -> bool:
    """Whether a type is a blob, an array of blobs or a map with blob values."""
    match data_type:
        case ArrayType():
            return isinstance(data_type.element, BlobType)
        case MapType():
            return isinstance(data_type.value, BlobType)
    return isinstance(data_type, BlobType)


def has_blobs(fields: Iterable[DataField]) -> bool:
    """Whether any column is a blob column."""
    return any(is_blob(f.type) for f in fields)


def descriptor_columns(schema: TableSchema) -> frozenset[str]:
    """Return the columns stored as blob descriptors in data files; readers fetch the blobs that they refer to."""
    named = {name for name in _named(schema, BLOB_DESCRIPTOR_FIELD) if name in schema.names}
    if schema.primary_keys:
        named |= {f.name for f in schema.fields if is_blob(f.type)} - view_columns(schema)
    return frozenset(named)


def view_columns(schema: TableSchema) -> frozenset[str]:
    """Return the columns stored as references to blobs of other tables in data files."""
    return frozenset(name for name in _named(schema, BLOB_VIEW_FIELD) if name in schema.names)


def fields_in_blob_files(schema: TableSchema) -> tuple[DataField, ...]:
    """Return the columns stored in blob files beside the data files."""
    blobs = tuple(f for f in schema.fields if is_blob(f.type))
    if not blobs or schema.primary_keys:
        return ()
    inline = descriptor_columns(schema) | view_columns(schema)
    return tuple(f for f in blobs if f.name not in inline)


def managed_by_key(schema: TableSchema) -> tuple[str, ...]:
    """Return a primary-key table's columns with blobs of its own, in blob files that rows of any data file refer to."""
    if not schema.primary_keys:
        return ()
    inline = {*_named(schema, BLOB_DESCRIPTOR_FIELD), *_named(schema, BLOB_VIEW_FIELD)}
    return tuple(f.name for f in schema.fields if is_blob(f.type) and f.name not in inline)


def _named(schema: TableSchema, option: Option[str | None]) -> tuple[str, ...]:
    return tuple(comma_separated(TableOptions(schema.options).get(option)))
