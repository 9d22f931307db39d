"""Partitions of a format table: directories whose names contain the values of the partition columns, level by level.

A partition's files are in its directory and in all directories below, with any names. If the catalog has a partition
register, the registered partitions are those of the table, whether their directories exist or not, and the register
has statistics that are computed from the files.

Names that start with ``_`` or ``.`` are hidden: writers stage files there. In the layout whose directory names are
values alone, the name for null may start so and is a partition nevertheless.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc
from pyarrow import parquet as pq

from paimon_sql.errors import CatalogUnavailableError, InvalidInputError, PaimonError
from paimon_sql.format.layout.partitions import escape_path_name, unescape_path_name
from paimon_sql.format.options.table.format_table import (
    CSV_INCLUDE_HEADER,
    CSV_LINE_DELIMITER,
    JSON_LINE_DELIMITER,
    TEXT_LINE_DELIMITER,
)
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.types import DataField, string_type
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.expressions.casts import cast
from paimon_sql.storage.expressions.predicates import Predicate, all_of, conjuncts
from paimon_sql.storage.file_io import FileStatus
from paimon_sql.storage.file_io.paths import join, parent_of
from paimon_sql.storage.format_tables.table import SCHEMA_FOLDER, UNKNOWN, FormatTable, PartitionStatistics, Spec

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
"""The value for null in directory names of Hive and Spark."""


@dataclass(frozen=True)
class Partition:
    """A partition: the rows with the same values of the partition columns.

    Attributes:
        path: the directory.
        texts: the values as strings, in the order of the columns, as in directory names; None is null.
    """

    path: str
    texts: tuple[str | None, ...] = ()


def all_partitions(table: FormatTable) -> list[Partition]:
    """The partitions of a table, sorted by path; without partition columns, the table's directory."""
    return chosen_partitions(table, None)


def chosen_partitions(table: FormatTable, predicate: Predicate | None) -> list[Partition]:
    """Return the partitions for which a condition on partition columns is true.

    Directories are listed only if the values of their parent directories do not exclude them.

    Args:
        table: the table.
        predicate: the condition, on partition columns only.

    Raises:
        InvalidInputError: a directory name is not a value of its column.
    """
    if table.register is not None and table.partition_fields:
        registered = [p for p, _ in registered_partitions(table)]
        found = _fulfilling(table, registered, len(table.partition_fields), predicate)
        return sorted(found, key=lambda p: p.path)
    return partitions_in_folders(table, predicate)


def registered_partitions(table: FormatTable) -> list[tuple[Partition, PartitionStatistics]]:
    """The partitions of the catalog's register, with their reported statistics.

    Raises:
        CatalogUnavailableError: a registered partition lacks a partition column of the table.
    """
    assert table.register is not None
    return [(_registered(table, spec), figures) for spec, figures in table.register.all()]


def spec_of(table: FormatTable, partition: Partition) -> dict[str, str]:
    """The spec of a partition in a register."""
    strings = [table.default_name if string in (None, "") else string for string in partition.texts]
    return dict(zip(table.schema.partition_keys, map(str, strings), strict=True))


def partition_of(table: FormatTable, strings: Sequence[str | None]) -> Partition:
    """The partition with such values, whose directory may not exist.

    Raises:
        InvalidInputError: a value cannot be a directory name of this table.
    """
    return Partition(table.folder_of(folder_names(table, strings)), tuple(strings))


def partitions_in_folders(table: FormatTable, predicate: Predicate | None = None) -> list[Partition]:
    """List the partitions by their directories, for which a condition on partition columns is true."""
    found, parts, applied = [Partition(table.location)], conjuncts(predicate), 0
    for level, field in enumerate(table.partition_fields):
        list_children = partial(_children, table, level, field)
        found = [
            child for children in map_in_threads(list_children, found, table.listing_threads) for child in children
        ]
        known = {f.name for f in table.partition_fields[: level + 1]}
        decidable = [p for p in parts if p.columns() <= known]
        if len(decidable) > applied or level == len(table.partition_fields) - 1:
            found = _fulfilling(table, found, level + 1, all_of(decidable))
            applied = len(decidable)
    return sorted(found, key=lambda p: p.path)


def folders_of(table: FormatTable, partition: Partition) -> list[str]:
    """The directories of a partition's files: its own and all below it; none if it does not exist."""
    if (not partition.texts or table.register is not None) and not table.file_io.exists(partition.path):
        return []
    found, level = [partition.path], [partition.path]
    while level:
        level = [
            child.path for directory in level for child in table.file_io.list(directory) if _is_below(table, child)
        ]
        found += level
    return found


def files_of(table: FormatTable, partitions: Sequence[Partition]) -> list[str]:
    """The files of some partitions."""
    directories = [
        f for found in map_in_threads(partial(folders_of, table), partitions, table.listing_threads) for f in found
    ]
    return [s.path for s in _visible_files(map_in_threads(table.file_io.list, directories, table.listing_threads))]


def files_in(table: FormatTable, partition: Partition) -> list[FileStatus]:
    """The files of one partition."""
    return _visible_files(table.file_io.list(directory) for directory in folders_of(table, partition))


def _visible_files(listings: Iterable[Iterable[FileStatus]]) -> list[FileStatus]:
    return [s for listed in listings for s in listed if not s.is_dir and not is_hidden(s.name)]


def is_hidden(name: str) -> bool:
    """Whether a file or directory of that name is hidden."""
    return name.startswith(("_", "."))


def partition_columns(table: FormatTable, partitions: Sequence[Partition]) -> dict[str, pa.Array]:
    """The values of partitions, one array per column; only the first columns if the others are not listed yet.

    Raises:
        InvalidInputError: a string is not a value of its column.
    """
    count = len(partitions[0].texts) if partitions else len(table.partition_fields)
    return {
        field.name: _values(table, field, pa.array([p.texts[i] for p in partitions], pa.string()))
        for i, field in enumerate(table.partition_fields[:count])
    }


def folder_names(table: FormatTable, strings: Sequence[str | None]) -> tuple[str, ...]:
    """The directory names of a partition with such values, from the first level to the last.

    Raises:
        InvalidInputError: a value cannot be a directory name of this table.
    """
    names = []
    for i, (field, string) in enumerate(zip(table.partition_fields, strings, strict=False)):
        value = escape_path_name(table.default_name if string is None or string == "" else string)
        name = value if table.only_values else f"{escape_path_name(field.name)}={value}"
        is_schema_directory = i == 0 and not table.is_external and name == SCHEMA_FOLDER
        hidden = is_hidden(name) and value != table.default_name
        if name in (".", "..") or (table.only_values and (is_schema_directory or hidden)):
            raise InvalidInputError(
                f"{table.name}: '{string}' cannot be a value of {field.name}, because no directory of rows can"
                " have that name.",
                remedy="Without 'format-table.partition-path-only-value' names of directories begin with the column.",
            )
        names.append(name)
    return tuple(names)


def _children(table: FormatTable, level: int, field: DataField, parent: Partition) -> list[Partition]:
    """The partition directories of the next level."""
    values = ((s.path, _value_of(table, level, field, s)) for s in table.file_io.list(parent.path))
    return [Partition(p, (*parent.texts, _value_or_null(table, value))) for p, value in values if value is not None]


def partition_texts(table: FormatTable, folder: str) -> tuple[str | None, ...]:
    """The values in the directory names of a partition."""
    parts = folder[len(table.location) :].strip("/").split("/") if table.partition_fields else []
    values = parts if table.only_values else [part.partition("=")[2] for part in parts]
    return tuple(_value_or_null(table, unescape_path_name(value)) for value in values)


def _registered(table: FormatTable, spec: Spec) -> Partition:
    missing = [key for key in table.schema.partition_keys if spec.get(key) is None]
    if missing:
        raise CatalogUnavailableError(
            f"{table.name}: the catalog lists a partition {dict(spec)} without a value of {', '.join(missing)}."
        )
    return partition_of(table, [_value_or_null(table, spec[key]) for key in table.schema.partition_keys])


def _value_or_null(table: FormatTable, value: str) -> str | None:
    return None if value in (table.default_name, HIVE_NULL) else value


def _value_of(table: FormatTable, level: int, field: DataField, status: FileStatus) -> str | None:
    """The value in a directory name; None if it is not a partition directory."""
    if not status.is_dir:
        return None
    if table.only_values:
        value = unescape_path_name(status.name)
        is_own = level == 0 and not table.is_external and value == SCHEMA_FOLDER
        hidden = is_hidden(status.name) and value not in (table.default_name, HIVE_NULL)
        return None if is_own or hidden else value
    name, sign, value = status.name.partition("=")
    if not sign or unescape_path_name(name).lower() != field.name.lower():
        return None
    return unescape_path_name(value)


def _is_below(table: FormatTable, status: FileStatus) -> bool:
    """Whether a child of a partition directory is a directory that may contain its files."""
    is_own = not table.is_external and status.path == join(table.location, SCHEMA_FOLDER)
    return status.is_dir and not is_own and not is_hidden(status.name)


def _fulfilling(
    table: FormatTable, found: list[Partition], columns: int, predicate: Predicate | None
) -> list[Partition]:
    """The partitions for which a condition on their first columns is true."""
    if predicate is None or not found:
        return found
    values = partition_columns(table, found)
    wanted = pc.fill_null(predicate.evaluate(values), False).to_pylist()
    return [p for p, matches in zip(found, wanted, strict=True) if matches]


def _values(table: FormatTable, field: DataField, strings: pa.Array) -> pa.Array:
    encoded = strings.dictionary_encode()
    try:
        values = cast(encoded.dictionary, string_type(), field.type)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{table.name}: the name of a directory contains no value of {field.name} {field.type.sql()}:"
            f" {error.message}",
            remedy=f"Check {table.location}.",
        ) from error
    return pa.array(values.take(encoded.indices), arrow_type(field.type))


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
        report_measured(table, measurable, rows=False)


def report_measured(table: FormatTable, partitions: Sequence[Partition], *, rows: bool) -> None:
    """Compute the statistics of partitions, and report them to a table's register as complete.

    Args:
        table: the table.
        partitions: the partitions; one without a directory is empty.
        rows: whether rows are counted, for which every file is opened; otherwise their number is not changed.
    """
    if table.register is not None and partitions:
        files = map_in_threads(partial(files_in, table), partitions, table.threads)
        measured = [(spec_of(table, p), held_by(table, f, rows=rows)) for p, f in zip(partitions, files, strict=True)]
        table.register.report(measured, anew=True)


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
