"""File formats: Parquet, ORC, Avro and blob behind one interface, selected by name."""

from paimon_sql.storage.file_formats.base import (
    BATCH_ROWS,
    ColumnRange,
    DataFileWriter,
    FileFormat,
    FileRead,
    RowGroupFilter,
)
from paimon_sql.storage.file_formats.registry import file_format, format_names

__all__ = [
    "BATCH_ROWS",
    "ColumnRange",
    "DataFileWriter",
    "FileFormat",
    "FileRead",
    "RowGroupFilter",
    "file_format",
    "format_names",
]
