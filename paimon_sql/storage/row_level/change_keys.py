"""Changes of rows of primary-key tables: the task that reads a bucket also writes its changed rows."""

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


def run_change(task: ChangeTask) -> Changed | None:
    """Run a task; a module-level function, so that it can be pickled."""
    return task.run()


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
        answers = staged.collect(executor.map(run_change, tasks), lambda done: done.messages if done else ())
        done = [answer for answer in answers if answer is not None]
        if len(done) < len(answers):
            return None
        staged.release_all()
        return Changed([m for one in done for m in one.messages], sum(one.rows for one in done))


class _DoesNotFitError(Exception):
    """A number does not fit its type."""
