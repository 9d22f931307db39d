"""Rows of data files marked as deleted: the index files that take the place of those that a snapshot has."""

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
"""By name of the data file its new vector; None where the file itself goes."""


def mark(
    table: Table, base: Snapshot | None, gone: Sequence[tuple[ManifestEntry, DeletionVector]]
) -> list[CommitMessage]:
    """Mark rows as deleted; a file of which no row is left goes itself, unless others hold columns of its rows.

    Args:
        table: the table.
        base: the snapshot that the files are of.
        gone: the files, each with the rows that go beside those that are deleted already.

    Returns:
        A message a bucket, to be committed on a snapshot with the same vectors.
    """
    deletions = index_entries(table, base)
    ordered = sorted(gone, key=lambda g: (g[0].partition, g[0].bucket))
    messages = []
    for (partition, bucket, total), group in groupby(
        ordered, key=lambda g: (g[0].partition, g[0].bucket, g[0].total_buckets)
    ):
        held = [e for e in deletions if (e.partition, e.bucket) == (partition, bucket)]
        old = read_vectors(table, held)
        changed: dict[str, DeletionVector | None] = {}
        emptied: list[DataFileMeta] = []
        for e, vector in group:
            name = e.file.file_name
            whole = old[name] | vector if name in old else vector
            stays = has_data_evolution(table) or whole.cardinality < e.file.row_count
            changed[name] = whole if stays else None
            if changed[name] is None:
                emptied.append(e.file)
        message = replaced_vectors(table, held, CommitMessage(partition, bucket, total), changed)
        messages.append(replace(message, deleted_files=tuple(emptied)))
    return messages


def with_earlier(
    table: Table, base: Snapshot | None, gone: Sequence[tuple[ManifestEntry, DeletionVector]]
) -> list[tuple[ManifestEntry, DeletionVector]]:
    """The files with all rows that are not to be read any more: those that go, and those that vectors name already."""
    deletions = deletions_of(table, base)
    found = []
    for e, vector in gone:
        earlier = deletions.get((e.partition, e.bucket, e.file.file_name))
        found.append((e, vector if earlier is None else vector | earlier.read(table.file_io)))
    return found


def forget(table: Table, base: Snapshot | None, files: Sequence[ManifestEntry]) -> list[CommitMessage]:
    """The index files without the vectors of data files that go, a message a bucket in which there are such."""
    deletions = deletions_of(table, base)
    places: dict[tuple[bytes, int, int], dict[str, DeletionVector | None]] = {}
    for e in files:
        if (e.partition, e.bucket, e.file.file_name) in deletions:
            places.setdefault((e.partition, e.bucket, e.total_buckets), {})[e.file.file_name] = None
    entries = index_entries(table, base) if places else []
    return [
        replaced_vectors(
            table,
            [e for e in entries if (e.partition, e.bucket) == (partition, bucket)],
            CommitMessage(partition, bucket, total),
            changed,
        )
        for (partition, bucket, total), changed in places.items()
    ]


def read_vectors(table: Table, held: Sequence[IndexManifestEntry]) -> dict[str, DeletionVector]:
    """The vectors of index files by the name of their data file."""
    return {
        part.data_file_name: Deletion(index_path(table, e), part).read(table.file_io)
        for e in held
        if e.file.index_type == DELETION_VECTORS_INDEX
        for part in e.file.deletion_vectors or ()
    }


def replaced_vectors(
    table: Table, held: Sequence[IndexManifestEntry], message: CommitMessage, changed: Vectors
) -> CommitMessage:
    """The message with the index files that hold changed vectors, and all others that stood beside the old ones.

    Args:
        table: the table.
        held: the index files of the bucket.
        message: what else becomes of the bucket.
        changed: the vectors that change.
    """
    files = [e for e in held if e.file.index_type == DELETION_VECTORS_INDEX]
    if has_one_vectors_file(table):
        stale = files
    else:
        stale = [e for e in files if any(v.data_file_name in changed for v in e.file.deletion_vectors or ())]
    vectors: dict[str, DeletionVector | None] = {**read_vectors(table, stale), **changed}
    left = {name: vector for name, vector in vectors.items() if vector is not None}
    if not left and not stale:
        return message
    new = write_deletions(table, message.partition, message.bucket, left) if left else ()
    return replace(message, new_indexes=new, deleted_indexes=tuple(e.file for e in stale))
