"""Staged files: uncommitted files, which have one owner and are deleted unless a snapshot refers to them."""

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
    """The files that a statement wrote for a table and no snapshot refers to yet.

    As a context manager, it deletes the remaining files on exit; files that a snapshot refers to, or may refer to, must
    be released before.

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
        """Own the new files of commit messages."""
        for message in messages:
            self._paths.update(dict.fromkeys(new_files(self._table, append_changes([message]))))
            self._paths.update(dict.fromkeys(new_files(self._table, compact_changes([message]))))

    def add_paths(self, paths: Iterable[str]) -> None:
        """Own files by path."""
        self._paths.update(dict.fromkeys(paths))

    def own(self, messages: Iterable[CommitMessage]) -> list[CommitMessage]:
        """Own the new files of commit messages; return the messages."""
        taken = list(messages)
        self.add(taken)
        return taken

    def collect(self, answers: Iterable[R], written: Callable[[R], Iterable[CommitMessage]]) -> list[R]:
        """Collect the results of tasks, and own their files as soon as a task has finished.

        Args:
            answers: the results; an error may follow those of finished tasks.
            written: returns the messages of a task's result.
        """
        found = []
        for answer in answers:
            self.add(written(answer))
            found.append(answer)
        return found

    def owned(self, paths: Iterable[str]) -> list[str]:
        """Return those paths that are owned."""
        return [path for path in paths if path in self._paths]

    def release(self, paths: Iterable[str]) -> None:
        """Give up ownership of files that a snapshot refers to, or may refer to."""
        for path in paths:
            self._paths.pop(path, None)

    def release_all(self) -> None:
        """Give up ownership of all files to the caller."""
        self._paths.clear()

    def remove(self) -> None:
        """Delete the owned files; errors are logged only, as no snapshot refers to the files.

        Commit messages may come from elsewhere: files outside of the table's directories are not deleted.
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
    """Collect the results of tasks that write files; on success the caller owns the files, on errors they are deleted.

    Args:
        table: the table that they write to.
        answers: the results; an error may follow those of finished tasks.
        written: returns the messages of a task's result.
    """
    with StagedFiles(table) as staged:
        found = staged.collect(answers, written)
        staged.release_all()
        return found


def new_files(table: Table, changes: Changes) -> list[str]:
    """Return the paths of all new files of changes: data, extra, changelog, index and statistics files.

    A data file that only changes its level, or gets another extra file, is not new.
    """
    locations = table.locations
    before = {e.file.file_name: e for e in changes.entries if e.kind is FileKind.DELETE}
    found: list[str] = []
    for e in changes.entries:
        if e.kind is FileKind.ADD:
            deleted = before.get(e.file.file_name)
            old_paths = set(_paths(table, deleted)) if deleted is not None else set()
            found += [path for path in _paths(table, e) if path not in old_paths]
    for e in changes.changelog:
        found += locations.files_of(e.partition, e.bucket, e.file)
    found += [index_path(table, e) for e in changes.indexes if e.kind is FileKind.ADD]
    if changes.statistics is not None:
        found.append(table.paths.statistics(changes.statistics))
    return found


def _paths(table: Table, entry: ManifestEntry) -> list[str]:
    return table.locations.files_of(entry.partition, entry.bucket, entry.file)
