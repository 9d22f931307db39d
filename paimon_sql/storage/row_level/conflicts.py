"""Whether a statement that read one snapshot may still change rows on top of a later one.

What it writes was worked out from the rows that it read. Should a rival have written rows of the same keys since, or
have changed the same files, the statement would undo the rival's change: it is a conflict, and the statement must be
run again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CommitConflictError, NotFoundError
from paimon_sql.format.data_file import DataFileMeta
from paimon_sql.format.manifest import entries
from paimon_sql.format.snapshot import FIRST_SNAPSHOT_ID, CommitKind, Snapshot
from paimon_sql.storage.commit.messages import CommitMessage
from paimon_sql.storage.scan.sections import key_ranks
from paimon_sql.storage.table import Table


def check_keys(table: Table, base: Snapshot | None, latest: Snapshot | None, messages: Sequence[CommitMessage]) -> None:
    """Nothing if no rival has written keys of the same ranges since a snapshot.

    Args:
        table: a table with a primary key.
        base: the snapshot that the statement read; None if there was none.
        latest: the snapshot that it is to be committed on.
        messages: what it wrote.

    Raises:
        CommitConflictError: a rival has, or nobody can tell any more.
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


def changes_since(table: Table, base: Snapshot | None, latest: Snapshot | None) -> Iterable[Snapshot]:
    """The snapshots that came after the one that a statement read.

    Raises:
        CommitConflictError: nobody can tell them any more.
    """
    if base is not None and (latest is None or latest.id < base.id):
        raise CommitConflictError(
            f"{table.name}: the table was rolled back to before snapshot {base.id} while the statement ran.",
            remedy="Run the statement again.",
        )
    first = FIRST_SNAPSHOT_ID if base is None else base.id + 1
    for number in range(first, latest.id + 1 if latest else first):
        try:
            yield table.snapshots.get(number)
        except NotFoundError:
            raise CommitConflictError(
                f"{table.name}: snapshot {number} has expired since the statement began, so nobody can tell what it"
                " changed.",
                remedy="Run the statement again, or retain snapshots for longer.",
            ) from None


def _overlap(table: Table, mine: Sequence[DataFileMeta], theirs: Sequence[DataFileMeta]) -> bool:
    low, high = key_ranks(table.schema, [*mine, *theirs])
    n = len(mine)
    return bool(((low[:n, None] <= high[None, n:]) & (low[None, n:] <= high[:n, None])).any())


def _conflict(table: Table, snapshot: Snapshot, what: str) -> CommitConflictError:
    return CommitConflictError(
        f"{table.name}: snapshot {snapshot.id} of commit user {snapshot.commit_user} {what} while the statement ran.",
        remedy="Run the statement again.",
    )
