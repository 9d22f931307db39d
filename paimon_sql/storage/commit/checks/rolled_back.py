"""Check of changes that are committed again after a rollback: their files may have been deleted since.

A writer that is suspended after it has created its snapshot does not know what becomes of it: others may build on it,
replace its rows, and expire it with its files. If the table is then rolled back to a tag before it, the snapshot is no
longer part of the history, but its files are gone.
"""

from __future__ import annotations

from paimon_sql.errors import CommitUnknownError
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.commit.checks.conflicts import lost_files
from paimon_sql.storage.retention.retained_references import other_branches
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.table.table import Table


def require_files_of(table: Table, rolled_back: Snapshot, changes: Changes) -> None:
    """Check that nobody has deleted, or may be deleting, files of a snapshot that a rollback dropped.

    All later snapshots that the rollback drops must be gone: an expiration that finds its first retained snapshot
    missing deletes nothing, so that from now on none begins to delete these files.

    Args:
        table: the table or branch.
        rolled_back: the snapshot that the changes were committed with.
        changes: the changes.

    Raises:
        CommitUnknownError: they may be deleted.
    """
    branches = [table, *other_branches(table)]  # one may have been created from the snapshot
    if rolled_back.id >= max(b.snapshots.end_of_expired() for b in branches) and not lost_files(table, changes):
        return
    raise CommitUnknownError(
        f"{table.name}: whether snapshot {rolled_back.id} was part of the history is unknown: the table was rolled back"
        " to before it, and it may have expired before that. Its changes cannot be committed again, as its files may"
        " have been deleted.",
        commit_user=rolled_back.commit_user,
        commit_identifier=rolled_back.commit_identifier,
        remedy="If the table should contain the changes after the rollback, run the statement again.",
    )
