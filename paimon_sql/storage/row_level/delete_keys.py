"""Deletes of keyed rows that readers choose: whoever reads a bucket writes the deletes of its keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_sql.format.row_kind import RowKind
from paimon_sql.format.special_fields import VALUE_KIND
from paimon_sql.storage.commit.committer import Committer
from paimon_sql.storage.commit.messages import CommitMessage
from paimon_sql.storage.executor import Executor
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.write.write_task import WriteTask


@dataclass(frozen=True)
class Deleted:
    """What became of the rows of a bucket: the files with their deletes, and how many rows they were."""

    messages: list[CommitMessage]
    rows: int


@dataclass(frozen=True)
class DeleteTask:
    """Deletes all rows that some reads of one bucket give; they give the table's columns."""

    reads: tuple[ReadTask, ...]
    write: WriteTask

    @property
    def size(self) -> int:
        """The bytes to be read."""
        return sum(read.split.size for read in self.reads)

    def run(self) -> Deleted:
        """Do it; the files are seen by nobody until the messages are committed, and on an error none is left."""
        rows = 0

        def deletes() -> Iterator[pa.RecordBatch]:
            nonlocal rows
            for batch in (b for read in self.reads for b in read.batches()):
                rows += batch.num_rows
                kinds = pa.array(np.full(batch.num_rows, int(RowKind.DELETE), np.int8))
                yield batch.append_column(VALUE_KIND.name, kinds)

        messages = self.write.run(deletes())
        return Deleted(messages, rows)


def run_delete(task: DeleteTask) -> Deleted:
    """Run one task; a function of the module, so that it can be sent to a worker."""
    return task.run()


def delete_read(write: WriteTask, buckets: Sequence[Sequence[ReadTask]], executor: Executor) -> Deleted:
    """Write deletes of all rows that are read.

    Args:
        write: writes into the buckets.
        buckets: the reads of each bucket, with the table's columns in their order.
        executor: runs a task a bucket.

    Raises:
        PaimonError: a task failed; the files of all are deleted.
    """
    tasks = [DeleteTask(tuple(reads), write) for reads in buckets]
    messages: list[CommitMessage] = []
    rows = 0
    try:
        for done in executor.map(run_delete, tasks):
            messages += done.messages
            rows += done.rows
    except BaseException:
        Committer(write.table, fresh=True).discard(messages)
        raise
    return Deleted(messages, rows)
