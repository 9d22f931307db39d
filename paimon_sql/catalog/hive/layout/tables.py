"""Layout of table entries in Hive's metastore, as Apache Paimon's Hive catalog writes and expects them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Protocol

from pymetastore.hive_metastore.ttypes import FieldSchema, SerDeInfo, StorageDescriptor, Table

from paimon_sql.catalog.hive.layout.column_types import hive_type
from paimon_sql.catalog.warehouse import lists_partitions, registered_options
from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.options.operations.snapshot import METASTORE_TAG_TO_PARTITION
from paimon_sql.format.options.table.data_file import DATA_FILE_PATH_DIRECTORY
from paimon_sql.format.options.table.partition import PARTITION_EXPIRATION_TIME
from paimon_sql.format.schema.schema import TableSchema
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
