"""Partitions of a format table: directories whose names contain the values of the partition columns, level by level.

A partition's files are in its directory and in all directories below, with any names. If the catalog has a partition
register, the registered partitions are those of the table, whether their directories exist or not.

Names that start with ``_`` or ``.`` are hidden: writers stage files there. In the layout whose directory names are
values alone, the name for null may start so and is a partition nevertheless.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CatalogUnavailableError, InvalidInputError
from paimon_sql.format.layout.partitions import escape_path_name, unescape_path_name
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.types import DataField, string_type
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.expressions.casts import cast
from paimon_sql.storage.expressions.predicates import Predicate, all_of, conjuncts
from paimon_sql.storage.file_io import FileStatus
from paimon_sql.storage.file_io.paths import join
from paimon_sql.storage.format_tables.table import SCHEMA_FOLDER, FormatTable, PartitionStatistics, Spec

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
