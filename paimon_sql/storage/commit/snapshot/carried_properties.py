"""Carried properties, which each snapshot inherits, and the epochs of streams that they prove as committed.

As snapshots expire, what they record of the past is only known as long as the newest snapshot has it: so every snapshot
carries, beside its own commit user and identifier, the identifiers of earlier users. Snapshots of other engines carry
nothing; before those the history is searched.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from paimon_sql.errors import CommitConflictError, CommitUnknownError
from paimon_sql.format.bytes.bounded import load_json
from paimon_sql.format.metadata.snapshot import BATCH_COMMIT_IDENTIFIER, FIRST_SNAPSHOT_ID, Snapshot
from paimon_sql.format.options.engines.spark import STREAM_UNKNOWN_EPOCH
from paimon_sql.storage.metadata.snapshots import WRITER_VERSION
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.table.table import Table

_MAX_FOREIGN = 10
"""Max number of consecutive snapshots of other engines to skip in search of carried properties."""


_MAX_USERS = 100
_MAX_LOADS = 20


EPOCHS, LOADS = "paimon-sql.epochs", "paimon-sql.loads"


def _joined_identifiers(snapshots: Iterable[Snapshot]) -> str | None:
    """Return the max identifier of each user with numbered commits, the latest users last; limited in number."""
    numbers: dict[str, int] = {}
    for snapshot in snapshots:
        numbers = {**_identifiers_in(snapshot), **numbers}
    newest = dict(list(numbers.items())[-_MAX_USERS:])
    return json.dumps(newest, separators=(",", ":")) if newest else None


def _identifiers_in(snapshot: Snapshot) -> dict[str, int]:
    """Return the identifiers recorded in a snapshot, including its own."""
    try:
        found = load_json((snapshot.properties or {}).get(EPOCHS, "{}"))
        numbers = {str(user): int(number) for user, number in found.items()}
    except (ValueError, TypeError, AttributeError):
        numbers = {}
    if snapshot.commit_identifier != BATCH_COMMIT_IDENTIFIER:
        carried = numbers.pop(snapshot.commit_user, snapshot.commit_identifier)
        numbers[snapshot.commit_user] = max(carried, snapshot.commit_identifier)
    return numbers


def _joined_loads(snapshots: Iterable[Snapshot]) -> str | None:
    """Return the ids of the file lists of the latest loads; limited in number."""
    loads = dict.fromkeys(load for s in snapshots for load in loads_in(s.properties))
    return ",".join(list(loads)[:_MAX_LOADS]) or None


def loads_in(properties: Mapping[str, str] | None) -> list[str]:
    """Return the ids of loads in a snapshot's properties, newest first."""
    return [name for name in (properties or {}).get(LOADS, "").split(",") if name]


_ALL: dict[str, Callable[[Iterable[Snapshot]], str | None]] = {EPOCHS: _joined_identifiers, LOADS: _joined_loads}
"""By the name of each property, what returns its value after some snapshots, given newest first; None without one."""


def carried_properties(table: Table, latest: Snapshot | None, own: Mapping[str, str]) -> dict[str, str]:
    """Return the carried properties of the next snapshot.

    Args:
        table: the table.
        latest: the snapshot to build on.
        own: properties of the commit, which are combined with carried ones.
    """
    chain = _chain(table, latest)
    found = {key: joined(chain) for key, joined in _ALL.items()}
    if own_loads := loads_in(own):
        before = filter(None, (found[LOADS] or "").split(","))
        found[LOADS] = ",".join([*own_loads, *before][:_MAX_LOADS])
    return {key: value for key, value in found.items() if value}


def _chain(table: Table, latest: Snapshot | None) -> list[Snapshot]:
    """Return the newest snapshots, down to one with carried properties."""
    chain: list[Snapshot] = []
    snapshot = latest
    while snapshot is not None and len(chain) < _MAX_FOREIGN:
        chain.append(snapshot)
        if snapshot.writer_version == WRITER_VERSION:
            break
        snapshot = snapshot_before(table, snapshot)
    return chain


def snapshot_before(table: Table, snapshot: Snapshot) -> Snapshot | None:
    """Return the previous snapshot; None if it does not exist."""
    return None if snapshot.id == FIRST_SNAPSHOT_ID else table.snapshots.find(snapshot.id - 1)


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
                raise EpochCommittedError(f"{table.name}: commit {identifier} of {user} already exists.")
            return
        if otherwise == "commit" or not _is_incomplete(table, proposal.latest, began):
            return
        if otherwise == "skip":
            raise EpochSkippedError(f"{table.name}: commit {identifier} of {user} is assumed to exist.")
        raise CommitUnknownError(
            f"{table.name}: whether micro-batch {identifier} of stream {user} was committed by an earlier run is not"
            " known: the snapshots of that time have expired.",
            commit_user=user,
            commit_identifier=identifier,
            remedy="Check whether the table contains its rows; then start the stream with the write option"
            f" '{STREAM_UNKNOWN_EPOCH.key}' = 'skip' if it does, 'commit' if it does not.",
        )

    return Validation("the writer has not made this commit yet", check)


def newest_identifier(table: Table, user: str, latest: Snapshot | None) -> int | None:
    """Return a user's max committed identifier in the retained history; None without any."""
    snapshot = latest
    while snapshot is not None:
        found = _identifiers_in(snapshot).get(user)
        if found is not None:
            return found
        snapshot = snapshot_before(table, snapshot)
    return None


def _is_incomplete(table: Table, latest: Snapshot | None, began: Callable[[], int | None]) -> bool:
    """Whether snapshots of the writer may have expired."""
    first = table.snapshots.earliest_id() or FIRST_SNAPSHOT_ID
    if latest is None or first == FIRST_SNAPSHOT_ID:
        return False
    oldest = table.snapshots.find(first)
    if oldest is None:
        return True
    millis = began()
    return millis is None or millis < oldest.time_millis + _SKEW_MILLIS
