"""Options of format tables: plain CSV, JSON, text, Parquet or ORC files in partition directories."""

from __future__ import annotations

from paimon_sql.format.options.values import java, option

FORMAT_TABLE_IMPLEMENTATION = java.one_of("paimon", "engine")(
    "format-table.implementation", "Whether Paimon or the engine reads and writes the files.", "paimon"
)
FORMAT_TABLE_FILE_COMPRESSION = option.string(
    "format-table.file.compression",
    "The compression of a format table's files.",
    alternatives=("file.compression", "compression"),
)
FORMAT_TABLE_PARTITION_PATH_ONLY_VALUE = option.flag(
    "format-table.partition-path-only-value",
    "Whether partition directories contain only the value, without the column.",
)
FORMAT_TABLE_SCAN_LIST_PARALLELISM = option.integer.at_least(1)(
    "format-table.scan.list-parallelism",
    "The number of partition directories that are listed in parallel; if not set, 16 in object stores and 4 elsewhere.",
    "64",
)
CSV_FIELD_DELIMITER = option.string(
    "csv.field-delimiter",
    "The delimiter between the values of a CSV row.",
    ",",
    alternatives=("field-delimiter", "seq", "delimiter", "sep"),
)
CSV_LINE_DELIMITER = option.string(
    "csv.line-delimiter", "The delimiter after a CSV row.", "\n", alternatives=("lineSep",)
)
CSV_QUOTE_CHARACTER = option.string(
    "csv.quote-character", "The quote character of CSV values.", '"', alternatives=("quote",)
)
CSV_ESCAPE_CHARACTER = option.string(
    "csv.escape-character", "The escape character of CSV values.", "\\", alternatives=("escape",)
)
CSV_INCLUDE_HEADER = option.flag(
    "csv.include-header",
    "Whether the first row of a CSV file is a header with the column names.",
    alternatives=("header",),
)
CSV_NULL_LITERAL = option.string(
    "csv.null-literal", "The string that represents null in a CSV file.", "", alternatives=("nullvalue",)
)
CSV_MODE = option.one_of("permissive", "dropmalformed", "failfast")(
    "csv.mode",
    "What a CSV row that cannot be parsed becomes: nulls, nothing, or an error.",
    "permissive",
    alternatives=("mode",),
)
JSON_IGNORE_PARSE_ERRORS = option.flag(
    "json.ignore-parse-errors", "Whether JSON lines that cannot be parsed become nulls."
)
JSON_LINE_DELIMITER = option.string("json.line-delimiter", "The delimiter after a JSON row.", "\n")
TEXT_LINE_DELIMITER = option.string(
    "text.line-delimiter", "The delimiter after a row of a text file.", "\n", alternatives=("lineSep",)
)

KEPT = (
    option.kept_for("Java engines with a Hive metastore").string(
        "format-table.commit-hive-sync-url", "The Hive metastore in which new partitions are registered."
    ),
    java.one_of("fail", "drop", "literal")(
        "json.map-null-key-mode", "What a null key of a map becomes in JSON: an error, nothing, or a string.", "fail"
    ),
    java.string("json.map-null-key-literal", "The string that represents a null key of a map.", "null"),
)
