"""Changes of rows of primary-key tables: the task of a bucket, and conflict checks by key ranges.

The rows that a statement writes were computed from those that it read. If a concurrent commit has written the same keys
since, or has changed the same files, the statement would undo that change: a conflict, and it must be run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CommitConflictError
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.format.schema.system_fields import VALUE_KIND, RowKind
from paimon_sql.storage.commit.checks.history import changes_since
from paimon_sql.storage.data_files.live_files import by_bucket, grouped
from paimon_sql.storage.data_files.lsm_tree import key_ranks
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.expressions.integer_terms import Term
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.staging.commit_messages import CommitMessage, StagedFiles
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.task import WriteTask
from paimon_sql.storage.write.writers import Target


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

    It fails as well if snapshots in between have expired, so that it is unknown.

    Args:
        messages: the statement's commit messages, of a table with a primary key.
    """
    mine = grouped(((m.partition, m.bucket), f) for m in messages for f in (*m.new_files, *m.deleted_files))
    return Validation("no other job has written the same keys", partial(_check_keys, mine))


def _check_keys(mine: Mapping[Target, Sequence[DataFileMeta]], proposal: Proposal) -> None:
    table = proposal.table
    partitions = pa.array(sorted({partition for partition, _ in mine}), pa.binary())
    for snapshot, changed in changed_files(proposal, lambda delta: pc.is_in(delta["partition"], value_set=partitions)):
        for bucket, files in by_bucket(changed).items():
            if bucket in mine and _overlap(table, mine[bucket], files):
                raise CommitConflictError(
                    f"{table.name}: snapshot {snapshot.id} of commit user {snapshot.commit_user} wrote keys of the same"
                    f" range in bucket {bucket[1]} while the statement ran.",
                    remedy="Run the statement again.",
                )


def changed_files(
    proposal: Proposal, condition: Callable[[pa.Table], pa.ChunkedArray]
) -> Iterator[tuple[Snapshot, list[ManifestEntry]]]:
    """The snapshots since a proposal's base, compactions excepted, each with the files that it added and deleted.

    Args:
        proposal: the proposal.
        condition: chooses rows of manifests, as tables of ``MANIFEST_SCHEMA``.

    Raises:
        CommitConflictError: snapshots in between have expired.
    """
    manifests = proposal.table.manifests
    for snapshot in changes_since(proposal.table, proposal.base, proposal.latest):
        if snapshot.commit_kind is not CommitKind.COMPACT:
            names = [m.file_name for m in manifests.read_list(snapshot.delta_manifest_list)]
            deltas = manifests.read_all(names)
            yield snapshot, [e for delta in deltas for e in entries(delta.filter(condition(delta)))]


def _overlap(table: Table, mine: Sequence[DataFileMeta], theirs: Sequence[DataFileMeta]) -> bool:
    low, high = key_ranks(table.schema, [*mine, *theirs])
    n = len(mine)
    return bool(((low[:n, None] <= high[None, n:]) & (low[None, n:] <= high[:n, None])).any())
