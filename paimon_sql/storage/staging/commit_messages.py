"""Commit messages: the files that writers added and deleted, by bucket (Paimon: `CommitMessage`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.index_manifest import DELETION_VECTORS_INDEX, IndexFileMeta, IndexManifestEntry
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry


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

    def is_empty(self) -> bool:
        """Whether there are no changes."""
        return not any(
            (
                self.new_files,
                self.deleted_files,
                self.changelog_files,
                self.compact_before,
                self.compact_after,
                self.compact_changelog,
                self.new_indexes,
                self.deleted_indexes,
                self.compact_new_indexes,
                self.compact_deleted_indexes,
            )
        )


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
