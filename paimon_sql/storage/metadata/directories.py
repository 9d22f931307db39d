"""Directories of tables as a whole: given up, moved, and looked through before a table is made there.

A writer that is at work meanwhile looks for the schema after it has created its snapshot (`commit/standing.py`). So the
schema leaves a directory before anything else does, and comes to a new one last.
"""

from __future__ import annotations

import uuid

from paimon_sql.errors import InvalidInputError, PaimonError
from paimon_sql.storage.execution.threads import spread
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.paths import join, name_of, parent_of

_DROPPED = "_dropped"
"""Holds directories of dropped tables until their files are deleted; beside those of the tables."""
_MOVED_SCHEMA = "_moved-schema"
_SCHEMA = "schema"
_HISTORY = ("snapshot", "changelog", "tag", "branch")
_ATTEMPTS = 5
_THREADS = 8


def check_no_history(file_io: FileIO, path: str, table: str) -> None:
    """Nothing if a table can be made in a directory: one whose schema is lost, or that is being dropped, is kept.

    Raises:
        InvalidInputError: snapshots, tags or branches of another table stand there.
    """
    for name in _HISTORY:
        directory = join(path, name)
        if any(not status.name.startswith(".") for status in file_io.list(directory)):
            raise InvalidInputError(
                f"Table {table} cannot be made: {directory} holds the history of a table without a schema.",
                remedy=f"If a DROP TABLE is at work, wait for its end. Otherwise move {path} away, or delete it.",
            )


def drop_directory(file_io: FileIO, path: str) -> None:
    """Delete a table's directory; whatever fails, its table is gone, and no writer can commit to it.

    On a file system with directories it leaves its name at once, and its files follow; in an object store the schema
    goes first. A drop that was interrupted is ended by the next one beside it.
    """
    if file_io.is_object_store(path) or file_io.link_below(parent_of(path), join(path, _SCHEMA)) is not None:
        file_io.delete_dir(join(path, _SCHEMA), recursive=True)
        _delete_all(file_io, path)
        return
    held = join(parent_of(path), _DROPPED)
    if file_io.exists(path):
        file_io.rename(path, join(held, f"{name_of(path)}-{uuid.uuid4()}"))
    for left in file_io.list(held):
        _delete_all(file_io, left.path)
    file_io.delete_dir(held)


def remove_if_dropped(file_io: FileIO, path: str) -> None:
    """Remove the empty directories that a writer has made where a table was dropped or renamed under it."""
    if not file_io.exists(join(path, _SCHEMA)):
        _delete_empty(file_io, path)


def move_directory(file_io: FileIO, source: str, target: str) -> bool:
    """Move a table's directory to a free name: False if that is taken.

    Atomic on a file system with directories. In an object store files are copied, then those that writers have added
    meanwhile, once the schema has gone and nothing more can be committed. A move that was interrupted there is gone on
    with by calling this again.
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
    """Whether a move to this directory was begun and has not ended."""
    return bool(file_io.list(join(target, _MOVED_SCHEMA)))


def _copy_missing(file_io: FileIO, source: str, target: str, without: str | None = None) -> None:
    """Copy the files of a directory that the other one has not, or has in another size."""
    there = {s.path[len(target) :]: s.size for s in file_io.walk(target)}
    kept = None if without is None else f"/{without}/"
    names = {s.path[len(source) :]: s.size for s in file_io.walk(source)}
    wanted = [n for n, size in names.items() if there.get(n) != size and not (kept and n.startswith(kept))]
    spread(lambda name: file_io.copy(source + name, target + name), sorted(wanted), _THREADS)


def _delete_empty(file_io: FileIO, path: str) -> None:
    for status in file_io.list(path):
        if not status.is_dir:
            return
        _delete_empty(file_io, status.path)
    file_io.delete_dir(path)


def _delete_all(file_io: FileIO, path: str) -> None:
    """Delete a directory that others may be deleting, too, or may still be writing into."""
    for attempt in range(_ATTEMPTS):
        try:
            file_io.delete_dir(path, recursive=True)
        except PaimonError:
            if attempt == _ATTEMPTS - 1:
                raise
        if not file_io.exists(path):
            return
