"""Numbered commits of streams, each made once: the table's history decides which of them it holds.

A snapshot names its writer and the writer's number. As snapshots expire, each snapshot also carries on the numbers of
the writers before it, among its properties, so that the newest one tells them all. Snapshots of other engines carry
nothing on; behind those the history is looked through.
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
"""How far the clocks of a table's writers may differ."""


class EpochCommittedError(CommitConflictError):
    """The writer has made the commit of that number, or a later one, already."""


class EpochSkippedError(EpochCommittedError):
    """Nothing tells whether the writer has made the commit of that number, and its option says to leave it out."""


def committed_once(
    table: Table, user: str, identifier: int, *, began: Callable[[], int | None], otherwise: str = "error"
) -> Validation:
    """The writer has not made the commit of that number yet.

    The retained history tells, and what its snapshots carry on. Where snapshots have expired that carried nothing on,
    it still tells all about a writer that began after the earliest retained snapshot was made.

    Args:
        table: the table.
        user: the writer, whose numbers only grow.
        identifier: the number.
        began: when the writer's first run began, in milliseconds since the epoch; None if that is not known.
        otherwise: what to do where nothing tells: ``error``, ``skip`` the commit, or ``commit`` it.

    Raises:
        EpochCommittedError: from the validation: it has.
        EpochSkippedError: from the validation: it may have, and is to leave it out then.
        CommitUnknownError: from the validation: it may have, and its snapshots have expired.
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
    """The greatest number that a writer has committed under, as far as the retained history says; None without any."""
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
