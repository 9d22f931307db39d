"""Commit messages, and the staged files in them, which are deleted unless a snapshot refers to them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from paimon_sql.errors import PaimonError
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.index_manifest import DELETION_VECTORS_INDEX, IndexFileMeta, IndexManifestEntry
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry
from paimon_sql.storage.metadata.directories import remove_if_dropped
from paimon_sql.storage.table.index_files import index_path
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class CommitMessage:
    """One writer's changes to one bucket.

    ``new_files`` contain new rows, ``deleted_files`` were rewritten; ``compact_after`` contain the rows of
    ``compact_before``. Changelog files and index files belong to either; an index file that replaces another lists it
    as deleted, so that concurrent changes to it are not lost. ``compact_deep`` are the names of all files above level 0
    when the compaction of a primary-key table's bucket was planned, and of its deletion vector index file; None without
    levels.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    new_files: tuple[DataFileMeta, ...] = ()
    deleted_files: tuple[DataFileMeta, ...] = ()
    changelog_files: tuple[DataFileMeta, ...] = ()
    compact_before: tuple[DataFileMeta, ...] = ()
    compact_after: tuple[DataFileMeta, ...] = ()
    compact_changelog: tuple[DataFileMeta, ...] = ()
    new_indexes: tuple[IndexFileMeta, ...] = ()
    deleted_indexes: tuple[IndexFileMeta, ...] = ()
    compact_new_indexes: tuple[IndexFileMeta, ...] = ()
    compact_deleted_indexes: tuple[IndexFileMeta, ...] = ()
    compact_deep: frozenset[str] | None = None

    def with_compacted_indexes(self) -> CommitMessage:
        """The message with its index files as those of a compaction."""
        return replace(
            self,
            new_indexes=(),
            deleted_indexes=(),
            compact_new_indexes=self.new_indexes,
            compact_deleted_indexes=self.deleted_indexes,
        )

    def is_empty(self) -> bool:
        """Whether there are no changes."""
        return append_changes([self]).is_empty() and compact_changes([self]).is_empty()


@dataclass(frozen=True)
class Changes:
    """The changes of one snapshot: manifest entries of data files, changelog files and index files.

    Row ids below ``taken_row_ids`` belong to rows that already have one. ``statistics`` is the statistics file of the
    snapshot, by default that of the previous one. ``deep`` are, by partition and bucket, the names of the files that
    must still be live above level 0, and of their deletion vector index file.
    """

    entries: list[ManifestEntry] = field(default_factory=list)
    changelog: list[ManifestEntry] = field(default_factory=list)
    indexes: list[IndexManifestEntry] = field(default_factory=list)
    taken_row_ids: int = 0
    statistics: str | None = None
    deep: dict[tuple[bytes, int], frozenset[str]] = field(default_factory=dict)

    def is_empty(self) -> bool:
        """Whether there are no changes."""
        return not (self.entries or self.changelog or self.indexes)

    def deletes_rows(self) -> bool:
        """Whether rows are deleted, with their file or by a deletion vector."""
        return any(e.kind == FileKind.DELETE for e in self.entries) or any(
            e.file.index_type == DELETION_VECTORS_INDEX for e in self.indexes
        )


def append_changes(messages: Iterable[CommitMessage]) -> Changes:
    """Return the changes that add and rewrite rows."""
    changes = Changes()
    for m in messages:
        changes.entries.extend(_entries(m, FileKind.DELETE, m.deleted_files))
        changes.entries.extend(_entries(m, FileKind.ADD, m.new_files))
        changes.changelog.extend(_entries(m, FileKind.ADD, m.changelog_files))
        changes.indexes.extend(_indexes(m, FileKind.DELETE, m.deleted_indexes))
        changes.indexes.extend(_indexes(m, FileKind.ADD, m.new_indexes))
    return changes


def compact_changes(messages: Iterable[CommitMessage]) -> Changes:
    """Return the changes of compactions."""
    changes = Changes()
    for m in messages:
        changes.entries.extend(_entries(m, FileKind.DELETE, m.compact_before))
        changes.entries.extend(_entries(m, FileKind.ADD, m.compact_after))
        changes.changelog.extend(_entries(m, FileKind.ADD, m.compact_changelog))
        changes.indexes.extend(_indexes(m, FileKind.DELETE, m.compact_deleted_indexes))
        changes.indexes.extend(_indexes(m, FileKind.ADD, m.compact_new_indexes))
        if m.compact_deep is not None:
            changes.deep[m.partition, m.bucket] = m.compact_deep
    return changes


def _entries(message: CommitMessage, kind: FileKind, files: Iterable[DataFileMeta]) -> Iterable[ManifestEntry]:
    return (ManifestEntry(kind, message.partition, message.bucket, message.total_buckets, f) for f in files)


def _indexes(message: CommitMessage, kind: FileKind, files: Iterable[IndexFileMeta]) -> Iterable[IndexManifestEntry]:
    return (IndexManifestEntry(kind, message.partition, message.bucket, f) for f in files)


_LOG = logging.getLogger(__name__)

R = TypeVar("R")


class StagedFiles(AbstractContextManager["StagedFiles"]):
    """The files that a statement wrote for a table and no snapshot refers to yet.

    As a context manager, it deletes the remaining files on exit; files that a snapshot refers to, or may refer to, must
    be released before.

    Args:
        table: the table.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._paths: dict[str, None] = {}

    def __exit__(self, *failure: object) -> None:
        self.remove()

    def add_paths(self, paths: Iterable[str]) -> None:
        """Own files by path."""
        self._paths.update(dict.fromkeys(paths))

    def own(self, messages: Iterable[CommitMessage]) -> list[CommitMessage]:
        """Own the new files of commit messages; return the messages."""
        taken = []
        for message in messages:
            self.add_paths(new_files(self._table, append_changes([message])))
            self.add_paths(new_files(self._table, compact_changes([message])))
            taken.append(message)
        return taken

    def collect(self, answers: Iterable[R], written: Callable[[R], Iterable[CommitMessage]]) -> list[R]:
        """Collect the results of tasks, and own their files as soon as a task has finished.

        Args:
            answers: the results; an error may follow those of finished tasks.
            written: returns the messages of a task's result.
        """
        found = []
        for answer in answers:
            self.own(written(answer))
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

    def paths_of(entry: ManifestEntry) -> list[str]:
        return table.locations.files_of(entry.partition, entry.bucket, entry.file)

    before = {e.file.file_name: e for e in changes.entries if e.kind is FileKind.DELETE}
    found: list[str] = []
    for e in changes.entries:
        if e.kind is FileKind.ADD:
            deleted = before.get(e.file.file_name)
            old_paths = set(paths_of(deleted)) if deleted is not None else set()
            found += [path for path in paths_of(e) if path not in old_paths]
    for e in changes.changelog:
        found += paths_of(e)
    found += [index_path(table, e) for e in changes.indexes if e.kind is FileKind.ADD]
    if changes.statistics is not None:
        found.append(table.paths.statistics(changes.statistics))
    return found
