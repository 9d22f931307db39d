"""Postponed buckets: rows wait in a bucket of their own until a compaction knows how many real buckets they need.

Batch writes know at once how much they bring. Unless ``postpone.batch-write-fixed-bucket`` says otherwise, their rows
go to real buckets in the same statement: they wait in files that nobody sees, are counted, and are distributed.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.layout.paths import POSTPONE_BUCKET
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry
from paimon_sql.format.options.table.bucket import POSTPONE_BATCH_WRITE_FIXED_BUCKET, POSTPONE_DEFAULT_BUCKET_NUM
from paimon_sql.format.options.table.data_file import DATA_FILE_PREFIX, FILE_FORMAT, METADATA_STATS_MODE
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import SEQUENCE_NUMBER, key_value_fields
from paimon_sql.storage.execution.task_executor import Executor, LocalExecutor
from paimon_sql.storage.file_formats.avro.schema import avro_schema
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.scan.postponed import merges_postponed
from paimon_sql.storage.staging.commit_messages import CommitMessage, append_changes
from paimon_sql.storage.staging.staged_files import StagedFiles, new_files
from paimon_sql.storage.table.partitioning.routing import Router
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.append_writer import AppendWriter
from paimon_sql.storage.write.buckets.assignment.routers import PartitionRouter
from paimon_sql.storage.write.buckets.base import BucketMode
from paimon_sql.storage.write.buckets.postponed.bucket_number import amounts, numbers_for_batch
from paimon_sql.storage.write.buckets.postponed.distribution import plan_distribution, run_distribution
from paimon_sql.storage.write.buckets.rescale import rescale
from paimon_sql.storage.write.buckets.state import WriteState
from paimon_sql.storage.write.buffer import Target
from paimon_sql.storage.write.key_value_writer import KeyValueWriter, as_stored, check_keys
from paimon_sql.storage.write.rows.row_kinds import RowKindReader
from paimon_sql.storage.write.task import WriteTask

_NO_SEQUENCE = -1
_MOST_WRITERS = 2**31 - 1


class PostponeWriter(AppendWriter):
    """Writes rows of a keyed table into the postponed bucket.

    Args:
        table: the table.
        run: what the names of all files of a statement have in common.
    """

    def __init__(self, table: Table, run: str) -> None:
        prefix = f"{table.options.get(DATA_FILE_PREFIX)}-u-{run}-s-{random.randrange(_MOST_WRITERS)}-w-"
        waiting = table.with_options({DATA_FILE_PREFIX.key: prefix, **_file_options(table.schema)})
        super().__init__(waiting, router=Router(table.schema, 1))
        self._total = POSTPONE_BUCKET
        self._kinds = RowKindReader(table, merge_engine(table.schema))

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows; the columns are those of the table, perhaps with the kind of each row behind them."""
        check_keys(self._table, batch)
        rows = self._kinds.given(batch)
        numbers = pa.array(np.full(rows.num_rows, _NO_SEQUENCE, dtype=np.int64))
        numbered = pa.Table.from_batches([rows.append_column(SEQUENCE_NUMBER.name, numbers)])
        for stored in as_stored(self._settings, numbered).to_batches():
            for partition, _, part in self._router.split(stored):
                self._buffers.add((partition, POSTPONE_BUCKET), part)


def _file_options(schema: TableSchema) -> dict[str, str]:
    try:
        avro_schema(key_value_fields(schema))
    except UnsupportedError:
        return {}
    return {FILE_FORMAT.key: "avro", METADATA_STATS_MODE.key: "none"}


class Postpone(BucketMode):
    """A table with ``bucket`` -2."""

    name = "POSTPONE_MODE"
    is_shared = True
    is_postponed = True

    @classmethod
    def suits(cls, schema: TableSchema, buckets: int) -> bool:
        return bool(schema.primary_keys) and buckets == POSTPONE_BUCKET

    def plan(self, state: WriteState) -> WriteTask:
        options = state.table.options
        run = str(uuid.uuid4())
        if not options.get(POSTPONE_BATCH_WRITE_FIXED_BUCKET) or _merged_later(state):
            return PostponeTask(state.table, run_id=run)
        default = options.get(POSTPONE_DEFAULT_BUCKET_NUM)
        if default and not state.bucket_numbers:
            return DefaultNumberTask(state.table, buckets=default)
        return StagedTask(state.table, state.sequences, run_id=run, known=state.bucket_numbers)


def _merged_later(state: WriteState) -> bool:
    """Whether rows wait that reads show: they count as newer than all in real buckets, so that new ones wait, too."""
    return merges_postponed(state.table) and bool(pc.any(pc.equal(state.files["bucket"], POSTPONE_BUCKET)).as_py())


@dataclass(frozen=True)
class PostponeTask(WriteTask):
    """Writes rows that wait for a compaction; ``run_id`` is what the names of the statement's files have in common."""

    run_id: str = ""

    def writer(self) -> AppendWriter | KeyValueWriter:
        return PostponeWriter(self.table, self.run_id)


@dataclass(frozen=True)
class DefaultNumberTask(WriteTask):
    """Writes rows into ``buckets`` real buckets of each partition, in a table that has none yet."""

    buckets: int = 1

    def router(self) -> Router:
        return PartitionRouter(self.table.schema, {}, self.buckets)


@dataclass(frozen=True)
class StagedTask(PostponeTask):
    """Writes rows into waiting files, and distributes them over real buckets when all are counted.

    ``known`` are the numbers of buckets that partitions have.
    """

    grows_with_rows = False

    known: Mapping[bytes, int] = field(default_factory=dict)

    def run(self, batches: Iterable[pa.RecordBatch]) -> list[CommitMessage]:
        return self.settled(super().run(batches), LocalExecutor(1))

    def staged(self) -> PostponeTask:
        """The part of the task that workers carry out, each for its own rows."""
        return PostponeTask(self.table, run_id=self.run_id)

    def settled(self, messages: Sequence[CommitMessage], executor: Executor) -> list[CommitMessage]:
        waiting = [
            ManifestEntry(FileKind.ADD, m.partition, m.bucket, m.total_buckets, f)
            for m in messages
            if m.bucket == POSTPONE_BUCKET
            for f in m.new_files
        ]
        with StagedFiles(self.table) as staged:
            placed = [m for m in staged.take(messages) if m.bucket != POSTPONE_BUCKET]
            totals = numbers_for_batch(self.table.options, amounts(waiting), self.known)
            sequences = {**self.sequences, **self._grown(totals, executor)}
            for task in executor.map(run_distribution, plan_distribution(self.table, waiting, totals, sequences)):
                placed.extend(staged.take(task))
            # The files of rows that wait are left over, and go.
            staged.release(path for m in placed for path in new_files(self.table, append_changes([m])))
            return placed

    def _grown(self, totals: Mapping[bytes, int], executor: Executor) -> dict[Target, int]:
        """Partitions that the batch is far too big for get their new buckets first: the sequence numbers there."""
        grown = {p: total for p, total in totals.items() if self.known.get(p, total) != total}
        messages = rescale(self.table, grown, executor) if grown else []
        found: dict[Target, int] = {}
        for m in messages:
            for f in m.new_files:
                target = m.partition, m.bucket
                found[target] = max(found.get(target, -1), f.max_sequence_number)
        return found
