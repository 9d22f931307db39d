"""Layout of table entries in Hive's metastore, as Apache Paimon's Hive catalog writes and expects them.

Also the conversion of Hive's tables of plain files to format tables, and back (Paimon: `HiveTableUtils`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pymetastore.hive_metastore.ttypes import FieldSchema, SerDeInfo, StorageDescriptor, Table

from paimon_sql.catalog.hive.layout.column_types import hive_type, paimon_type
from paimon_sql.catalog.warehouse import lists_partitions, registered_options
from paimon_sql.errors import InvalidSchemaError, UnsupportedError
from paimon_sql.format.layout.partitions import DEFAULT_NAME_KEY
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.snapshot import METASTORE_TAG_TO_PARTITION
from paimon_sql.format.options.table.data_file import DATA_FILE_PATH_DIRECTORY, FILE_FORMAT
from paimon_sql.format.options.table.format_table import (
    CSV_ESCAPE_CHARACTER,
    CSV_FIELD_DELIMITER,
    CSV_INCLUDE_HEADER,
    CSV_NULL_LITERAL,
    CSV_QUOTE_CHARACTER,
)
from paimon_sql.format.options.table.partition import PARTITION_EXPIRATION_TIME
from paimon_sql.format.options.table.table import PATH, TYPE
from paimon_sql.format.schema.schema import TableSchema, new_schema
from paimon_sql.format.schema.types import DataField, string_type
from paimon_sql.storage.file_io.paths import scheme_of, without_scheme

MANAGED, EXTERNAL, VIEW = "MANAGED_TABLE", "EXTERNAL_TABLE", "VIRTUAL_VIEW"
COMMENT = "comment"
KIND = "table_type"
_INPUT = "org.apache.paimon.hive.mapred.PaimonInputFormat"
_OUTPUT = "org.apache.paimon.hive.mapred.PaimonOutputFormat"
_SERDE = "org.apache.paimon.hive.PaimonSerDe"
_OWN_PARAMETERS = {KIND: "PAIMON", "storage_handler": "org.apache.paimon.hive.PaimonStorageHandler"}
_HIVE_PREFIX = "hive."
_ALWAYS_WRITTEN = (PARTITION_EXPIRATION_TIME.key, DATA_FILE_PATH_DIRECTORY.key)
_MAX_COMMENT = 255
_FOREVER = 2**31 - 1


def is_paimon(table: TableStruct) -> bool:
    """Whether an entry is a Paimon table."""
    return table.sd is not None and (table.sd.inputFormat, table.sd.outputFormat) == (_INPUT, _OUTPUT)


def is_view(table: TableStruct) -> bool:
    """Whether an entry is a view."""
    return bool(table.tableType == VIEW)


def is_external(table: TableStruct) -> bool:
    """Whether the files of an entry are kept when it is dropped."""
    # Hive 4 makes tables without transactions external, and marks those whose files it owns by this property.
    purged = (table.parameters or {}).get("external.table.purge", "").lower() == "true"
    return table.tableType == EXTERNAL and not purged


def wants_external(options: Mapping[str, str]) -> bool:
    """Whether a table's options make it external."""
    return options.get("external", options.get("EXTERNAL", "")).lower() == "true"


def new_entry(database: str, name: str, owner: str, kind: str) -> TableStruct:
    """A new entry without columns."""
    now = int(time.time())
    entry: TableStruct = Table(
        tableName=name,
        dbName=database,
        owner=owner,
        createTime=now,
        lastAccessTime=now,
        retention=_FOREVER,
        sd=StorageDescriptor(cols=[], serdeInfo=SerDeInfo(parameters={}), parameters={}),
        partitionKeys=[],
        parameters={"EXTERNAL": "TRUE"} if kind == EXTERNAL else {},
        tableType=kind,
    )
    return entry


def describe(entry: TableStruct, schema: TableSchema, *, all_properties: bool) -> None:
    """Set an entry by a table's schema (Paimon: `HiveCatalog.updateHmsTable`).

    Args:
        entry: the entry.
        schema: the schema.
        all_properties: whether all options are written, or only those about Hive.

    Raises:
        InvalidSchemaError: names of columns differ by case alone, which Hive does not distinguish.
        UnsupportedError: Hive has no type for a column.
    """
    _check_names(schema)
    properties = table_properties(schema, all_properties=all_properties)
    entry.parameters = {**(entry.parameters or {}), **properties, **_OWN_PARAMETERS}
    if schema.comment is not None:
        entry.parameters[COMMENT] = schema.comment
    else:
        entry.parameters.pop(COMMENT, None)
    entry.sd.inputFormat, entry.sd.outputFormat, entry.sd.serdeInfo.serializationLib = _INPUT, _OUTPUT, _SERDE
    keys = schema.partition_keys if lists_partitions(schema) else ()
    entry.sd.cols = columns(f for f in schema.fields if f.name not in keys)
    entry.partitionKeys = [_column(schema.field(key)) for key in keys]
    tag_column = schema.options.get(METASTORE_TAG_TO_PARTITION.key)
    if tag_column and not schema.partition_keys:
        entry.partitionKeys = [_column(DataField(0, tag_column, string_type()))]


def forget(entry: TableStruct, before: TableSchema, after: TableSchema) -> None:
    """Remove the properties from an entry that an older schema has and a newer one does not."""
    removed = table_properties(before, all_properties=True).keys() - table_properties(after, all_properties=True).keys()
    entry.parameters = {k: v for k, v in (entry.parameters or {}).items() if k not in removed}


def table_properties(schema: TableSchema, *, all_properties: bool) -> dict[str, str]:
    """The properties of an entry by a table's schema."""
    if not all_properties:
        hive_options = {k: v for k, v in schema.options.items() if k.startswith(_HIVE_PREFIX)}
        return {**hive_options, **{k: schema.options[k] for k in _ALWAYS_WRITTEN if k in schema.options}}
    return registered_options(schema)


def columns(fields: Iterable[DataField]) -> list[ColumnStruct]:
    """Columns as in the metastore, whose comments are short and of one line."""
    found = [_column(f) for f in fields]
    for column in found:
        if column.comment is not None:
            line = column.comment.replace("\n", " ").replace("\r", " ")
            column.comment = line if len(line) <= _MAX_COMMENT else f"{line[: _MAX_COMMENT - 3]}..."
    return found


def _column(field: DataField) -> ColumnStruct:
    column: ColumnStruct = FieldSchema(name=field.name.lower(), type=hive_type(field.type), comment=field.description)
    return column


def _check_names(schema: TableSchema) -> None:
    seen: dict[str, str] = {}
    for name in schema.names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise InvalidSchemaError(f"The columns {other} and {name} differ only in case, which Hive ignores.")


_FORMAT_TABLE = "format-table"
_DELIMITER = "field.delim"
_HIVES_DELIMITER = "\x01"
_TEXT_INPUT = "org.apache.hadoop.mapred.TextInputFormat"
_TEXT_OUTPUT = "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"
_PARQUET, _ORC = "org.apache.hadoop.hive.ql.io.parquet", "org.apache.hadoop.hive.ql.io.orc"
_HIVES_DEFAULT_NAME = "__HIVE_DEFAULT_PARTITION__"
_OPEN_CSV = "org.apache.hadoop.hive.serde2.OpenCSVSerde"
_LAZY = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"


@dataclass(frozen=True)
class _Classes:
    """Hive's classes of a file format."""

    input: str
    output: str
    serde: str


_CLASSES = {
    "csv": _Classes(_TEXT_INPUT, _TEXT_OUTPUT, _LAZY),
    "text": _Classes(_TEXT_INPUT, _TEXT_OUTPUT, _LAZY),
    "json": _Classes(_TEXT_INPUT, _TEXT_OUTPUT, "org.apache.hive.hcatalog.data.JsonSerDe"),
    "parquet": _Classes(
        f"{_PARQUET}.MapredParquetInputFormat",
        f"{_PARQUET}.MapredParquetOutputFormat",
        f"{_PARQUET}.serde.ParquetHiveSerDe",
    ),
    "orc": _Classes(f"{_ORC}.OrcInputFormat", f"{_ORC}.OrcOutputFormat", f"{_ORC}.OrcSerde"),
}


def format_of(entry: TableStruct) -> str | None:
    """The format of a table of plain files; None for another entry of the metastore."""
    parameters: Mapping[str, str] = entry.parameters or {}
    # Not all files of transactional tables, and of tables with a storage handler, contain rows.
    if is_view(entry) or entry.sd is None or parameters.get("transactional", "").lower() == "true":
        return None
    if parameters.get("storage_handler") or _skipped(parameters) is None:
        return None
    serde = entry.sd.serdeInfo.serializationLib if entry.sd.serdeInfo else None
    for name in ("parquet", "orc"):
        if (entry.sd.inputFormat, serde) == (_CLASSES[name].input, _CLASSES[name].serde):
            return name
    if entry.sd.inputFormat != _TEXT_INPUT or serde is None:
        return None
    if serde.endswith("JsonSerDe"):
        return "json"
    if serde in (_LAZY, _OPEN_CSV):
        return "text" if parameters.get(KIND) == "TEXT" else "csv"
    return None


def format_schema(entry: TableStruct, location: str) -> TableSchema:
    """The schema of a table of plain files, by its entry.

    Raises:
        UnsupportedError: a column's type is not supported.
    """
    file_format, parameters = str(format_of(entry)), entry.parameters or {}
    options = {k: v for k, v in parameters.items() if k != COMMENT}
    is_hive_table = parameters.get(TYPE.key) != _FORMAT_TABLE
    if is_hive_table:
        options[DEFAULT_NAME_KEY] = _HIVES_DEFAULT_NAME
    if file_format == "csv":
        settings = entry.sd.serdeInfo.parameters or {}
        options |= _hives_text(str(entry.sd.serdeInfo.serializationLib), settings, parameters) if is_hive_table else {}
        options.setdefault(CSV_FIELD_DELIMITER.key, settings.get(_DELIMITER, _HIVES_DELIMITER))
    options |= {PATH.key: location, TYPE.key: _FORMAT_TABLE, FILE_FORMAT.key: file_format}
    keys = entry.partitionKeys or []
    return new_schema(
        [DataField(i, c.name, paimon_type(c.type), c.comment) for i, c in enumerate([*entry.sd.cols, *keys])],
        partition_keys=[c.name for c in keys],
        options=options,
        comment=parameters.get(COMMENT),
    )


def _hives_text(serde: str, settings: Mapping[str, str], parameters: Mapping[str, str]) -> dict[str, str]:
    """Hive's text format as options of a CSV table."""
    header = {CSV_INCLUDE_HEADER.key: str(bool(_skipped(parameters))).lower()}
    if serde == _OPEN_CSV:
        return {
            **header,
            CSV_FIELD_DELIMITER.key: settings.get("separatorChar", ","),
            CSV_QUOTE_CHARACTER.key: settings.get("quoteChar", '"'),
            CSV_ESCAPE_CHARACTER.key: settings.get("escapeChar", "\\"),
        }
    return {
        **header,
        CSV_FIELD_DELIMITER.key: _delimiter(settings.get(_DELIMITER, settings.get("serialization.format", "1"))),
        CSV_QUOTE_CHARACTER.key: "",
        CSV_ESCAPE_CHARACTER.key: settings.get("escape.delim", ""),
        CSV_NULL_LITERAL.key: settings.get("serialization.null.format", "\\N"),
    }


def _delimiter(text: str) -> str:
    """A delimiter, which Hive may give by its code."""
    return chr(int(text)) if text.isdecimal() else text


def _skipped(parameters: Mapping[str, str]) -> int | None:
    """The number of header lines of a text file, 0 or 1; None if Hive skips more, or footers."""
    first, last = (parameters.get(f"skip.{what}.line.count", "0").strip() for what in ("header", "footer"))
    return int(first) if first in ("0", "1") and last == "0" else None


def describe_format(entry: TableStruct, schema: TableSchema) -> None:
    """Set an entry by the schema of a format table.

    Raises:
        UnsupportedError: Hive cannot read such a table.
    """
    options = TableOptions(schema.options)
    file_format = str(options.get(FILE_FORMAT)).lower()
    classes = _CLASSES.get(file_format)
    if classes is None:
        raise UnsupportedError(
            f"Hive does not support format tables of {file_format}.", remedy=f"Use {', '.join(_CLASSES)}."
        )
    properties = {k: v for k, v in schema.options.items() if k != PATH.key}
    own = {KIND: file_format.upper(), FILE_FORMAT.key: file_format, TYPE.key: _FORMAT_TABLE}
    entry.parameters = {**(entry.parameters or {}), **properties, **own}
    if schema.comment is not None:
        entry.parameters[COMMENT] = schema.comment
    descriptor = entry.sd
    descriptor.inputFormat, descriptor.outputFormat = classes.input, classes.output
    descriptor.serdeInfo.serializationLib = classes.serde
    if file_format == "csv":
        descriptor.serdeInfo.parameters = {_DELIMITER: options.get(CSV_FIELD_DELIMITER)}
    descriptor.cols = columns(f for f in schema.fields if f.name not in schema.partition_keys)
    entry.partitionKeys = columns(schema.field(key) for key in schema.partition_keys)


class ColumnStruct(Protocol):
    """``FieldSchema``: a column."""

    name: str
    type: str
    comment: str | None


class FormatStruct(Protocol):
    """``SerDeInfo``: how rows are read and written."""

    serializationLib: str | None
    parameters: dict[str, str] | None


class FilesStruct(Protocol):
    """``StorageDescriptor``: the files of a table or a partition."""

    cols: list[ColumnStruct]
    location: str | None
    inputFormat: str | None
    outputFormat: str | None
    serdeInfo: FormatStruct


class DatabaseStruct(Protocol):
    """``Database``."""

    name: str
    description: str | None
    locationUri: str | None
    ownerName: str | None
    parameters: dict[str, str] | None


class PlacedStruct(Protocol):
    """``Table`` or ``Partition``; views of other programs may lack files."""

    sd: FilesStruct
    parameters: dict[str, str] | None


class TableStruct(PlacedStruct, Protocol):
    """``Table``: a table or a view."""

    tableName: str
    dbName: str
    owner: str
    tableType: str
    partitionKeys: list[ColumnStruct] | None
    viewOriginalText: str
    viewExpandedText: str | None


_PROPERTY = "paimon_location"


class Locations:
    """Reads and writes the locations of entries, in Hive's own fields (Paimon: `StorageLocationHelper`)."""

    def place_database(self, database: DatabaseStruct, location: str) -> None:
        """Set the location of a database."""
        database.locationUri = location

    def place(self, thing: PlacedStruct, location: str) -> None:
        """Set the location of a table or a partition."""
        thing.sd.location = location

    def of_database(self, database: DatabaseStruct) -> str | None:
        """The location of a database."""
        return plain(database.locationUri)

    def of(self, thing: PlacedStruct) -> str | None:
        """The location of a table or a partition."""
        return plain(thing.sd.location if thing.sd else None)


class InProperties(Locations):
    """Locations as properties, for storage that Hive cannot access (Paimon: `TBPropertiesLocationHelper`)."""

    def place_database(self, database: DatabaseStruct, location: str) -> None:
        database.parameters = {**(database.parameters or {}), _PROPERTY: location}
        database.locationUri = None

    def place(self, thing: PlacedStruct, location: str) -> None:
        thing.parameters = {**(thing.parameters or {}), _PROPERTY: location}

    def of_database(self, database: DatabaseStruct) -> str | None:
        return plain((database.parameters or {}).get(_PROPERTY)) or super().of_database(database)

    def of(self, thing: PlacedStruct) -> str | None:
        return plain((thing.parameters or {}).get(_PROPERTY)) or super().of(thing)


def plain(location: str | None) -> str | None:
    """A location as in tables: a local path without ``file:``, and no trailing slash."""
    if not location:
        return None
    found = location.rstrip("/") or "/"
    return without_scheme(found)[1] if scheme_of(found) == "file" else found
