"""Table directories: drop, move, and the check before a table is created.

A concurrent writer checks for the schema after it has created its snapshot (`commit/snapshot/snapshot_commit.py`). So
the schema is deleted from a directory first, and created in a new one last.
"""

from __future__ import annotations

import uuid

from paimon_sql.errors import InvalidInputError, PaimonError
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.paths import join, name_of, parent_of

_DROPPED = "_dropped"
"""Directory, beside those of the tables, for directories of dropped tables until their files are deleted."""
_MOVED_SCHEMA = "_moved-schema"
_SCHEMA = "schema"
_HISTORY = ("snapshot", "changelog", "tag", "branch")
_ATTEMPTS = 5
_THREADS = 8


def check_no_history(file_io: FileIO, path: str, table: str) -> None:
    """Check that a table can be created in a directory: one whose schema is lost or being dropped is preserved.

    Raises:
        InvalidInputError: it holds snapshots, tags or branches of another table.
    """
    for name in _HISTORY:
        directory = join(path, name)
        if any(not status.name.startswith(".") for status in file_io.list(directory)):
            raise InvalidInputError(
                f"Table {table} cannot be created: {directory} contains the history of a table without a schema.",
                remedy=f"If a DROP TABLE is running, wait for its end. Otherwise move {path} away, or delete it.",
            )


def drop_directory(file_io: FileIO, path: str) -> None:
    """Delete a table's directory; after the first step the table does not exist, and no writer can commit to it.

    On a file system with directories it is renamed first, and then its files are deleted; in an object store the schema
    is deleted first. The next drop in the same database completes an interrupted one.
    """
    if file_io.is_object_store(path) or file_io.link_below(parent_of(path), join(path, _SCHEMA)) is not None:
        file_io.delete_dir(join(path, _SCHEMA), recursive=True)
        _delete_all(file_io, path)
        return
    dropped = join(parent_of(path), _DROPPED)
    if file_io.exists(path):
        file_io.rename(path, join(dropped, f"{name_of(path)}-{uuid.uuid4()}"))
    for leftover in file_io.list(dropped):
        _delete_all(file_io, leftover.path)
    file_io.delete_dir(dropped)


def remove_if_dropped(file_io: FileIO, path: str) -> None:
    """Delete the empty directories that a writer created after its table was dropped or renamed."""
    if not file_io.exists(join(path, _SCHEMA)):
        _delete_empty(file_io, path)


def move_directory(file_io: FileIO, source: str, target: str) -> bool:
    """Move a table's directory to a free name: False if the name is taken.

    Atomic on a file system with directories. In an object store files are copied, and once more after the schema is
    deleted and nothing can be committed, to include those of concurrent writers. A repeated call continues an
    interrupted move.
    """
    if not file_io.is_object_store(source):
        return file_io.rename(source, target)
    if file_io.exists(target) and not is_being_moved(file_io, target):
        return False
    _copy_missing(file_io, join(source, _SCHEMA), join(target, _MOVED_SCHEMA))
    _copy_missing(file_io, source, target, without=_SCHEMA)
    file_io.delete_dir(join(source, _SCHEMA), recursive=True)
    _copy_missing(file_io, source, target, without=_SCHEMA)
    _copy_missing(file_io, join(target, _MOVED_SCHEMA), join(target, _SCHEMA))
    _delete_all(file_io, source)
    file_io.delete_dir(join(target, _MOVED_SCHEMA), recursive=True)
    return True


def is_being_moved(file_io: FileIO, target: str) -> bool:
    """Whether a move to this directory was started and not completed."""
    return bool(file_io.list(join(target, _MOVED_SCHEMA)))


def _copy_missing(file_io: FileIO, source: str, target: str, without: str | None = None) -> None:
    """Copy the files of a directory that the target lacks, or has in another size."""
    existing = {s.path[len(target) :]: s.size for s in file_io.walk(target)}
    excluded = None if without is None else f"/{without}/"
    names = {s.path[len(source) :]: s.size for s in file_io.walk(source)}
    missing = [n for n, size in names.items() if existing.get(n) != size and not (excluded and n.startswith(excluded))]
    map_in_threads(lambda name: file_io.copy(source + name, target + name), sorted(missing), _THREADS)


def _delete_empty(file_io: FileIO, path: str) -> None:
    for status in file_io.list(path):
        if not status.is_dir:
            return
        _delete_empty(file_io, status.path)
    file_io.delete_dir(path)


def _delete_all(file_io: FileIO, path: str) -> None:
    """Delete a directory that other processes may delete, too, or still write to."""
    for attempt in range(_ATTEMPTS):
        try:
            file_io.delete_dir(path, recursive=True)
        except PaimonError:
            if attempt == _ATTEMPTS - 1:
                raise
        if not file_io.exists(path):
            return
