"""File formats of format tables: the classes of Spark that read and write them, and options translated to Spark's.

A new format is one more small class, added to `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from paimon_sql.format.options import Option, find_option
from paimon_sql.format.options.table import format_table as keys
from paimon_sql.format.options.table.data_file import FILE_COMPRESSION
from paimon_sql.spark.jvm.gateway import DATASOURCES
from paimon_sql.storage.format_tables import FormatTable

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
        line_delimiter: Paimon's option of the line separator; without one, readers accept the line endings of all
            systems.
        write_defaults: the defaults of the writer's options.
    """

    name: ClassVar[str]
    scan_builder: ClassVar[str]
    file_format: ClassVar[str]
    compression: ClassVar[str] = "none"
    line_delimiter: ClassVar[Option[str] | None] = None
    write_defaults: ClassVar[Mapping[str, str]] = {}

    def read_options(self, table: FormatTable) -> dict[str, str]:
        """The options of Spark's reader: Paimon's options translated, the table's other properties unchanged."""
        others = {key: value for key, value in table.schema.options.items() if find_option(key) is None}
        found = {**others, **self._options(table)}
        if self.line_delimiter is not None and table.options.has(self.line_delimiter):
            found["lineSep"] = table.options.get(self.line_delimiter)
        return found

    def write_options(self, table: FormatTable) -> dict[str, str]:
        """The options of Spark's writer."""
        options = table.schema.options
        names = (FILE_COMPRESSION.key, keys.FORMAT_TABLE_FILE_COMPRESSION.key, "compression")
        compression = next((options[name] for name in names if name in options), self.compression)
        return {**self.write_defaults, **self.read_options(table), "compression": compression}

    def _options(self, table: FormatTable) -> dict[str, str]:
        """Paimon's options of the format by Spark's names."""
        return {}


class Csv(SparkFormat):
    """Comma-separated values."""

    name = "csv"
    scan_builder = f"{DATASOURCES}.v2.csv.CSVScanBuilder"
    file_format = f"{DATASOURCES}.csv.CSVFileFormat"
    line_delimiter = keys.CSV_LINE_DELIMITER
    write_defaults = _TIMESTAMP_FORMATS

    def _options(self, table: FormatTable) -> dict[str, str]:
        options = table.options
        return {
            "sep": options.get(keys.CSV_FIELD_DELIMITER),
            "quote": options.get(keys.CSV_QUOTE_CHARACTER),
            "escape": options.get(keys.CSV_ESCAPE_CHARACTER),
            "header": str(options.get(keys.CSV_INCLUDE_HEADER)).lower(),
            "nullValue": options.get(keys.CSV_NULL_LITERAL),
            "mode": options.get(keys.CSV_MODE).upper(),
        }


class Json(SparkFormat):
    """One JSON object per line."""

    name = "json"
    scan_builder = f"{DATASOURCES}.v2.json.JsonScanBuilder"
    file_format = f"{DATASOURCES}.json.JsonFileFormat"
    line_delimiter = keys.JSON_LINE_DELIMITER
    write_defaults = {**_TIMESTAMP_FORMATS, "ignoreNullFields": "false"}

    def _options(self, table: FormatTable) -> dict[str, str]:
        lenient = table.options.get(keys.JSON_IGNORE_PARSE_ERRORS)
        return {"mode": table.schema.options.get("mode", "PERMISSIVE" if lenient else "FAILFAST")}


class Text(SparkFormat):
    """One string per line."""

    name = "text"
    scan_builder = f"{DATASOURCES}.v2.text.TextScanBuilder"
    file_format = f"{DATASOURCES}.text.TextFileFormat"
    line_delimiter = keys.TEXT_LINE_DELIMITER


class Parquet(SparkFormat):
    """Apache Parquet."""

    name = "parquet"
    scan_builder = f"{DATASOURCES}.v2.parquet.ParquetScanBuilder"
    file_format = f"{DATASOURCES}.parquet.ParquetFileFormat"
    compression = "snappy"


class Orc(SparkFormat):
    """Apache ORC."""

    name = "orc"
    scan_builder = f"{DATASOURCES}.v2.orc.OrcScanBuilder"
    file_format = f"{DATASOURCES}.orc.OrcFileFormat"
    compression = "zstd"


FORMATS: dict[str, SparkFormat] = {kind.name: kind for kind in (Csv(), Json(), Text(), Parquet(), Orc())}
"""The formats by name."""
