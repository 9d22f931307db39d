"""Blob and vector columns: declared by options or comments, stored in data files or in files of their own.

The option ``blob-field`` turns binary columns into blobs, ``vector-field`` with ``field.<column>.vector-dim`` turns
arrays into vectors; a comment that begins with ``__BLOB_FIELD`` or ``__VECTOR_FIELD;128`` does the same for its column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from paimon_sql.errors import InvalidOptionError, InvalidSchemaError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table import row_tracking
from paimon_sql.format.options.table.index import VECTOR_FIELD, VECTOR_FILE_FORMAT
from paimon_sql.format.options.values import Option, comma_separated
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.schema import TableSchema


def is_blob(data_type: t.DataType) -> bool:
    """Whether a type is a blob, an array of blobs or a map with blob values."""
    match data_type:
        case t.BlobType() | t.ArrayType(element=t.BlobType()) | t.MapType(value=t.BlobType()):
            return True
    return False


def has_blobs(fields: Iterable[t.DataField]) -> bool:
    """Whether any column is a blob column."""
    return any(is_blob(f.type) for f in fields)


def descriptor_columns(schema: TableSchema) -> frozenset[str]:
    """Return the columns stored as blob descriptors in data files; readers fetch the blobs that they refer to."""
    named = {*_named(schema.options, row_tracking.BLOB_DESCRIPTOR_FIELD)} & {*schema.names}
    if schema.has_key:
        named |= {f.name for f in schema.fields if is_blob(f.type)} - view_columns(schema)
    return frozenset(named)


def view_columns(schema: TableSchema) -> frozenset[str]:
    """Return the columns stored as references to blobs of other tables in data files."""
    return frozenset(_named(schema.options, row_tracking.BLOB_VIEW_FIELD)) & {*schema.names}


def fields_in_blob_files(schema: TableSchema) -> tuple[t.DataField, ...]:
    """Return the columns stored in blob files beside the data files."""
    return () if schema.has_key else _with_own_blobs(schema)


def managed_by_key(schema: TableSchema) -> tuple[str, ...]:
    """Return a primary-key table's columns with blobs of its own, in blob files that rows of any data file refer to."""
    return tuple(f.name for f in _with_own_blobs(schema)) if schema.has_key else ()


def _with_own_blobs(schema: TableSchema) -> tuple[t.DataField, ...]:
    inline = [n for option in _INLINE_OPTIONS for n in _named(schema.options, option)]
    return tuple(f for f in schema.fields if is_blob(f.type) and f.name not in inline)


def _named(options: Mapping[str, str], option: Option[str | None]) -> tuple[str, ...]:
    return comma_separated(TableOptions(options).get(option))


def fields_in_vector_files(schema: TableSchema) -> tuple[t.DataField, ...]:
    """Return the columns that are stored in vector files, all in the same ones."""
    options = TableOptions(schema.options)
    if not options.get(VECTOR_FILE_FORMAT) or not options.get(row_tracking.DATA_EVOLUTION_ENABLED):
        return ()
    return tuple(f for f in schema.fields if isinstance(f.type, t.VectorType))


_BYTES = (t.BinaryType, t.VarBinaryType, t.BlobType)
_INLINE_OPTIONS = (row_tracking.BLOB_DESCRIPTOR_FIELD, row_tracking.BLOB_VIEW_FIELD)
BLOB_OPTIONS = (row_tracking.BLOB_FIELD, *_INLINE_OPTIONS)
"""The options that list blob columns."""
_DIRECTIVES: dict[str, Option[str | None]] = {
    "__BLOB_VIEW_FIELD": row_tracking.BLOB_VIEW_FIELD,
    "__BLOB_DESCRIPTOR_FIELD": row_tracking.BLOB_DESCRIPTOR_FIELD,
    "__BLOB_FIELD": row_tracking.BLOB_FIELD,
    "__VECTOR_FIELD": VECTOR_FIELD,
}
_DIRECTIVE = re.compile(r"\s*(__(?:BLOB|VECTOR)\w*)\s*(?:;(.*))?", re.DOTALL)


def blobs_and_vectors(
    fields: Iterable[t.DataField], options: Mapping[str, str]
) -> tuple[list[t.DataField], dict[str, str]]:
    """Return new columns with the types that options and comments set, and the resulting options of the table.

    Raises:
        InvalidSchemaError: a column's type cannot become a blob or vector, or a comment's directive is unknown.
        InvalidOptionError: the length of a vector is missing.
    """
    stored = dict(options)
    columns = []
    for field in fields:
        if match := _DIRECTIVE.fullmatch(field.description or ""):
            columns.append(_directed(field, match, stored))
            continue
        field = _optioned(field, stored)
        if is_blob(field.type) and not any(field.name in _named(stored, option) for option in BLOB_OPTIONS):
            _add_name(stored, row_tracking.BLOB_FIELD, field.name)
        columns.append(field)
    return columns, stored


def is_directive(comment: str | None) -> bool:
    """Whether a comment sets its column's type."""
    return _DIRECTIVE.fullmatch(comment or "") is not None


def _directed(field: t.DataField, match: re.Match[str], options: dict[str, str]) -> t.DataField:
    option = _DIRECTIVES.get(match[1])
    if option is None:
        raise InvalidSchemaError(
            f"The comment of column '{field.name}' begins with '{match[1]}', which is not a directive.",
            remedy=f"Use one of {', '.join(_DIRECTIVES)}.",
        )
    rest = (match[2] or "").strip()
    if option is VECTOR_FIELD:
        length, _, rest = rest.partition(";")
        data_type = _vector(field, length)
    else:
        data_type = _blob(field, option)
    _add_name(options, option, field.name)
    return replace(field, type=data_type, description=rest.strip() or None)


def _optioned(field: t.DataField, options: Mapping[str, str]) -> t.DataField:
    for option in BLOB_OPTIONS:
        if field.name in _named(options, option):
            return replace(field, type=_blob(field, option))
    if field.name in _named(options, VECTOR_FIELD) and not isinstance(field.type, t.VectorType):
        key = f"field.{field.name}.vector-dim"
        if key not in options:
            raise InvalidOptionError(
                f"The option '{VECTOR_FIELD.key}' names '{field.name}', whose length is not set.",
                key=key,
                remedy=f"Set '{key}' too.",
            )
        return replace(field, type=_vector(field, options[key]))
    return field


def _add_name(options: dict[str, str], option: Option[str | None], name: str) -> None:
    """Add a column to those that an option lists."""
    options[option.key] = ",".join(dict.fromkeys((*_named(options, option), name)))


def _blob(field: t.DataField, option: Option[str | None]) -> t.DataType:
    found = field.type
    match found:
        case t.ArrayType() if option is row_tracking.BLOB_FIELD and isinstance(found.element, _BYTES):
            return t.ArrayType(found.nullable, t.BlobType(found.element.nullable))
        case t.MapType() if option is row_tracking.BLOB_FIELD and isinstance(found.value, _BYTES):
            return t.MapType(found.nullable, found.key, t.BlobType(found.value.nullable))
    if isinstance(found, _BYTES):
        return t.BlobType(found.nullable)
    wanted = "BINARY, ARRAY<BINARY> or MAP<.., BINARY>" if option is row_tracking.BLOB_FIELD else "BINARY"
    raise InvalidSchemaError(
        f"Column '{field.name}' of type {found.sql()} cannot be a blob by '{option.key}'.",
        remedy=f"Declare it as {wanted}.",
    )


def _vector(field: t.DataField, length: str) -> t.DataType:
    if not re.fullmatch(r"\s*[1-9]\d*\s*", length):
        raise InvalidSchemaError(
            f"Column '{field.name}': the length of a vector must be a positive integer, not '{length}'."
        )
    if not isinstance(field.type, t.ArrayType):
        raise InvalidSchemaError(
            f"Column '{field.name}' of type {field.type.sql()} cannot be a vector.",
            remedy="Declare it as ARRAY<FLOAT>.",
        )
    return t.VectorType(field.type.nullable, field.type.element, int(length))
