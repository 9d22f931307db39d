"""Files of a tag whose snapshot has expired, which are deleted with the tag unless others need them."""

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
    """Delete the files that only a deleted tag retained; return them.

    Nothing is deleted while the snapshot exists or another tag retains it.

    Args:
        table: the table or branch.
        snapshot: the snapshot of the tag.

    Raises:
        CommitConflictError: tags or branches keep changing; nothing was deleted.
        PaimonError: a retained reference cannot be read; nothing was deleted.
    """
    # Without the retry, a branch that is renamed meanwhile might be missed.
    files = retry_on_concurrent_change(table, lambda: files_of_tag(table, snapshot), lambda files: files.count > 0)
    files.delete(table)
    return files


def files_of_tag(table: Table, snapshot: Snapshot, gone: Collection[str] = frozenset()) -> FilesToDelete:
    """Return the files that only this tag retains, as `free_tagged` deletes them.

    Args:
        table: the table or branch.
        snapshot: the snapshot of the tag.
        gone: the names of tags to ignore, as deleted.
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
    references = _neighbours(table, tags, snapshot.id, earliest_id)
    references += [p for b in branches for p in references_of_branches(b)]
    changelogs = [c for b in [table, *branches] for c in changelogs_of(b)]
    live = distinct_files([live_entries(table, snapshot)])
    uses = uses_of(table, references, changelogs, named_files(live))
    add_unused(table, files, live, uses)
    lists = {
        snapshot.base_manifest_list: snapshot.base_manifest_list_size or 0,
        snapshot.delta_manifest_list: snapshot.delta_manifest_list_size or 0,
    }
    add_manifests(table, files, lists, uses)
    add_indexes(table, files, snapshot, uses)
    return files


def _neighbours(table: Table, tags: Sequence[NamedTag], snapshot_id: int, earliest_id: int) -> list[RetainedReference]:
    """Return the references of the tags next to a snapshot on either side, and of the first retained snapshot.

    As a file is live in consecutive snapshots, no reference farther away needs a file that none of these needs.
    """
    before = max((t for t in tags if t.snapshot.id < snapshot_id), key=lambda t: t.snapshot.id, default=None)
    after = min((t for t in tags if t.snapshot.id > snapshot_id), key=lambda t: t.snapshot.id, default=None)
    earliest = reference_of_snapshot(table, table.snapshots.get(earliest_id))
    return [earliest, *(reference_of_tag(table, t) for t in (before, after) if t is not None)]
