"""File formats of format tables: the classes of Spark that read and write them, and options translated to Spark's.

A new format is one more small class, added to `FORMATS`.
"""

from __future__ import annotations

from typing import ClassVar

from paimon_sql.format.options import find_option
from paimon_sql.format.options.table.data_file import FILE_COMPRESSION
from paimon_sql.format.options.table.format_table import (
    CSV_ESCAPE_CHARACTER,
    CSV_FIELD_DELIMITER,
    CSV_INCLUDE_HEADER,
    CSV_LINE_DELIMITER,
    CSV_MODE,
    CSV_NULL_LITERAL,
    CSV_QUOTE_CHARACTER,
    FORMAT_TABLE_FILE_COMPRESSION,
    JSON_IGNORE_PARSE_ERRORS,
    JSON_LINE_DELIMITER,
    TEXT_LINE_DELIMITER,
)
from paimon_sql.spark.jvm.gateway import EXECUTION
from paimon_sql.storage.format_tables import FormatTable

_SOURCES = f"{EXECUTION}.datasources"
_TIMESTAMP_FORMATS = {
    "timestampFormat": "yyyy-MM-dd HH:mm:ss.SSSSSS",
    "timestampNTZFormat": "yyyy-MM-dd HH:mm:ss.SSSSSS",
}
"""Formats of written timestamps: those of Paimon's casts, since Spark's defaults truncate microseconds."""


class SparkFormat:
    """Spark's classes and options of one format.

    Attributes:
        name: the format.
        scan_builder: Spark's class that builds scans.
        file_format: Spark's class that prepares writes.
        compression: the default compression of files.
    """

    name: ClassVar[str]
    scan_builder: ClassVar[str]
    file_format: ClassVar[str]
    compression: ClassVar[str] = "none"

    def read_options(self, table: FormatTable) -> dict[str, str]:
        """The options of Spark's reader: Paimon's options translated, the table's other properties unchanged."""
        others = {key: value for key, value in table.schema.options.items() if find_option(key) is None}
        return {**others, **self._options(table)}

    def write_options(self, table: FormatTable) -> dict[str, str]:
        """The options of Spark's writer."""
        options = table.schema.options
        keys = (FILE_COMPRESSION.key, FORMAT_TABLE_FILE_COMPRESSION.key, "compression")
        compression = next((options[key] for key in keys if key in options), self.compression)
        return {**self._write_defaults(), **self.read_options(table), "compression": compression}

    def _options(self, table: FormatTable) -> dict[str, str]:
        """Paimon's options of the format by Spark's names."""
        return {}

    def _write_defaults(self) -> dict[str, str]:
        """Defaults of the writer's options."""
        return {}


class Csv(SparkFormat):
    """Comma-separated values."""

    name = "csv"
    scan_builder = f"{_SOURCES}.v2.csv.CSVScanBuilder"
    file_format = f"{_SOURCES}.csv.CSVFileFormat"

    def _options(self, table: FormatTable) -> dict[str, str]:
        options = table.options
        found = {
            "sep": options.get(CSV_FIELD_DELIMITER),
            "quote": options.get(CSV_QUOTE_CHARACTER),
            "escape": options.get(CSV_ESCAPE_CHARACTER),
            "header": str(options.get(CSV_INCLUDE_HEADER)).lower(),
            "nullValue": options.get(CSV_NULL_LITERAL),
            "mode": options.get(CSV_MODE).upper(),
        }
        # Without a separator, readers accept the line endings of all systems.
        return {**found, "lineSep": options.get(CSV_LINE_DELIMITER)} if options.has(CSV_LINE_DELIMITER) else found

    def _write_defaults(self) -> dict[str, str]:
        return _TIMESTAMP_FORMATS


class Json(SparkFormat):
    """One JSON object per line."""

    name = "json"
    scan_builder = f"{_SOURCES}.v2.json.JsonScanBuilder"
    file_format = f"{_SOURCES}.json.JsonFileFormat"

    def _options(self, table: FormatTable) -> dict[str, str]:
        options = table.options
        lenient = options.get(JSON_IGNORE_PARSE_ERRORS)
        found = {"mode": table.schema.options.get("mode", "PERMISSIVE" if lenient else "FAILFAST")}
        return {**found, "lineSep": options.get(JSON_LINE_DELIMITER)} if options.has(JSON_LINE_DELIMITER) else found

    def _write_defaults(self) -> dict[str, str]:
        return {**_TIMESTAMP_FORMATS, "ignoreNullFields": "false"}


class Text(SparkFormat):
    """One string per line."""

    name = "text"
    scan_builder = f"{_SOURCES}.v2.text.TextScanBuilder"
    file_format = f"{_SOURCES}.text.TextFileFormat"

    def _options(self, table: FormatTable) -> dict[str, str]:
        options = table.options
        return {"lineSep": options.get(TEXT_LINE_DELIMITER)} if options.has(TEXT_LINE_DELIMITER) else {}


class Parquet(SparkFormat):
    """Apache Parquet."""

    name = "parquet"
    scan_builder = f"{_SOURCES}.v2.parquet.ParquetScanBuilder"
    file_format = f"{_SOURCES}.parquet.ParquetFileFormat"
    compression = "snappy"


class Orc(SparkFormat):
    """Apache ORC."""

    name = "orc"
    scan_builder = f"{_SOURCES}.v2.orc.OrcScanBuilder"
    file_format = f"{_SOURCES}.orc.OrcFileFormat"
    compression = "zstd"


FORMATS: dict[str, SparkFormat] = {kind.name: kind for kind in (Csv(), Json(), Text(), Parquet(), Orc())}
"""The formats by name."""
