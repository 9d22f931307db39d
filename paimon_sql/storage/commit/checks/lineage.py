"""Writes belong to the history that they were planned on."""

from __future__ import annotations

from paimon_sql.errors import CommitConflictError, NoSuchSnapshotError
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.metadata.refs.tags import is_same_commit
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.table.table import Table


def follows(base: Snapshot) -> Validation:
    """The newest snapshot follows the one that a write was planned on; no rollback has dropped that one.

    Rows of a keyed table get sequence numbers behind those of their base. Behind a rollback older rows may have greater
    ones, and the new rows would be taken for the older. A base that has expired meanwhile was not dropped.
    """

    def check(proposal: Proposal) -> None:
        if not _is_reached(proposal.table, base, proposal.latest):
            raise CommitConflictError(
                f"{proposal.table.name} was rolled back to before snapshot {base.id} while the statement ran; nothing"
                " was committed.",
                remedy="Run the statement again.",
            )

    return Validation("the history that the write was planned on goes on", check)


def _is_reached(table: Table, base: Snapshot, latest: Snapshot | None) -> bool:
    if latest is None or latest.id < base.id:
        return False
    if latest.id == base.id:
        return is_same_commit(latest, base)
    try:
        return is_same_commit(table.snapshots.get(base.id), base)
    except NoSuchSnapshotError:
        return True
