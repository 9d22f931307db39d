"""Commits that a writer numbers, made once though the writer may not know whether it made them."""

from __future__ import annotations

from paimon_sql.errors import NoSuchSnapshotError
from paimon_sql.storage.table import Table


def is_committed(table: Table, commit_user: str, identifier: int) -> bool:
    """Whether a writer whose numbers only grow has made the commit of that number, or a later one.

    Snapshots are looked at from the newest on, until one of the writer's is found or none is left.
    """
    table.snapshots.forget()
    newest, oldest = table.snapshots.latest_id(), table.snapshots.earliest_id()
    for snapshot_id in range(newest or 0, (oldest or 1) - 1, -1):
        try:
            snapshot = table.snapshots.get(snapshot_id)
        except NoSuchSnapshotError:
            return False  # it has expired meanwhile, and so have those before it
        if snapshot.commit_user == commit_user:
            return snapshot.commit_identifier >= identifier
    return False
