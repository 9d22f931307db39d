"""Index manifest of the next snapshot."""

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
    """Write the index manifest of a snapshot on top of the latest one; return its name.

    Args:
        table: the table.
        latest: the snapshot to build on.
        changes: the added and deleted index files.
        made: the name of a written manifest is added to it.

    Raises:
        CommitConflictError: a concurrent commit changed an index that the changes replace.
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
    """Return the DELETE entries of the index files of deleted partitions."""
    return [e.as_delete() for e in index_entries(table, latest) if e.partition in partitions]


def _check(
    table: Table, before: Sequence[IndexManifestEntry], changes: Sequence[IndexManifestEntry], *, unaware: bool
) -> None:
    existing = {e.file.file_name for e in before}
    deleted = {e.file.file_name for e in changes if e.kind is FileKind.DELETE}
    stale = deleted - existing
    if not unaware:
        added = {_owner(e) for e in changes if e.kind is FileKind.ADD and e.file.index_type in _ONE_PER_BUCKET}
        stale |= {e.file.file_name for e in before if _owner(e) in added} - deleted
    if stale:
        raise CommitConflictError(
            f"{table.name}: another job has changed the index file {min(stale)} meanwhile, or its bucket's.",
            remedy="Run the statement again.",
        )


def _owner(entry: IndexManifestEntry) -> tuple[str, bytes, int]:
    return entry.file.index_type, entry.partition, entry.bucket
