"""Row-level strategy "deletion vectors": index files that replace those of a snapshot (spec: Table Index)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from paimon_sql.format.index_files.deletion_vectors import DeletionVector
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.index_manifest import DELETION_VECTORS_INDEX, IndexManifestEntry
from paimon_sql.format.metadata.manifest import ManifestEntry
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.data_files.deletion_vectors import Deletion, deletions_of
from paimon_sql.storage.data_files.file_groups import has_data_evolution
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.index_files import has_one_vectors_file, index_entries, index_path, write_deletions
from paimon_sql.storage.table.table import Table

Vectors = Mapping[str, DeletionVector | None]
"""New deletion vectors by name of the data file; None if the file itself is deleted."""


def mark(
    table: Table, base: Snapshot | None, marks: Sequence[tuple[ManifestEntry, DeletionVector]]
) -> list[CommitMessage]:
    """Mark rows as deleted; a file without live rows is deleted itself, unless other files hold columns of its rows.

    Args:
        table: the table.
        base: the snapshot of the files.
        marks: the files, each with the rows to delete in addition to those that are deleted already.

    Returns:
        One message per bucket, to be committed on a snapshot with the same vectors.
    """
    deletions = index_entries(table, base)
    ordered = sorted(marks, key=lambda g: (g[0].partition, g[0].bucket))
    messages = []
    for (partition, bucket, total), group in groupby(
        ordered, key=lambda g: (g[0].partition, g[0].bucket, g[0].total_buckets)
    ):
        stored = [e for e in deletions if (e.partition, e.bucket) == (partition, bucket)]
        old = read_vectors(table, stored)
        changed: dict[str, DeletionVector | None] = {}
        emptied: list[DataFileMeta] = []
        for e, vector in group:
            name = e.file.file_name
            merged = old[name] | vector if name in old else vector
            stays = has_data_evolution(table) or merged.cardinality < e.file.row_count
            changed[name] = merged if stays else None
            if changed[name] is None:
                emptied.append(e.file)
        message = replaced_vectors(table, stored, CommitMessage(partition, bucket, total), changed)
        messages.append(replace(message, deleted_files=tuple(emptied)))
    return messages


def with_existing_deletions(
    table: Table, base: Snapshot | None, marks: Sequence[tuple[ManifestEntry, DeletionVector]]
) -> list[tuple[ManifestEntry, DeletionVector]]:
    """The files with all their deleted rows: the marked ones, and those of the snapshot's deletion vectors."""
    deletions = deletions_of(table, base)
    merged = []
    for e, vector in marks:
        earlier = deletions.get((e.partition, e.bucket, e.file.file_name))
        merged.append((e, vector if earlier is None else vector | earlier.read(table.file_io)))
    return merged


def drop_vectors(table: Table, base: Snapshot | None, files: Sequence[ManifestEntry]) -> list[CommitMessage]:
    """Drop the vectors of deleted data files from the index files, with one message per affected bucket."""
    deletions = deletions_of(table, base)
    by_bucket: dict[tuple[bytes, int, int], dict[str, DeletionVector | None]] = {}
    for e in files:
        if (e.partition, e.bucket, e.file.file_name) in deletions:
            by_bucket.setdefault((e.partition, e.bucket, e.total_buckets), {})[e.file.file_name] = None
    entries = index_entries(table, base) if by_bucket else []
    return [
        replaced_vectors(
            table,
            [e for e in entries if (e.partition, e.bucket) == (partition, bucket)],
            CommitMessage(partition, bucket, total),
            changed,
        )
        for (partition, bucket, total), changed in by_bucket.items()
    ]


def read_vectors(table: Table, stored: Sequence[IndexManifestEntry]) -> dict[str, DeletionVector]:
    """The vectors of index files, by name of their data file."""
    return {
        part.data_file_name: Deletion(index_path(table, e), part).read(table.file_io)
        for e in stored
        if e.file.index_type == DELETION_VECTORS_INDEX
        for part in e.file.deletion_vectors or ()
    }


def replaced_vectors(
    table: Table, stored: Sequence[IndexManifestEntry], message: CommitMessage, changed: Vectors
) -> CommitMessage:
    """Write index files with the changed vectors and the others of the replaced files, and add them to the message.

    Args:
        table: the table.
        stored: the index files of the bucket.
        message: the other changes of the bucket.
        changed: the vectors that change.
    """
    files = [e for e in stored if e.file.index_type == DELETION_VECTORS_INDEX]
    if has_one_vectors_file(table):
        stale = files
    else:
        stale = [e for e in files if any(v.data_file_name in changed for v in e.file.deletion_vectors or ())]
    vectors: dict[str, DeletionVector | None] = {**read_vectors(table, stale), **changed}
    remaining = {name: vector for name, vector in vectors.items() if vector is not None}
    if not remaining and not stale:
        return message
    new = write_deletions(table, message.partition, message.bucket, remaining) if remaining else ()
    return replace(message, new_indexes=new, deleted_indexes=tuple(e.file for e in stale))
