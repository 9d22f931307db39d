"""Changes of rows of primary-key tables: the task of a bucket, and conflict checks by key ranges.

The rows that a statement writes were computed from those that it read. If a concurrent commit has written the same keys
since, or has changed the same files, the statement would undo that change: a conflict, and it must be run again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CommitConflictError
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import entries
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.format.schema.system_fields import VALUE_KIND, RowKind
from paimon_sql.storage.commit.checks.history import changes_since
from paimon_sql.storage.data_files.lsm_tree import key_ranks
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.expressions.integer_terms import Term
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.staging.commit_messages import CommitMessage, StagedFiles
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.task import WriteTask


@dataclass(frozen=True)
class Change:
    """A change of rows: their new row kind, and new values by column."""

    kind: RowKind
    values: Mapping[str, Term] = field(default_factory=dict)

    def of(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the changed rows, with their kind as last column.

        Raises:
            pa.ArrowInvalid: a number does not fit its type.
        """
        columns = dict(zip(rows.schema.names, rows.columns, strict=True))
        changed = []
        for column in rows.schema:
            value = self.values.get(column.name)
            made = columns[column.name] if value is None else value.evaluate(columns)
            changed.append(pa.repeat(made, rows.num_rows) if isinstance(made, pa.Scalar) else made)
        schema = rows.schema.append(pa.field(VALUE_KIND.name, pa.int8(), False))
        kinds = pa.array(np.full(rows.num_rows, int(self.kind), np.int8))
        return pa.RecordBatch.from_arrays([*changed, kinds], schema=schema)


@dataclass(frozen=True)
class Changed:
    """The result of a change: commit messages of the written files, and the number of rows."""

    messages: list[CommitMessage]
    rows: int


@dataclass(frozen=True)
class ChangeTask:
    """Changes all rows of some reads of one bucket; these return the table's columns."""

    reads: tuple[ReadTask, ...]
    change: Change
    write: WriteTask

    @property
    def size(self) -> int:
        """The bytes to read."""
        return sum(read.split.size for read in self.reads)

    def run(self) -> Changed | None:
        """Write the changed rows to files, which take effect with the commit; on an error they are deleted.

        Returns:
            The result; None if a number does not fit its type, and then no file is left.
        """
        rows = 0

        def changed() -> Iterator[pa.RecordBatch]:
            nonlocal rows
            for batch in (b for read in self.reads for b in read.batches()):
                rows += batch.num_rows
                try:
                    yield self.change.of(batch)
                except pa.ArrowInvalid as error:
                    raise _DoesNotFitError from error

        try:
            messages = self.write.run(changed())
        except _DoesNotFitError:
            return None
        return Changed(messages, rows)


def change_read(
    write: WriteTask, buckets: Sequence[Sequence[ReadTask]], change: Change, executor: Executor
) -> Changed | None:
    """Change all rows that are read, and write them.

    Args:
        write: the task that writes the rows.
        buckets: the reads of each bucket, with the table's columns in their order.
        change: the change of the rows.
        executor: runs one task per bucket.

    Returns:
        The result; None if a number does not fit its type, and then no file is left.

    Raises:
        PaimonError: a task failed; the files of all tasks are deleted.
    """
    tasks = [ChangeTask(tuple(reads), change, write) for reads in buckets]
    with StagedFiles(write.table) as staged:
        answers = staged.collect(executor.run(tasks), lambda done: done.messages if done else ())
        done = [answer for answer in answers if answer is not None]
        if len(done) < len(answers):
            return None
        staged.release_all()
        return Changed([m for one in done for m in one.messages], sum(one.rows for one in done))


class _DoesNotFitError(Exception):
    """A number does not fit its type."""


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
