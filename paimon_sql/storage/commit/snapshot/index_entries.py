"""The index files of the next snapshot: those of the last one, and what a commit changes."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_sql.errors import CommitConflictError
from paimon_sql.format.metadata.index_manifest import DELETION_VECTORS_INDEX, HASH_INDEX, IndexManifestEntry, combine
from paimon_sql.format.metadata.manifest import FileKind
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table

_ONE_PER_BUCKET = (HASH_INDEX, DELETION_VECTORS_INDEX)


def next_index_manifest(
    table: Table, latest: Snapshot | None, changes: Sequence[IndexManifestEntry], made: list[str]
) -> str | None:
    """The name of the index manifest of a snapshot that is put on the latest one.

    Args:
        table: the table.
        latest: the snapshot that is built upon.
        changes: the index files that come and go.
        made: takes the name of a manifest that was written.

    Raises:
        CommitConflictError: a rival has changed an index that the changes replace.
    """
    if not changes:
        return latest.index_manifest if latest else None
    before = index_entries(table, latest)
    unaware = not table.schema.primary_keys and table.options.get(BUCKET) == -1
    _check(table, before, changes, unaware=unaware)
    after = combine(before, changes, bucket_unaware=unaware)
    name = table.manifests.write_indexes(after)
    made.append(name)
    return name


def indexes_of_partitions(
    table: Table, latest: Snapshot | None, partitions: frozenset[bytes]
) -> list[IndexManifestEntry]:
    """The DELETE entries of the index files of partitions whose data goes."""
    return [e.as_delete() for e in index_entries(table, latest) if e.partition in partitions]


def _check(
    table: Table, before: Sequence[IndexManifestEntry], changes: Sequence[IndexManifestEntry], *, unaware: bool
) -> None:
    held = {e.file.file_name for e in before}
    gone = {e.file.file_name for e in changes if e.kind is FileKind.DELETE}
    stale = gone - held
    if not unaware:
        added = {_place(e) for e in changes if e.kind is FileKind.ADD and e.file.index_type in _ONE_PER_BUCKET}
        stale |= {e.file.file_name for e in before if _place(e) in added} - gone
    if stale:
        raise CommitConflictError(
            f"{table.name}: another job has changed the index file {min(stale)} meanwhile, or its bucket's.",
            remedy="Run the statement again.",
        )


def _place(entry: IndexManifestEntry) -> tuple[str, bytes, int]:
    return entry.file.index_type, entry.partition, entry.bucket
