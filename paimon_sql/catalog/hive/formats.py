"""Tables of plain files among Hive's own, as format tables, and format tables as Hive keeps its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paimon_sql.catalog.hive.column_types import paimon_type
from paimon_sql.catalog.hive.layout import COMMENT, KIND, columns, is_view
from paimon_sql.errors import UnsupportedError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.data_file import FILE_FORMAT
from paimon_sql.format.options.format_table import CSV_FIELD_DELIMITER
from paimon_sql.format.options.table import PATH, TYPE
from paimon_sql.format.schema import TableSchema, new_schema
from paimon_sql.format.types import DataField

_FORMAT_TABLE = "format-table"
_DELIMITER = "field.delim"
_HIVES_DELIMITER = "\x01"
_TEXT_INPUT = "org.apache.hadoop.mapred.TextInputFormat"
_TEXT_OUTPUT = "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"
_PARQUET, _ORC = "org.apache.hadoop.hive.ql.io.parquet", "org.apache.hadoop.hive.ql.io.orc"
_LAZY = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"


@dataclass(frozen=True)
class _Classes:
    """The classes by which Hive reads and writes a format."""

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


def format_of(entry: Any) -> str | None:
    """The format of a table of plain files; None for another entry of the metastore."""
    parameters: Mapping[str, str] = entry.parameters or {}
    # The files of a table with transactions are not all of them rows.
    if is_view(entry) or entry.sd is None or parameters.get("transactional", "").lower() == "true":
        return None
    serde = (entry.sd.serdeInfo.serializationLib or "").lower() if entry.sd.serdeInfo else ""
    for name in ("parquet", "orc"):
        if name in serde:
            return name
    if "Text" not in (entry.sd.inputFormat or ""):
        return None
    if "json" in serde:
        return "json"
    return "text" if parameters.get(KIND) == "TEXT" else "csv"


def format_schema(entry: Any, location: str) -> TableSchema:
    """The definition of a table of plain files, read from its entry.

    Raises:
        UnsupportedError: a column's type is not offered here.
    """
    named = format_of(entry)
    options = {k: v for k, v in (entry.parameters or {}).items() if k != COMMENT}
    options |= {PATH.key: location, TYPE.key: _FORMAT_TABLE, FILE_FORMAT.key: str(named)}
    if named == "csv":
        options[CSV_FIELD_DELIMITER.key] = (entry.sd.serdeInfo.parameters or {}).get(_DELIMITER, _HIVES_DELIMITER)
    keys = entry.partitionKeys or []
    return new_schema(
        [DataField(i, c.name, paimon_type(c.type), c.comment) for i, c in enumerate([*entry.sd.cols, *keys])],
        partition_keys=[c.name for c in keys],
        options=options,
        comment=(entry.parameters or {}).get(COMMENT),
    )


def describe_format(entry: Any, schema: TableSchema) -> None:
    """Let an entry say what the definition of a format table says.

    Raises:
        UnsupportedError: Hive cannot read such a table.
    """
    options = TableOptions(schema.options)
    named = str(options.get(FILE_FORMAT)).lower()
    classes = _CLASSES.get(named)
    if classes is None:
        raise UnsupportedError(f"Hive reads no format tables of {named}.", remedy=f"Use {', '.join(_CLASSES)}.")
    kept = {k: v for k, v in schema.options.items() if k != PATH.key}
    own = {KIND: named.upper(), FILE_FORMAT.key: named, TYPE.key: _FORMAT_TABLE}
    entry.parameters = {**(entry.parameters or {}), **kept, **own}
    if schema.comment is not None:
        entry.parameters[COMMENT] = schema.comment
    descriptor = entry.sd
    descriptor.inputFormat, descriptor.outputFormat = classes.input, classes.output
    descriptor.serdeInfo.serializationLib = classes.serde
    if named == "csv":
        descriptor.serdeInfo.parameters = {_DELIMITER: options.get(CSV_FIELD_DELIMITER)}
    descriptor.cols = columns(f for f in schema.fields if f.name not in schema.partition_keys)
    entry.partitionKeys = columns(schema.field(key) for key in schema.partition_keys)
