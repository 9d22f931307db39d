"""Updates of a partition register: partitions by their directories, and their statistics, computed from the files."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from functools import partial

import pyarrow as pa
from pyarrow import orc
from pyarrow import parquet as pq

from paimon_sql.errors import PaimonError
from paimon_sql.format.options.table.format_table import (
    CSV_INCLUDE_HEADER,
    CSV_LINE_DELIMITER,
    JSON_LINE_DELIMITER,
    TEXT_LINE_DELIMITER,
)
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.file_io import FileStatus
from paimon_sql.storage.file_io.paths import parent_of
from paimon_sql.storage.format_tables.partitions import (
    Partition,
    files_in,
    partitions_in_folders,
    registered_partitions,
    spec_of,
)
from paimon_sql.storage.format_tables.table import UNKNOWN, FormatTable, PartitionStatistics

_LOG = logging.getLogger(__name__)


def repair(table: FormatTable, *, adds: bool, drops: bool, counts: bool = False) -> None:
    """Synchronize the register with the partition directories.

    Args:
        table: a table with a register.
        adds: whether to register partitions with a directory.
        drops: whether to unregister partitions without a directory.
        counts: whether to report the statistics that need no file to be opened.
    """
    assert table.register is not None
    existing = {p.texts: p for p in partitions_in_folders(table)}
    registered = {p.texts: p for p, _ in registered_partitions(table)}
    new = [p for values, p in existing.items() if values not in registered] if adds else []
    missing = [p for values, p in registered.items() if values not in existing] if drops else []
    if new:
        table.register.add([spec_of(table, p) for p in new])
    if missing:
        table.register.drop([spec_of(table, p) for p in missing])
    if counts:
        measurable = [p for values, p in existing.items() if adds or values in registered]
        report_figures(table, measured(table, measurable, rows=False))


def report_figures(table: FormatTable, figures: Sequence[tuple[Partition, PartitionStatistics]]) -> None:
    """Report complete statistics of partitions to a table's register; unknown ones are not changed."""
    if table.register is not None and figures:
        table.register.report([(spec_of(table, p), f) for p, f in figures], anew=True)


def report_written(
    table: FormatTable, written: Sequence[Partition], cleared: Sequence[Partition], paths: Sequence[str], *, anew: bool
) -> None:
    """Report statistics of written files: in addition, or complete ones if files were replaced."""
    if table.register is None:
        return
    found: dict[str, list[FileStatus]] = {p.path: [] for p in written}
    try:
        for path in paths:
            status = table.file_io.status(path)
            if status is not None:
                found[parent_of(path)].append(status)
        figures = [(p, held_by(table, found[p.path], rows=True)) for p in written]
    except (PaimonError, OSError) as error:
        _LOG.warning("%s: the statistics of written partitions could not be collected: %s", table.name, error)
        return
    emptied = [(p, _nothing()) for p in cleared if p.path not in found]
    _report(table, [*figures, *emptied], anew=anew)


def report_emptied(table: FormatTable, partitions: Sequence[Partition]) -> None:
    """Report partitions as empty."""
    _report(table, [(p, _nothing()) for p in partitions], anew=True)


def _report(table: FormatTable, figures: Sequence[tuple[Partition, PartitionStatistics]], *, anew: bool) -> None:
    """Report to the register; a failure is logged, for the files are changed already."""
    if table.register is None or not figures or not table.partition_fields:
        return
    try:
        table.register.report([(spec_of(table, p), f) for p, f in figures], anew=anew)
    except PaimonError as error:
        _LOG.warning("%s: the statistics of partitions could not be reported to the catalog: %s", table.name, error)


def _nothing() -> PartitionStatistics:
    return PartitionStatistics(rows=0, size=0, files=0, last_file_millis=time.time_ns() // 1_000_000)


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
        if table.format == "parquet":
            return int(pq.ParquetFile(source).metadata.num_rows)
        if table.format == "orc":
            return int(orc.ORCFile(source).nrows)
        return _lines_of(table, source, path)


def _lines_of(table: FormatTable, source: pa.NativeFile, path: str) -> int:
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
