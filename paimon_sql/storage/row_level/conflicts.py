"""Conflict checks of row-level changes of primary-key tables, by key ranges.

The rows that a statement writes were computed from those that it read. If a concurrent commit has written the same keys
since, or has changed the same files, the statement would undo that change: a conflict, and it must be run again.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CommitConflictError
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import entries
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.storage.commit.checks.history import changes_since
from paimon_sql.storage.data_files.sections import key_ranks
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.table.table import Table


def keys_unchanged(messages: Sequence[CommitMessage]) -> Validation:
    """The validation that no concurrent commit wrote keys of the same ranges since the base snapshot.

    Args:
        messages: the statement's commit messages, of a table with a primary key.
    """

    def check(proposal: Proposal) -> None:
        check_keys(proposal.table, proposal.base, proposal.latest, messages)

    return Validation("no other job has written the same keys", check)


def check_keys(table: Table, base: Snapshot | None, latest: Snapshot | None, messages: Sequence[CommitMessage]) -> None:
    """Check that no concurrent commit wrote keys of the same ranges.

    Args:
        table: a table with a primary key.
        base: the snapshot that the statement read; None if there was none.
        latest: the snapshot to commit on.
        messages: the commit messages of the statement.

    Raises:
        CommitConflictError: one did, or snapshots in between have expired, so that it is unknown.
    """
    mine: dict[tuple[bytes, int], list[DataFileMeta]] = {}
    for m in messages:
        mine.setdefault((m.partition, m.bucket), []).extend([*m.new_files, *m.deleted_files])
    partitions = pa.array(sorted({partition for partition, _ in mine}), pa.binary())
    for snapshot in changes_since(table, base, latest):
        if snapshot.commit_kind is CommitKind.COMPACT:
            continue
        names = [m.file_name for m in table.manifests.read_list(snapshot.delta_manifest_list)]
        theirs: dict[tuple[bytes, int], list[DataFileMeta]] = {}
        for delta in table.manifests.read_all(names):
            for e in entries(delta.filter(pc.is_in(delta["partition"], value_set=partitions))):
                theirs.setdefault((e.partition, e.bucket), []).append(e.file)
        for bucket, files in theirs.items():
            if bucket in mine and _overlap(table, mine[bucket], files):
                raise _conflict(table, snapshot, f"wrote keys of the same range in bucket {bucket[1]}")


def _overlap(table: Table, mine: Sequence[DataFileMeta], theirs: Sequence[DataFileMeta]) -> bool:
    low, high = key_ranks(table.schema, [*mine, *theirs])
    n = len(mine)
    return bool(((low[:n, None] <= high[None, n:]) & (low[None, n:] <= high[:n, None])).any())


def _conflict(table: Table, snapshot: Snapshot, what: str) -> CommitConflictError:
    return CommitConflictError(
        f"{table.name}: snapshot {snapshot.id} of commit user {snapshot.commit_user} {what} while the statement ran.",
        remedy="Run the statement again.",
    )
