"""The files of a tag whose snapshot expired: when the tag goes, what only it needed goes as well."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.metadata.refs.tags import NamedTag
from paimon_sql.storage.retention.files_to_delete import FilesToDelete
from paimon_sql.storage.retention.plan import add_indexes, add_manifests, add_unused, distinct_files
from paimon_sql.storage.retention.retained_references import (
    RetainedReference,
    changelogs_of,
    other_branches,
    reference_of_snapshot,
    reference_of_tag,
    references_of_branches,
    retry_on_concurrent_change,
    uses_of,
)
from paimon_sql.storage.retention.used_files import live_entries, named_files
from paimon_sql.storage.table.table import Table


def free_tagged(table: Table, snapshot: Snapshot) -> FilesToDelete:
    """Remove the files that only a tag kept, which itself is gone already; the files removed.

    Nothing goes while the snapshot stands or another tag keeps it.

    Args:
        table: the table or branch.
        snapshot: the snapshot that the tag kept.

    Raises:
        CommitConflictError: tags or branches keep changing; nothing was deleted.
        PaimonError: somebody who may need the files cannot be read; nothing was deleted.
    """
    # A branch that gets another name while all are asked might be overlooked.
    files = retry_on_concurrent_change(table, lambda: files_of_tag(table, snapshot), lambda files: files.count > 0)
    files.delete(table)
    return files


def files_of_tag(table: Table, snapshot: Snapshot, gone: Collection[str] = frozenset()) -> FilesToDelete:
    """The files that a tag alone keeps and that `free_tagged` removes.

    Args:
        table: the table or branch.
        snapshot: the snapshot that the tag keeps.
        gone: the names of tags that count as gone.
    """
    files = FilesToDelete()
    tags = [t for t in table.tags.all() if t.name not in gone]
    earliest_id = table.snapshots.earliest_id()
    if (
        earliest_id is None
        or snapshot.id >= earliest_id
        or table.snapshots.exists(snapshot.id)
        or any(t.snapshot.id == snapshot.id for t in tags)
    ):
        return files
    branches = other_branches(table)
    protectors = _neighbours(table, tags, snapshot.id, earliest_id)
    protectors += [p for b in branches for p in references_of_branches(b)]
    changelogs = [c for b in [table, *branches] for c in changelogs_of(b)]
    live = distinct_files([live_entries(table, snapshot)])
    uses = uses_of(table, protectors, changelogs, named_files(live))
    add_unused(table, files, live, uses)
    lists = {
        snapshot.base_manifest_list: snapshot.base_manifest_list_size or 0,
        snapshot.delta_manifest_list: snapshot.delta_manifest_list_size or 0,
    }
    add_manifests(table, files, lists, uses)
    add_indexes(table, files, snapshot, uses)
    return files


def _neighbours(table: Table, tags: Sequence[NamedTag], snapshot_id: int, earliest_id: int) -> list[RetainedReference]:
    """The tags next to a snapshot on either side, and the first retained snapshot.

    A file is live in an unbroken run of snapshots, so nobody farther away needs one that none of these needs.
    """
    before = max((t for t in tags if t.snapshot.id < snapshot_id), key=lambda t: t.snapshot.id, default=None)
    behind = min((t for t in tags if t.snapshot.id > snapshot_id), key=lambda t: t.snapshot.id, default=None)
    earliest = reference_of_snapshot(table, table.snapshots.get(earliest_id))
    return [earliest, *(reference_of_tag(table, t) for t in (before, behind) if t is not None)]
