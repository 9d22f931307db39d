"""Files that are written and not committed: they have one owner, and go unless a snapshot takes them over."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TypeVar

from paimon_sql.errors import PaimonError
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry
from paimon_sql.storage.metadata.directories import remove_if_dropped
from paimon_sql.storage.staging.commit_messages import Changes, CommitMessage, append_changes, compact_changes
from paimon_sql.storage.table.index_files import index_path
from paimon_sql.storage.table.table import Table

_LOG = logging.getLogger(__name__)

R = TypeVar("R")


class StagedFiles:
    """The files that one statement has written for a table and that no snapshot names yet.

    Used with ``with``, whatever is left at the end is deleted: what a snapshot names, or may name, was released before.

    Args:
        table: the table.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._paths: dict[str, None] = {}

    def __enter__(self) -> StagedFiles:
        return self

    def __exit__(self, *failure: object) -> None:
        self.remove()

    def add(self, messages: Iterable[CommitMessage]) -> None:
        """Own the new files of messages."""
        for message in messages:
            self._paths.update(dict.fromkeys(new_files(self._table, append_changes([message]))))
            self._paths.update(dict.fromkeys(new_files(self._table, compact_changes([message]))))

    def add_paths(self, paths: Iterable[str]) -> None:
        """Own files by their paths."""
        self._paths.update(dict.fromkeys(paths))

    def take(self, messages: Iterable[CommitMessage]) -> list[CommitMessage]:
        """Own the new files of messages; the messages."""
        taken = list(messages)
        self.add(taken)
        return taken

    def collect(self, answers: Iterable[R], written: Callable[[R], Iterable[CommitMessage]]) -> list[R]:
        """The answers of tasks, whose files are owned from the moment that a task has answered.

        Args:
            answers: the answers; those before an error are of tasks that are done.
            written: the messages of a task, by its answer.
        """
        found = []
        for answer in answers:
            self.add(written(answer))
            found.append(answer)
        return found

    def owned(self, paths: Iterable[str]) -> list[str]:
        """Those of the paths that are owned."""
        return [path for path in paths if path in self._paths]

    def release(self, paths: Iterable[str]) -> None:
        """Own some files no more: a snapshot names them, or may do so."""
        for path in paths:
            self._paths.pop(path, None)

    def release_all(self) -> None:
        """Own nothing any more: the caller takes all files over."""
        self._paths.clear()

    def remove(self) -> None:
        """Delete what is owned. A file that cannot be deleted does no harm: no snapshot names it.

        Messages may be another's: what they name outside of the table's directories is left alone.
        """
        table = self._table
        paths, self._paths = list(self._paths), {}
        try:
            roots = table.manifests.external_roots
            if table.file_io.delete_many([path for path in paths if roots.root_of(path) is not None]):
                remove_if_dropped(table.file_io, table.path)
        except (PaimonError, OSError) as error:
            _LOG.warning("%s: files that were not committed could not be deleted: %s", table.name, error)


def gather(table: Table, answers: Iterable[R], written: Callable[[R], Iterable[CommitMessage]]) -> list[R]:
    """The answers of all tasks that write files; the caller owns the files. If one fails, or an interrupt comes, none
    is left.

    Args:
        table: the table that they write to.
        answers: the answers; those before an error are of tasks that are done.
        written: the messages of a task, by its answer.
    """
    with StagedFiles(table) as staged:
        found = staged.collect(answers, written)
        staged.release_all()
        return found


def new_files(table: Table, changes: Changes) -> list[str]:
    """The paths of all files that changes bring: data files, extra files, changelog, index and statistics files.

    A data file that only changes its level, or gets another extra file, was there before.
    """
    locations = table.locations
    before = {e.file.file_name: e for e in changes.entries if e.kind is FileKind.DELETE}
    found: list[str] = []
    for e in changes.entries:
        if e.kind is FileKind.ADD:
            known = before.get(e.file.file_name)
            held = set(_paths(table, known)) if known is not None else set()
            found += [path for path in _paths(table, e) if path not in held]
    for e in changes.changelog:
        found += locations.files_of(e.partition, e.bucket, e.file)
    found += [index_path(table, e) for e in changes.indexes if e.kind is FileKind.ADD]
    if changes.statistics is not None:
        found.append(table.paths.statistics(changes.statistics))
    return found


def _paths(table: Table, entry: ManifestEntry) -> list[str]:
    return table.locations.files_of(entry.partition, entry.bucket, entry.file)
