"""Statistics of the partitions of a format table, computed from their files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pyarrow as pa
from pyarrow import orc
from pyarrow import parquet as pq

from paimon_sql.format.options.table.format_table import (
    CSV_INCLUDE_HEADER,
    CSV_LINE_DELIMITER,
    JSON_LINE_DELIMITER,
    TEXT_LINE_DELIMITER,
)
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.file_io import FileStatus
from paimon_sql.storage.format_tables.partitions import Partition, files_in
from paimon_sql.storage.format_tables.register import UNKNOWN, PartitionStatistics
from paimon_sql.storage.format_tables.table import FormatTable

_CHUNK = 4 << 20
_CODECS = {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}
_FOREIGN_CODECS = ("snappy", "lz4", "deflate")
"""Codecs with Hadoop's block format, which pyarrow does not read."""
_LINE_ENDS = {"csv": CSV_LINE_DELIMITER, "json": JSON_LINE_DELIMITER, "text": TEXT_LINE_DELIMITER}


def measured(
    table: FormatTable, partitions: Sequence[Partition], *, rows: bool
) -> list[tuple[Partition, PartitionStatistics]]:
    """Compute the statistics of partitions.

    Args:
        table: the table.
        partitions: the partitions; one without a directory is empty.
        rows: whether rows are counted, for which every file is opened.
    """
    files = map_in_threads(partial(files_in, table), partitions, table.threads)
    return [(p, held_by(table, found, rows=rows)) for p, found in zip(partitions, files, strict=True)]


def held_by(table: FormatTable, files: Sequence[FileStatus], *, rows: bool) -> PartitionStatistics:
    """Compute the statistics of some files."""
    counts = map_in_threads(partial(_rows_of, table), [f.path for f in files], table.threads) if rows else [UNKNOWN]
    return PartitionStatistics(
        rows=UNKNOWN if UNKNOWN in counts else sum(counts),
        size=sum(f.size for f in files),
        files=len(files),
        last_file_millis=max((f.mtime_millis for f in files), default=0),
    )


def _rows_of(table: FormatTable, path: str) -> int:
    with table.file_io.open_input(path) as source:
        return _COUNTS[table.format](table, source, path)


def _of_parquet(table: FormatTable, source: pa.NativeFile, path: str) -> int:
    return int(pq.ParquetFile(source).metadata.num_rows)


def _of_orc(table: FormatTable, source: pa.NativeFile, path: str) -> int:
    return int(orc.ORCFile(source).nrows)


def _of_lines(table: FormatTable, source: pa.NativeFile, path: str) -> int:
    """The number of lines; a value with a line delimiter counts as two rows."""
    option = _LINE_ENDS[table.format]
    end = (table.options.get(option) if table.options.has(option) else "\n").encode()
    extension = path.rsplit(".", 1)[-1].lower()
    if extension in _CODECS:
        source = pa.CompressedInputStream(source, _CODECS[extension])
    elif extension in _FOREIGN_CODECS:
        return UNKNOWN
    found, rest, is_open = 0, b"", False
    while data := source.read(_CHUNK):
        joined = rest + data
        found += joined.count(end)
        is_open = not joined.endswith(end)
        rest = joined[len(joined) - len(end) + 1 :] if len(end) > 1 else b""
    lines = found + is_open
    has_header = table.format == "csv" and table.options.get(CSV_INCLUDE_HEADER)
    return max(0, lines - 1) if has_header else lines


_COUNTS: dict[str, Callable[[FormatTable, pa.NativeFile, str], int]] = {
    "parquet": _of_parquet,
    "orc": _of_orc,
    "csv": _of_lines,
    "json": _of_lines,
    "text": _of_lines,
}
