"""Checks of a table's history: what others committed since the snapshot that a statement read, and strict mode."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CommitConflictError, NotAllowedError
from paimon_sql.format.metadata.snapshot import FIRST_SNAPSHOT_ID, CommitKind, Snapshot
from paimon_sql.format.options.operations.commit import COMMIT_STRICT_MODE_LAST_SAFE_SNAPSHOT
from paimon_sql.storage.metadata.refs.tags import is_same_commit
from paimon_sql.storage.staging.proposal import Proposal, Validation, conflict_error
from paimon_sql.storage.table.index_files import index_entries
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
    if base is not None and not _reaches(latest, base):
        raise _rolled_back(table, base)
    first = FIRST_SNAPSHOT_ID if base is None else base.id + 1
    for number in range(first, latest.id + 1 if latest else first):
        snapshot = latest if latest is not None and number == latest.id else table.snapshots.find(number)
        if snapshot is None:
            raise CommitConflictError(
                f"{table.name}: snapshot {number} has expired since the statement began, so its changes are unknown.",
                remedy="Run the statement again, or retain snapshots for longer.",
            )
        if base is not None and number == first and not _follows(table, snapshot, base):
            raise _rolled_back(table, base)
        yield snapshot


def _follows(table: Table, snapshot: Snapshot, base: Snapshot) -> bool:
    """Whether a snapshot is the next one after the base, which may have expired meanwhile."""
    found = table.snapshots.find(base.id)
    if found is not None:
        return is_same_commit(found, base)
    before = (snapshot.total_record_count or 0) - (snapshot.delta_record_count or 0)
    return before == (base.total_record_count or 0)


def _rolled_back(table: Table, base: Snapshot) -> CommitConflictError:
    return conflict_error(table, f"the table was rolled back to before snapshot {base.id} while the statement ran.")


def follows(base: Snapshot) -> Validation:
    """Return the validation that the base of a write is still in the history: no rollback has dropped it.

    Sequence numbers of new rows follow those of the base. After a rollback, older rows may have greater ones, and the
    new rows would be taken for older. A base that has expired was not dropped.
    """

    def check(proposal: Proposal) -> None:
        table, latest = proposal.table, proposal.latest
        if latest is not None and latest.id > base.id:
            latest = table.snapshots.find(base.id) or base  # one that has expired was not dropped
        if not _reaches(latest, base):
            raise CommitConflictError(
                f"{proposal.table.name} was rolled back to before snapshot {base.id} while the statement ran; nothing"
                " was committed.",
                remedy="Run the statement again.",
            )

    return Validation("the history that the write was planned on goes on", check)


def _reaches(latest: Snapshot | None, base: Snapshot) -> bool:
    """Whether the newest snapshot is the base, or has a later id."""
    return latest is not None and (latest.id > base.id or is_same_commit(latest, base))


_REARRANGED = (CommitKind.COMPACT, CommitKind.OVERWRITE)
_KEY = COMMIT_STRICT_MODE_LAST_SAFE_SNAPSHOT.key


def strict_mode(table: Table, user: str | None) -> tuple[Validation, ...]:
    """Return the validation of a table in strict mode; none for other tables.

    It protects a writer that should be the only one to compact or overwrite, such as a stream with batch jobs beside it
    (``commit.strict-mode.last-safe-snapshot``; Paimon: `StrictModeChecker`).

    A commit fails if another commit user has, in one of its partitions and after the last safe snapshot, compacted or
    overwritten, or, if the commit is an overwrite, written files to buckets. The user's own newest snapshot is safe,
    too. With ``-1`` nothing else is, so that a user's first commit is not checked.

    Args:
        table: the table.
        user: the commit user; None for a new one, which has no commits yet.

    Raises:
        NotAllowedError: by the validation: another user has, or snapshots have expired, so that it is unknown.
    """
    last_safe = table.options.get(COMMIT_STRICT_MODE_LAST_SAFE_SNAPSHOT)
    if last_safe is None or (last_safe < 0 and user is None):
        return ()
    check = partial(_check, user=user, last_safe=last_safe)
    return (Validation("no other writer has changed files of the partitions since the last safe snapshot", check),)


def _check(proposal: Proposal, user: str | None, last_safe: int) -> None:
    changes = proposal.changes
    partitions = {e.partition for e in changes.entries} | {e.partition for e in changes.indexes}
    if not partitions or proposal.latest is None:
        return
    for snapshot in _of_others(proposal.table, proposal.latest, user, last_safe):
        found = _changed(proposal.table, snapshot, proposal.kind, partitions)
        if found is not None:
            path = proposal.table.locations.partition(found)
            raise NotAllowedError(
                f"{proposal.table.name}: snapshot {snapshot.id} of commit user {snapshot.commit_user}"
                f" ({snapshot.commit_kind.value}) changed files of"
                f" {f'partition {path}' if path else 'the table'}, and '{_KEY}' = '{last_safe}' does not allow a"
                " commit after it.",
                remedy="If that snapshot is acceptable, set the option to its number; otherwise roll it back.",
            )


def _of_others(table: Table, latest: Snapshot, user: str | None, last_safe: int) -> list[Snapshot]:
    """Return the snapshots of other users after the last safe one."""
    found: list[Snapshot] = []
    for number in range(latest.id, max(last_safe, 0), -1):
        snapshot = latest if number == latest.id else table.snapshots.find(number)
        if snapshot is None:
            if last_safe < 0:
                return []
            raise NotAllowedError(
                f"{table.name}: snapshot {number} has expired, so the changes since snapshot {last_safe}, which"
                f" '{_KEY}' checks, are unknown.",
                remedy="Set the option to a newer snapshot, or retain snapshots for longer.",
            )
        if snapshot.commit_user == user:
            return found
        found.append(snapshot)
    return found if last_safe >= 0 else []


def _changed(table: Table, snapshot: Snapshot, kind: CommitKind, partitions: set[bytes]) -> bytes | None:
    """Return a partition in which a snapshot conflicts with a commit of that kind; None without one."""
    rearranged = snapshot.commit_kind in _REARRANGED
    if not rearranged and not (snapshot.commit_kind is CommitKind.APPEND and kind is CommitKind.OVERWRITE):
        return None
    partition_set = pa.array(sorted(partitions), pa.binary())
    names = [m.file_name for m in table.manifests.read_list(snapshot.delta_manifest_list)]
    for delta in table.manifests.read_all(names):
        hit = pc.is_in(delta["partition"], value_set=partition_set)
        if not rearranged:
            hit = pc.and_(hit, pc.greater_equal(delta["bucket"], 0))  # rows that wait for a compaction hide nothing
        rows = delta.filter(hit)
        if len(rows):
            found: bytes = rows["partition"][0].as_py()
            return found
    # Deletion vectors change rows without a data file; the indexes that compactions of data evolution build do not.
    if not rearranged or (snapshot.commit_kind is CommitKind.COMPACT and table.layout.groups_files):
        return None
    return min(_index_changes(table, snapshot) & partitions, default=None)


def _index_changes(table: Table, snapshot: Snapshot) -> set[bytes]:
    """Return the partitions whose index files a snapshot changed; all with any if the previous snapshot is unknown."""
    before = table.snapshots.find(snapshot.id - 1)
    if before is not None and before.index_manifest == snapshot.index_manifest:
        return set()
    old, new = (
        {(e.partition, e.bucket, e.file.file_name) for e in index_entries(table, s)} for s in (before, snapshot)
    )
    return {partition for partition, _, _ in old ^ new}
