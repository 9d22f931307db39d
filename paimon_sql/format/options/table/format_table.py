"""Options of format tables: plain CSV, JSON, text, Parquet or ORC files in partition directories."""

from __future__ import annotations

from paimon_sql.format.options.values import at_least, boolean, choice, integer, kept_for, string

FORMAT_TABLE_IMPLEMENTATION = choice(
    "format-table.implementation",
    "paimon",
    "Whether Paimon or the engine reads and writes the files.",
    ("paimon", "engine"),
    status=kept_for("Java engines"),
)
FORMAT_TABLE_FILE_COMPRESSION = string(
    "format-table.file.compression",
    None,
    "The compression of a format table's files.",
    alternatives=("file.compression", "compression"),
)
FORMAT_TABLE_PARTITION_PATH_ONLY_VALUE = boolean(
    "format-table.partition-path-only-value",
    "false",
    "Whether partition directories tell the value without the column.",
)
FORMAT_TABLE_COMMIT_HIVE_SYNC_URL = string(
    "format-table.commit-hive-sync-url",
    None,
    "The Hive metastore that is told of new partitions.",
    status=kept_for("Java engines with a Hive metastore"),
)
FORMAT_TABLE_SCAN_LIST_PARALLELISM = integer(
    "format-table.scan.list-parallelism",
    "64",
    "How many partition directories are listed at a time; where nothing is set 16 in object stores, 4 elsewhere.",
    check=at_least(1),
)
CSV_FIELD_DELIMITER = string(
    "csv.field-delimiter",
    ",",
    "What stands between the values of a CSV row.",
    alternatives=("field-delimiter", "seq", "delimiter", "sep"),
)
CSV_LINE_DELIMITER = string("csv.line-delimiter", "\n", "What ends a CSV row.", alternatives=("lineSep",))
CSV_QUOTE_CHARACTER = string("csv.quote-character", '"', "The quote around a CSV value.", alternatives=("quote",))
CSV_ESCAPE_CHARACTER = string(
    "csv.escape-character", "\\", "The sign that takes the meaning from the next one.", alternatives=("escape",)
)
CSV_INCLUDE_HEADER = boolean(
    "csv.include-header", "false", "Whether the first row of a CSV file names the columns.", alternatives=("header",)
)
CSV_NULL_LITERAL = string("csv.null-literal", "", "How a CSV file writes null.", alternatives=("nullvalue",))
CSV_MODE = choice(
    "csv.mode",
    "permissive",
    "What becomes of a CSV row that cannot be read: nulls, nothing, or an error.",
    ("permissive", "dropmalformed", "failfast"),
    alternatives=("mode",),
)
JSON_IGNORE_PARSE_ERRORS = boolean(
    "json.ignore-parse-errors", "false", "Whether JSON lines that cannot be read become nulls."
)
JSON_MAP_NULL_KEY_MODE = choice(
    "json.map-null-key-mode",
    "fail",
    "What becomes of a null key of a map in JSON: an error, nothing, or a text.",
    ("fail", "drop", "literal"),
    status=kept_for("Java engines"),
)
JSON_MAP_NULL_KEY_LITERAL = string(
    "json.map-null-key-literal",
    "null",
    "The text that stands for a null key of a map.",
    status=kept_for("Java engines"),
)
JSON_LINE_DELIMITER = string("json.line-delimiter", "\n", "What ends a JSON row.")
TEXT_LINE_DELIMITER = string("text.line-delimiter", "\n", "What ends a row of a text file.", alternatives=("lineSep",))
