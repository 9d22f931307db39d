"""A table as Hive's metastore keeps it: what Apache Paimon's Hive catalog writes there and looks for."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from pymetastore.hive_metastore.ttypes import FieldSchema, SerDeInfo, StorageDescriptor, Table

from paimon_sql.catalog.hive.layout.column_types import hive_type
from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.commit import METASTORE_PARTITIONED_TABLE
from paimon_sql.format.options.operations.tag import METASTORE_TAG_TO_PARTITION
from paimon_sql.format.options.table.data_file import DATA_FILE_PATH_DIRECTORY
from paimon_sql.format.options.table.partition import PARTITION_EXPIRATION_TIME
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField, string_type

MANAGED, EXTERNAL, VIEW = "MANAGED_TABLE", "EXTERNAL_TABLE", "VIRTUAL_VIEW"
COMMENT = "comment"
KIND = "table_type"
_INPUT = "org.apache.paimon.hive.mapred.PaimonInputFormat"
_OUTPUT = "org.apache.paimon.hive.mapred.PaimonOutputFormat"
_SERDE = "org.apache.paimon.hive.PaimonSerDe"
_OWN_PARAMETERS = {KIND: "PAIMON", "storage_handler": "org.apache.paimon.hive.PaimonStorageHandler"}
_HIVES = "hive."
_TOLD_ANYWAY = (PARTITION_EXPIRATION_TIME.key, DATA_FILE_PATH_DIRECTORY.key)
_LONGEST_COMMENT = 255
_FOREVER = 2**31 - 1


def is_paimon(table: Any) -> bool:
    """Whether an entry of the metastore is a table of Paimon's."""
    return table.sd is not None and (table.sd.inputFormat, table.sd.outputFormat) == (_INPUT, _OUTPUT)


def is_view(table: Any) -> bool:
    """Whether an entry of the metastore is a view."""
    return bool(table.tableType == VIEW)


def is_external(table: Any) -> bool:
    """Whether the files of an entry stay when it is dropped."""
    # Hive 4 calls its tables without transactions external, and says so here if their files are its own all the same.
    purged = (table.parameters or {}).get("external.table.purge", "").lower() == "true"
    return table.tableType == EXTERNAL and not purged


def wants_external(options: Mapping[str, str]) -> bool:
    """Whether a table's options say that it is external."""
    return options.get("external", options.get("EXTERNAL", "")).lower() == "true"


def is_partitioned(schema: TableSchema) -> bool:
    """Whether the metastore lists the partitions of a table with such a definition."""
    return bool(schema.partition_keys) and bool(TableOptions(schema.options).get(METASTORE_PARTITIONED_TABLE))


def new_entry(database: str, name: str, owner: str, kind: str) -> Any:
    """An entry without columns."""
    now = int(time.time())
    entry = Table(
        tableName=name,
        dbName=database,
        owner=owner,
        createTime=now,
        lastAccessTime=now,
        retention=_FOREVER,
        sd=StorageDescriptor(cols=[], serdeInfo=SerDeInfo(parameters={}), parameters={}),
        partitionKeys=[],
        parameters={},
        tableType=kind,
    )
    if kind == EXTERNAL:
        entry.parameters["EXTERNAL"] = "TRUE"
    return entry


def describe(entry: Any, schema: TableSchema, *, all_properties: bool) -> None:
    """Let an entry say what a table's definition says.

    Args:
        entry: the entry.
        schema: the definition.
        all_properties: whether all options are told, or only those that speak of Hive.

    Raises:
        InvalidSchemaError: names of columns differ only by case, which Hive cannot tell apart.
        UnsupportedError: Hive has no type for a column.
    """
    _check_names(schema)
    told = table_properties(schema, all_properties=all_properties)
    entry.parameters = {**(entry.parameters or {}), **told, **_OWN_PARAMETERS}
    if schema.comment is not None:
        entry.parameters[COMMENT] = schema.comment
    else:
        entry.parameters.pop(COMMENT, None)
    entry.sd.inputFormat, entry.sd.outputFormat, entry.sd.serdeInfo.serializationLib = _INPUT, _OUTPUT, _SERDE
    keys = schema.partition_keys if is_partitioned(schema) else ()
    entry.sd.cols = columns(f for f in schema.fields if f.name not in keys)
    entry.partitionKeys = [_column(schema.field(key)) for key in keys]
    shown = schema.options.get(METASTORE_TAG_TO_PARTITION.key)
    if shown and not schema.partition_keys:
        entry.partitionKeys = [_column(DataField(0, shown, string_type()))]


def forget(entry: Any, before: TableSchema, after: TableSchema) -> None:
    """Take from an entry what an older definition said and a newer one does not."""
    gone = table_properties(before, all_properties=True).keys() - table_properties(after, all_properties=True).keys()
    entry.parameters = {k: v for k, v in (entry.parameters or {}).items() if k not in gone}


def table_properties(schema: TableSchema, *, all_properties: bool) -> dict[str, str]:
    """What the metastore is told of a definition beside its columns."""
    if not all_properties:
        hives = {k: v for k, v in schema.options.items() if k.startswith(_HIVES)}
        return {**hives, **{k: schema.options[k] for k in _TOLD_ANYWAY if k in schema.options}}
    keys = {"primary-key": schema.primary_keys, "partition": schema.partition_keys, "bucket-key": schema.bucket_keys}
    return {**schema.options, **{k: ",".join(names) for k, names in keys.items() if names}}


def columns(fields: Iterable[DataField]) -> list[Any]:
    """Columns as the metastore keeps them, which has place for short comments on one line."""
    found = [_column(f) for f in fields]
    for column in found:
        if column.comment is not None:
            line = column.comment.replace("\n", " ").replace("\r", " ")
            column.comment = line if len(line) <= _LONGEST_COMMENT else f"{line[: _LONGEST_COMMENT - 3]}..."
    return found


def _column(field: DataField) -> Any:
    return FieldSchema(name=field.name.lower(), type=hive_type(field.type), comment=field.description)


def _check_names(schema: TableSchema) -> None:
    seen: dict[str, str] = {}
    for name in schema.names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise InvalidSchemaError(
                f"The columns {other} and {name} differ by case alone, and Hive does not see that."
            )
