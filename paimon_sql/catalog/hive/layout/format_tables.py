"""Conversion of Hive's tables of plain files to format tables, and back (Paimon: `HiveTableUtils`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paimon_sql.catalog.hive.layout.column_types import paimon_type
from paimon_sql.catalog.hive.layout.tables import COMMENT, KIND, TableStruct, columns, is_view
from paimon_sql.errors import UnsupportedError
from paimon_sql.format.layout.partitions import DEFAULT_NAME_KEY
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.data_file import FILE_FORMAT
from paimon_sql.format.options.table.format_table import (
    CSV_ESCAPE_CHARACTER,
    CSV_FIELD_DELIMITER,
    CSV_INCLUDE_HEADER,
    CSV_NULL_LITERAL,
    CSV_QUOTE_CHARACTER,
)
from paimon_sql.format.options.table.table import PATH, TYPE
from paimon_sql.format.schema.schema import TableSchema, new_schema
from paimon_sql.format.schema.types import DataField

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
