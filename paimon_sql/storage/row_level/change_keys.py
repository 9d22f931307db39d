"""Changes of keyed rows that readers choose: whoever reads a bucket writes what becomes of its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from paimon_sql.format.schema.row_kind import RowKind
from paimon_sql.format.schema.system_fields import VALUE_KIND
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.expressions.integer_terms import Term
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.staged_files import StagedFiles
from paimon_sql.storage.write.task import WriteTask


@dataclass(frozen=True)
class Change:
    """What becomes of rows: their kind, and by column the values that they get."""

    kind: RowKind
    values: Mapping[str, Term] = field(default_factory=dict)

    def of(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The changed rows, with their kind behind their columns.

        Raises:
            pa.ArrowInvalid: a number is too great or too small for its type.
        """
        columns = dict(zip(rows.schema.names, rows.columns, strict=True))
        found = []
        for one in rows.schema:
            value = self.values.get(one.name)
            made = columns[one.name] if value is None else value.evaluate(columns)
            found.append(pa.repeat(made, rows.num_rows) if isinstance(made, pa.Scalar) else made)
        schema = rows.schema.append(pa.field(VALUE_KIND.name, pa.int8(), False))
        kinds = pa.array(np.full(rows.num_rows, int(self.kind), np.int8))
        return pa.RecordBatch.from_arrays([*found, kinds], schema=schema)


@dataclass(frozen=True)
class Changed:
    """What became of the rows of a bucket: the files that were written, and how many rows they were."""

    messages: list[CommitMessage]
    rows: int


@dataclass(frozen=True)
class ChangeTask:
    """Changes all rows that some reads of one bucket give; they give the table's columns."""

    reads: tuple[ReadTask, ...]
    change: Change
    write: WriteTask

    @property
    def size(self) -> int:
        """The bytes to be read."""
        return sum(read.split.size for read in self.reads)

    def run(self) -> Changed | None:
        """Do it; the files are seen by nobody until the messages are committed, and on an error none is left.

        Returns:
            What was done; None, and nothing was done, if a number does not fit its type.
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


def run_change(task: ChangeTask) -> Changed | None:
    """Run one task; a function of the module, so that it can be sent to a worker."""
    return task.run()


def change_read(
    write: WriteTask, buckets: Sequence[Sequence[ReadTask]], change: Change, executor: Executor
) -> Changed | None:
    """Write what becomes of all rows that are read.

    Args:
        write: writes into the buckets.
        buckets: the reads of each bucket, with the table's columns in their order.
        change: what becomes of the rows.
        executor: runs a task a bucket.

    Returns:
        What was done; None, and nothing was done, if a number does not fit its type.

    Raises:
        PaimonError: a task failed; the files of all are deleted.
    """
    tasks = [ChangeTask(tuple(reads), change, write) for reads in buckets]
    with StagedFiles(write.table) as staged:
        answers = staged.collect(executor.map(run_change, tasks), lambda done: done.messages if done else ())
        done = [answer for answer in answers if answer is not None]
        if len(done) < len(answers):
            return None
        staged.release_all()
        return Changed([m for one in done for m in one.messages], sum(one.rows for one in done))


class _DoesNotFitError(Exception):
    """A number is too great or too small for its type."""
