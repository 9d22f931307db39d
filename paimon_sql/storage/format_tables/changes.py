"""Changes of a format table's files, and REPLACE TABLE: all new files become visible, or none.

There are no snapshots: all files in the table's directories belong to it. New files are written to a hidden staging
directory and moved when all of them are complete; the files that they replace are deleted afterwards.

If the catalog has a partition register, new partitions are registered before files are moved to them, so that no row is
invisible, and dropped ones are unregistered before their files are deleted. Statistics are reported afterwards.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace

from paimon_sql.errors import AlreadyExistsError, CommitConflictError
from paimon_sql.format.layout.partitions import unescape_path_name
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.file_io import file_io_of
from paimon_sql.storage.file_io.base import refuse_links
from paimon_sql.storage.file_io.paths import join, name_of, parent_of
from paimon_sql.storage.format_tables.partitions import (
    HIVE_NULL,
    Partition,
    all_partitions,
    chosen_partitions,
    files_of,
    folder_names,
    folders_of,
    is_hidden,
    partition_columns,
    partition_of,
    partition_texts,
    report_emptied,
    report_written,
    spec_of,
)
from paimon_sql.storage.format_tables.table import FormatTable
from paimon_sql.storage.staging.proposal import Overwrite

_STAGING = ".paimon-write-"


def staging_folder(table: FormatTable) -> str:
    """A new hidden directory for the files of one write, which readers skip."""
    return join(table.location, f"{_STAGING}{uuid.uuid4()}")


def discard(table: FormatTable, staging: str) -> None:
    """Delete the files of a failed write."""
    table.file_io.delete_dir(staging, recursive=True)


def publish(table: FormatTable, staging: str, replaced: Overwrite | None) -> int:
    """Move the files of a write into the table, and delete those that they replace; return the number of moves.

    Args:
        table: the table.
        staging: the directory of the files, with directories ``column=value`` as Spark names them.
        replaced: the partitions to replace; None for an append.

    Raises:
        AlreadyExistsError: a file of that name exists; nothing was changed.
        PaimonError: a file cannot be moved; the moved ones were deleted.
    """
    files = sorted(s.path for s in table.file_io.walk(staging) if not is_hidden(s.name))
    moves = [(path, _target(table, staging, path)) for path in files]
    directories = sorted({parent_of(target) for _, target in moves})
    cleared_partitions = [] if replaced is None else _replaced_partitions(table, replaced, directories)
    old = files_of(table, cleared_partitions)
    written = [_partition(table, directory) for directory in directories] if table.register is not None else []
    refuse_links(table.file_io, old, lambda path: table.location)
    created = [directory for directory in directories if not table.file_io.exists(directory)]
    moved: list[str] = []

    def move(pair: tuple[str, str]) -> None:
        if not table.file_io.rename(*pair):
            raise AlreadyExistsError(f"{table.name}: {pair[1]} already exists.", name=pair[1])
        moved.append(pair[1])

    if table.register is not None and written:
        table.register.add([spec_of(table, p) for p in written])
    try:
        map_in_threads(table.file_io.mkdirs, directories, table.threads)
        map_in_threads(move, moves, table.threads)
    except BaseException:
        table.file_io.delete_many(moved, table.threads)
        for directory in created:
            table.file_io.delete_dir(directory)
        raise
    table.file_io.delete_many(old, table.threads)
    discard(table, staging)
    report_written(table, written, cleared_partitions, moved, anew=replaced is not None)
    return len(moves)


def empty(table: FormatTable, partitions: Sequence[Partition]) -> int:
    """Delete the files of some partitions, but not their directories; return the number of files."""
    files = files_of(table, partitions)
    refuse_links(table.file_io, files, lambda path: table.location)
    count = table.file_io.delete_many(files, table.threads)
    report_emptied(table, partitions)
    return count


def drop_partitions(table: FormatTable, partitions: Sequence[Partition]) -> None:
    """Delete some partitions with their directories, and parent directories that are then empty."""
    refuse_links(table.file_io, [join(p.path, "file") for p in partitions], lambda path: table.location)
    if table.register is not None and partitions and table.partition_fields:
        table.register.drop([spec_of(table, p) for p in partitions])
    for partition in partitions:
        directory = partition.path
        table.file_io.delete_dir(directory, recursive=True)
        for _ in partition.texts[1:]:
            directory = parent_of(directory)
            if not table.file_io.delete_dir(directory):
                break


def add_partitions(table: FormatTable, values: Sequence[Sequence[str | None]]) -> None:
    """Create the directories of partitions with such values, and register them if there is a register.

    Existing directories are not changed.

    Raises:
        AlreadyExistsError: a partition is registered already; none was added.
    """
    partitions = [partition_of(table, strings) for strings in values]
    if table.register is not None and partitions:
        table.register.add([spec_of(table, p) for p in partitions], strict=True)
    map_in_threads(table.file_io.mkdirs, [p.path for p in partitions], table.threads)


def _replaced_partitions(table: FormatTable, replaced: Overwrite, directories: Sequence[str]) -> Sequence[Partition]:
    if not replaced.dynamic:
        return chosen_partitions(table, replaced.partitions)
    # A value may have several spellings, such as 7 and 07, and thus several directories.
    written = set(_keys(table, [_partition(table, directory) for directory in directories]))
    known = all_partitions(table)
    return [p for p, key in zip(known, _keys(table, known), strict=True) if key in written]


def _keys(table: FormatTable, partitions: Sequence[Partition]) -> list[tuple[object, ...]]:
    """The values of each partition."""
    columns = partition_columns(table, partitions)
    return list(zip(*(c.to_pylist() for c in columns.values()), strict=True)) if columns else [()] * len(partitions)


def _partition(table: FormatTable, directory: str) -> Partition:
    """The partition of a directory below the table's location."""
    return Partition(directory, partition_texts(table, directory))


def _target(table: FormatTable, staging: str, path: str) -> str:
    """The final path of a file of a write."""
    parts = path[len(staging) :].strip("/").split("/")[:-1] if table.partition_fields else []
    values = [unescape_path_name(part.partition("=")[2]) for part in parts]
    names = folder_names(table, [None if value == HIVE_NULL else value for value in values])
    return join(table.folder_of(names), name_of(path))


def replacement(old: FormatTable, schema: TableSchema, catalog_options: Mapping[str, str]) -> FormatTable:
    """The table that will replace another one; it is not visible yet.

    Args:
        old: the existing table.
        schema: the new schema, as that of a new table.
        catalog_options: the options of its catalog.
    """
    new = replace(old, schema=replace(schema, id=old.schema.id + 1))
    return replace(new, file_io=file_io_of(new.location, catalog_options) if new.is_external else old.own_io)


def replace_table(old: FormatTable, new: FormatTable, staging: str | None) -> None:
    """Replace the schema and the files of a table.

    The old files are deleted before the new schema is written, so that they are never read with it. Files outside of
    the table's directory are kept, as in a drop of such a table, unless the new location is the same.

    Args:
        old: the existing table.
        new: the result of `replacement`.
        staging: the directory with the new files; None for none.

    Raises:
        CommitConflictError: the schema was changed concurrently; nothing was deleted if that was detected first.
    """
    if old.schemas.ids()[-1] != old.schema.id:
        raise _changed_meanwhile(old)
    if not old.is_external or old.location == new.location:
        _clear(old)
    if not new.schemas.try_add(new.schema, old.schema):
        raise _changed_meanwhile(old)
    if staging is not None:
        publish(new, staging, None)


def _clear(table: FormatTable) -> None:
    """Delete all files and their directories, which could be partitions in the new schema."""
    partitions = all_partitions(table)
    if table.partition_fields:
        drop_partitions(table, partitions)
        return
    subdirectories = [directory for directory in folders_of(table, partitions[0]) if directory != table.location]
    empty(table, partitions)
    drop_partitions(table, [Partition(directory) for directory in subdirectories])


def _changed_meanwhile(table: FormatTable) -> CommitConflictError:
    return CommitConflictError(
        f"{table.name}: the definition was changed while the table was being replaced.",
        remedy="Run the statement again.",
    )
