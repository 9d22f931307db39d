"""Rules about format tables and object tables."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_sql.errors import InvalidOptionError, PaimonError
from paimon_sql.format.options.table import format_table
from paimon_sql.format.options.table.data_file import FILE_FORMAT
from paimon_sql.format.schema import types as t
from paimon_sql.storage.format_tables import FORMATS
from paimon_sql.storage.metadata.definition import Definition, conflict, holds, invalid, quoted_list
from paimon_sql.storage.object_tables.definition import OBJECT_FIELDS

_NOT_EMPTY = {
    "csv": (
        format_table.CSV_FIELD_DELIMITER,
        format_table.CSV_LINE_DELIMITER,
        format_table.CSV_QUOTE_CHARACTER,
        format_table.CSV_ESCAPE_CHARACTER,
    ),
    "json": (format_table.JSON_LINE_DELIMITER,),
    "text": (format_table.TEXT_LINE_DELIMITER,),
}
_NESTED = (t.ArrayType, t.MapType, t.RowType, t.MultisetType, t.VectorType)
_UNSUPPORTED: dict[str, tuple[type[t.DataType], ...]] = {
    "csv": (*_NESTED, *t.BYTES, t.BlobType, t.VariantType),
    "json": (t.BlobType, t.VectorType),
    "orc": (t.BlobType, t.VectorType, t.VariantType),
    "parquet": (t.BlobType, t.VectorType),
}
"""The types that a file format does not support."""


def format_of_files(table: Definition) -> Iterator[PaimonError]:
    """The file format exists, and its delimiters are not empty."""
    found = _format(table)
    if found not in FORMATS:
        yield conflict(FILE_FORMAT, f"cannot be '{found}' for a format table.", f"Use one of {', '.join(FORMATS)}.")
    for option in _NOT_EMPTY.get(found, ()):
        if not table.options.get(option):
            yield conflict(option, "must not be empty.")
    table.options.get(format_table.FORMAT_TABLE_IMPLEMENTATION)


def columns_of_files(table: Definition) -> Iterator[PaimonError]:
    """Files have at least one column, and only types that their format supports."""
    found = _format(table)
    stored = [f for f in table.schema.fields if f.name not in table.schema.partition_keys]
    if not stored:
        yield invalid("A format table needs a column beside its partition columns, for its files to hold.")
    if found == "text" and stored and (len(stored) > 1 or not isinstance(stored[0].type, t.TEXTS)):
        yield invalid(
            f"Text files hold one column of type STRING, not {quoted_list(f.name for f in stored)}.",
            "Use 'csv' or 'json', or leave the others out.",
        )
    for field in stored:
        if holds(field.type, _UNSUPPORTED.get(found, ())):
            yield invalid(f"Column '{field.name}' is a {field.type.sql()}, which files of {found} cannot hold.")


def _format(table: Definition) -> str:
    try:
        return table.options.get(FILE_FORMAT).lower()
    except InvalidOptionError:
        return table.schema.options[FILE_FORMAT.key].lower()


def columns_of_objects(table: Definition) -> Iterator[PaimonError]:
    """The columns are those of all object tables."""
    if [(f.name, f.type) for f in table.schema.fields] != [(f.name, f.type) for f in OBJECT_FIELDS]:
        yield invalid("The columns of an object table are always the same.", "Leave them out.")
    if table.schema.partition_keys:
        yield invalid("An object table has no partitions.", "Leave PARTITIONED BY out.")
