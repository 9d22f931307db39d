"""Changes of a format table's files: new ones come to be seen all together, or none of them does.

There is no snapshot that could tell which files belong to the table: those that stand in its folders do. New files are
written into a hidden folder and moved to their places when all of them are whole; what they replace goes afterwards.

Where a catalog keeps a register of partitions, new ones are registered before files come into them, so that no row is
hidden, and others go from it before their files do. What partitions hold is told it afterwards.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from paimon_sql.errors import AlreadyExistsError
from paimon_sql.format.layout.partitions import unescape_path_name
from paimon_sql.storage.execution.threads import spread
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.file_io import FileStatus
from paimon_sql.storage.file_io.paths import join, name_of, parent_of
from paimon_sql.storage.file_io.symlinks import refuse_links
from paimon_sql.storage.format_tables.partitions import (
    HIVE_NULL,
    Partition,
    all_partitions,
    chosen_partitions,
    files_of,
    folder_names,
    is_hidden,
    partition_columns,
    partition_of,
    partition_texts,
    spec_of,
)
from paimon_sql.storage.format_tables.registration import report_emptied, report_written
from paimon_sql.storage.format_tables.table import FormatTable

_STAGING = ".paimon-write-"


@dataclass(frozen=True)
class Replaced:
    """What new files take the place of: those of the partitions for which ``partitions`` is true, or of the ones that
    the new files stand in. With neither, of the whole table.
    """

    partitions: Predicate | None = None
    dynamic: bool = False


def staging_folder(table: FormatTable) -> str:
    """A new hidden folder for the files of one write, which no reader looks into."""
    return join(table.location, f"{_STAGING}{uuid.uuid4()}")


def discard(table: FormatTable, staging: str) -> None:
    """Remove what a write that came to nothing has written."""
    table.file_io.delete_dir(staging, recursive=True)


def publish(table: FormatTable, staging: str, replaced: Replaced | None) -> int:
    """Move the files of a write to their places, and remove what they replace; how many were moved.

    Args:
        table: the table.
        staging: the folder that the files are in, below it in folders ``column=value`` as Spark names them.
        replaced: what they replace; None to add them.

    Raises:
        AlreadyExistsError: a file of that name is there; nothing was changed.
        PaimonError: a file cannot be moved; those that were are gone again.
    """
    moves = [(f.path, target) for f in _files_below(table, staging) for target in [_target(table, staging, f)]]
    folders = sorted({parent_of(target) for _, target in moves})
    cleared = [] if replaced is None else _replaced_partitions(table, replaced, folders)
    old = files_of(table, cleared)
    written = [_partition(table, folder) for folder in folders] if table.register is not None else []
    refuse_links(table.file_io, old, lambda path: table.location)
    made = [folder for folder in folders if not table.file_io.exists(folder)]
    done: list[str] = []

    def move(pair: tuple[str, str]) -> None:
        if not table.file_io.rename(*pair):
            raise AlreadyExistsError(f"{table.name}: {pair[1]} is there already.", name=pair[1])
        done.append(pair[1])

    if table.register is not None and written:
        table.register.add([spec_of(table, p) for p in written])
    try:
        spread(table.file_io.mkdirs, folders, table.threads)
        spread(move, moves, table.threads)
    except BaseException:
        table.file_io.delete_many(done, table.threads)
        for folder in made:
            table.file_io.delete_dir(folder)
        raise
    table.file_io.delete_many(old, table.threads)
    discard(table, staging)
    report_written(table, written, cleared, done, anew=replaced is not None)
    return len(moves)


def empty(table: FormatTable, partitions: Sequence[Partition]) -> int:
    """Remove the files of some partitions, whose folders stay; how many there were."""
    files = files_of(table, partitions)
    refuse_links(table.file_io, files, lambda path: table.location)
    count = table.file_io.delete_many(files, table.threads)
    report_emptied(table, partitions)
    return count


def drop_partitions(table: FormatTable, partitions: Sequence[Partition]) -> None:
    """Remove some partitions, with their folders and those above them that hold nothing else."""
    refuse_links(table.file_io, [join(p.path, "file") for p in partitions], lambda path: table.location)
    if table.register is not None and partitions and table.partition_fields:
        table.register.drop([spec_of(table, p) for p in partitions])
    for partition in partitions:
        folder = partition.path
        table.file_io.delete_dir(folder, recursive=True)
        for _ in partition.texts[1:]:
            folder = parent_of(folder)
            if not table.file_io.delete_dir(folder):
                break


def add_partitions(table: FormatTable, values: Sequence[Sequence[str | None]]) -> None:
    """Make the folders of partitions with such values, and register them where that is done.

    A folder that is there stays as it is.

    Raises:
        AlreadyExistsError: a partition is registered already; none of them was added.
    """
    partitions = [partition_of(table, texts) for texts in values]
    if table.register is not None and partitions:
        table.register.add([spec_of(table, p) for p in partitions], strict=True)
    spread(table.file_io.mkdirs, [p.path for p in partitions], table.threads)


def _replaced_partitions(table: FormatTable, replaced: Replaced, folders: Sequence[str]) -> Sequence[Partition]:
    if not replaced.dynamic:
        return chosen_partitions(table, replaced.partitions)
    # A value may be written in several ways, such as 7 and 07, and be in several folders.
    written = set(_keys(table, [_partition(table, folder) for folder in folders]))
    known = all_partitions(table)
    return [p for p, key in zip(known, _keys(table, known), strict=True) if key in written]


def _keys(table: FormatTable, partitions: Sequence[Partition]) -> list[tuple[object, ...]]:
    """The values of each partition."""
    columns = partition_columns(table, partitions)
    return list(zip(*(c.to_pylist() for c in columns.values()), strict=True)) if columns else [()] * len(partitions)


def _partition(table: FormatTable, folder: str) -> Partition:
    """The partition of a folder below the table's location."""
    return Partition(folder, partition_texts(table, folder))


def _files_below(table: FormatTable, staging: str) -> list[FileStatus]:
    found = (s for s in table.file_io.walk(staging) if not is_hidden(s.name))
    return sorted(found, key=lambda s: s.path)


def _target(table: FormatTable, staging: str, file: FileStatus) -> str:
    """Where a file of a write is to stand."""
    parts = file.path[len(staging) :].strip("/").split("/")[:-1] if table.partition_fields else []
    texts = [unescape_path_name(part.partition("=")[2]) for part in parts]
    names = folder_names(table, [None if text == HIVE_NULL else text for text in texts])
    return join(table.folder_of(names), name_of(file.path))
