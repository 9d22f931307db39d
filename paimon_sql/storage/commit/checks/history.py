"""The history of a table since the snapshot that a statement read."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.errors import CommitConflictError, NoSuchSnapshotError
from paimon_sql.format.metadata.snapshot import FIRST_SNAPSHOT_ID, Snapshot
from paimon_sql.storage.metadata.refs.tags import is_same_commit
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.table.table import Table


def changes_since(table: Table, base: Snapshot | None, latest: Snapshot | None) -> Iterable[Snapshot]:
    """Yield the snapshots after the one that a statement read.

    A snapshot is not identified by its id, which is reused after a rollback.

    Args:
        table: the table.
        base: the snapshot that the statement read; None if there was none.
        latest: the newest snapshot.

    Raises:
        CommitConflictError: the table was rolled back to before the base, or a snapshot in between has expired.
    """
    if base is not None and (latest is None or latest.id < base.id):
        raise _rolled_back(table, base)
    if base is not None and latest is not None and latest.id == base.id and not is_same_commit(latest, base):
        raise _rolled_back(table, base)
    first = FIRST_SNAPSHOT_ID if base is None else base.id + 1
    for number in range(first, latest.id + 1 if latest else first):
        try:
            snapshot = table.snapshots.get(number)
            if base is not None and number == first and not _follows(table, snapshot, base):
                raise _rolled_back(table, base)
            yield snapshot
        except NoSuchSnapshotError:
            raise CommitConflictError(
                f"{table.name}: snapshot {number} has expired since the statement began, so that what it changed is not"
                " known.",
                remedy="Run the statement again, or retain snapshots for longer.",
            ) from None


def _follows(table: Table, snapshot: Snapshot, base: Snapshot) -> bool:
    """Whether a snapshot is the next one after the base, which may have expired meanwhile."""
    try:
        return is_same_commit(table.snapshots.get(base.id), base)
    except NoSuchSnapshotError:
        before = (snapshot.total_record_count or 0) - (snapshot.delta_record_count or 0)
        return before == (base.total_record_count or 0)


def _rolled_back(table: Table, base: Snapshot) -> CommitConflictError:
    return CommitConflictError(
        f"{table.name}: the table was rolled back to before snapshot {base.id} while the statement ran.",
        remedy="Run the statement again.",
    )


def follows(base: Snapshot) -> Validation:
    """Return the validation that the base of a write is still in the history: no rollback has dropped it.

    Sequence numbers of new rows follow those of the base. After a rollback, older rows may have greater ones, and the
    new rows would be taken for older. A base that has expired was not dropped.
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
