"""Epochs: numbered commits of streams, each committed once, as the table's history proves.

A snapshot records its commit user and identifier. As snapshots expire, every snapshot also carries the identifiers of
earlier users as a property, so that the newest one has them all. Snapshots of other engines carry nothing; before those
the history is searched.
"""

from __future__ import annotations

from collections.abc import Callable

from paimon_sql.errors import CommitConflictError, CommitUnknownError, NoSuchSnapshotError
from paimon_sql.format.metadata.snapshot import FIRST_SNAPSHOT_ID, Snapshot
from paimon_sql.format.options.engines.spark import STREAM_UNKNOWN_EPOCH
from paimon_sql.storage.commit.snapshot.carried_properties import EPOCHS, snapshot_before
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.table.table import Table

_SKEW_MILLIS = 60_000
"""Max difference between the clocks of a table's writers."""


class EpochCommittedError(CommitConflictError):
    """The user has already committed this identifier, or a later one."""


class EpochSkippedError(EpochCommittedError):
    """It is unknown whether the user has committed this identifier, and its option is to skip it."""


def committed_once(
    table: Table, user: str, identifier: int, *, began: Callable[[], int | None], otherwise: str = "error"
) -> Validation:
    """Return the validation that the user has not committed this identifier yet.

    It is checked in the retained snapshots and in what they carry. Where snapshots that carried nothing have expired,
    that is still conclusive for a writer that began after the earliest retained snapshot.

    Args:
        table: the table.
        user: the commit user, whose identifiers ascend.
        identifier: the commit identifier.
        began: returns the start of the writer's first run, in milliseconds since the epoch; None if unknown.
        otherwise: what to do if it is unknown: ``error``, ``skip`` the commit, or ``commit`` it.

    Raises:
        EpochCommittedError: by the validation: it has been committed.
        EpochSkippedError: by the validation: it is unknown, and should be skipped.
        CommitUnknownError: by the validation: it is unknown, as its snapshots have expired.
    """

    def check(proposal: Proposal) -> None:
        found = newest_identifier(table, user, proposal.latest)
        if found is not None:
            if found >= identifier:
                raise EpochCommittedError(f"{table.name}: commit {identifier} of {user} was made before.")
            return
        if otherwise == "commit" or not _is_incomplete(table, proposal.latest, began):
            return
        if otherwise == "skip":
            raise EpochSkippedError(f"{table.name}: commit {identifier} of {user} is taken for made.")
        raise CommitUnknownError(
            f"{table.name}: whether micro-batch {identifier} of stream {user} was committed by an earlier run is not"
            " known: the snapshots of that time have expired.",
            commit_user=user,
            commit_identifier=identifier,
            remedy="See whether the table holds its rows; then start the stream with the write option"
            f" '{STREAM_UNKNOWN_EPOCH.key}' = 'skip' if it does, 'commit' if it does not.",
        )

    return Validation("the writer has not made this commit yet", check)


def newest_identifier(table: Table, user: str, latest: Snapshot | None) -> int | None:
    """Return a user's max committed identifier in the retained history; None without any."""
    snapshot = latest
    while snapshot is not None:
        found = EPOCHS.of(snapshot).get(user)
        if found is not None:
            return found
        snapshot = snapshot_before(table, snapshot)
    return None


def _is_incomplete(table: Table, latest: Snapshot | None, began: Callable[[], int | None]) -> bool:
    """Whether snapshots of the writer may have expired."""
    first = table.snapshots.earliest_id() or FIRST_SNAPSHOT_ID
    if latest is None or first == FIRST_SNAPSHOT_ID:
        return False
    try:
        oldest = table.snapshots.get(first)
    except NoSuchSnapshotError:
        return True
    millis = began()
    return millis is None or millis < oldest.time_millis + _SKEW_MILLIS
