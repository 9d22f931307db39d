"""Tables of plain files among Hive's own, as format tables, and format tables as Hive keeps its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paimon_sql.catalog.hive.layout.column_types import paimon_type
from paimon_sql.catalog.hive.layout.tables import COMMENT, KIND, columns, is_view
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
    # The files of tables with transactions, and of those that somebody else handles, are not all of them rows.
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


def format_schema(entry: Any, location: str) -> TableSchema:
    """The definition of a table of plain files, read from its entry.

    Raises:
        UnsupportedError: a column's type is not offered here.
    """
    named, parameters = str(format_of(entry)), entry.parameters or {}
    options = {k: v for k, v in parameters.items() if k != COMMENT}
    is_hives = parameters.get(TYPE.key) != _FORMAT_TABLE
    if is_hives:
        options[DEFAULT_NAME_KEY] = _HIVES_DEFAULT_NAME
    if named == "csv":
        given = entry.sd.serdeInfo.parameters or {}
        options |= _hives_text(entry.sd.serdeInfo.serializationLib, given, parameters) if is_hives else {}
        options.setdefault(CSV_FIELD_DELIMITER.key, given.get(_DELIMITER, _HIVES_DELIMITER))
    options |= {PATH.key: location, TYPE.key: _FORMAT_TABLE, FILE_FORMAT.key: named}
    keys = entry.partitionKeys or []
    return new_schema(
        [DataField(i, c.name, paimon_type(c.type), c.comment) for i, c in enumerate([*entry.sd.cols, *keys])],
        partition_keys=[c.name for c in keys],
        options=options,
        comment=parameters.get(COMMENT),
    )


def _hives_text(serde: str, given: Mapping[str, str], parameters: Mapping[str, str]) -> dict[str, str]:
    """How Hive writes text into files, as options of a CSV table."""
    header = {CSV_INCLUDE_HEADER.key: str(bool(_skipped(parameters))).lower()}
    if serde == _OPEN_CSV:
        return {
            **header,
            CSV_FIELD_DELIMITER.key: given.get("separatorChar", ","),
            CSV_QUOTE_CHARACTER.key: given.get("quoteChar", '"'),
            CSV_ESCAPE_CHARACTER.key: given.get("escapeChar", "\\"),
        }
    return {
        **header,
        CSV_FIELD_DELIMITER.key: _sign(given.get(_DELIMITER, given.get("serialization.format", "1"))),
        CSV_QUOTE_CHARACTER.key: "",
        CSV_ESCAPE_CHARACTER.key: given.get("escape.delim", ""),
        CSV_NULL_LITERAL.key: given.get("serialization.null.format", "\\N"),
    }


def _sign(text: str) -> str:
    """What stands between values, which Hive may give by its number."""
    return chr(int(text)) if text.isdecimal() else text


def _skipped(parameters: Mapping[str, str]) -> int | None:
    """How many lines of a text file are no rows, none or the first one; None if others are none either."""
    first, last = (parameters.get(f"skip.{what}.line.count", "0").strip() for what in ("header", "footer"))
    return int(first) if first in ("0", "1") and last == "0" else None


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
