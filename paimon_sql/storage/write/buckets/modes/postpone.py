"""Postponed buckets: rows stay in a separate bucket until a compaction decides the number of real buckets."""

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
from paimon_sql.format.options.table.bucket import POSTPONE_BATCH_WRITE_FIXED_BUCKET, POSTPONE_DEFAULT_BUCKET_NUM
from paimon_sql.format.options.table.data_file import DATA_FILE_PREFIX, FILE_FORMAT, METADATA_STATS_MODE
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import SEQUENCE_NUMBER, key_value_fields
from paimon_sql.storage.execution.task_executor import Executor, LocalExecutor
from paimon_sql.storage.file_formats.avro.schema import avro_schema
from paimon_sql.storage.scan.postponed import merges_postponed
from paimon_sql.storage.staging.commit_messages import CommitMessage, StagedFiles, append_changes, new_files
from paimon_sql.storage.table.partitions import Router
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.assignment.postponed import amounts, numbers_for_batch, plan_distribution
from paimon_sql.storage.write.buckets.assignment.routers import PartitionRouter
from paimon_sql.storage.write.buckets.base import BucketMode, WriteState
from paimon_sql.storage.write.buckets.rescale import rescale
from paimon_sql.storage.write.distribution import Rows
from paimon_sql.storage.write.row_preparation import RowKindReader
from paimon_sql.storage.write.task import WriteTask
from paimon_sql.storage.write.writers import AppendWriter, KeyValueWriter, Target, as_stored

_NO_SEQUENCE = -1
_MAX_WRITER_ID = 2**31 - 1


class PostponeWriter(AppendWriter):
    """Writes rows of a primary-key table to the postponed bucket (Paimon: `PostponeBucketFileStoreWrite`).

    Args:
        table: the table.
        run: the common part in the names of all files of a statement.
    """

    def __init__(self, table: Table, run: str) -> None:
        prefix = f"{table.options.get(DATA_FILE_PREFIX)}-u-{run}-s-{random.randrange(_MAX_WRITER_ID)}-w-"
        postponed = table.with_options({DATA_FILE_PREFIX.key: prefix, **_file_options(table.schema)})
        super().__init__(postponed, router=Router(table.schema, 1))
        self._total = POSTPONE_BUCKET
        self._kinds = RowKindReader(table)

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows; the columns are those of the table, optionally with ``_VALUE_KIND`` after them."""
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
    number = POSTPONE_BUCKET
    is_shared = True
    is_postponed = True

    @classmethod
    def suits(cls, schema: TableSchema) -> bool:
        return schema.has_key

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
    """Whether reads merge existing postponed rows: they count as newer than real buckets, so new rows are postponed."""
    return merges_postponed(state.table) and bool(pc.any(pc.equal(state.files["bucket"], POSTPONE_BUCKET)).as_py())


@dataclass(frozen=True)
class PostponeTask(WriteTask):
    """Writes postponed rows; ``run_id`` is the common part in the names of the statement's files."""

    run_id: str = ""

    def writer(self) -> AppendWriter | KeyValueWriter:
        return PostponeWriter(self.table, self.run_id)


@dataclass(frozen=True)
class DefaultNumberTask(WriteTask):
    """Writes rows to ``buckets`` real buckets of each partition, in a table that has none yet."""

    buckets: int = 1

    def router(self) -> Router:
        return PartitionRouter(self.table.schema, {}, self.buckets)


@dataclass(frozen=True)
class StagedTask(PostponeTask):
    """Writes rows to postponed files, and distributes them over real buckets once all are counted.

    This is how batch writes work, which know their number of rows, unless ``postpone.batch-write-fixed-bucket`` is off.
    ``known`` are the current numbers of buckets by partition.
    """

    grows_with_rows = False

    known: Mapping[bytes, int] = field(default_factory=dict)

    def run(self, batches: Iterable[pa.RecordBatch]) -> list[CommitMessage]:
        return self.finalize(super().run(batches), LocalExecutor(1))

    def distributed(self, rows: Rows) -> tuple[WriteTask, Rows]:
        """Leave the rows where they are: the tasks write postponed files, which `finalize` distributes."""
        return PostponeTask(self.table, run_id=self.run_id), rows

    def finalize(self, messages: Sequence[CommitMessage], executor: Executor) -> list[CommitMessage]:
        postponed = append_changes(m for m in messages if m.bucket == POSTPONE_BUCKET).entries
        with StagedFiles(self.table) as staged:
            settled = [m for m in staged.own(messages) if m.bucket != POSTPONE_BUCKET]
            totals = numbers_for_batch(self.table.options, amounts(postponed), self.known)
            sequences = {**self.sequences, **self._grown(totals, executor)}
            distribution = plan_distribution(self.table, postponed, totals, sequences)
            settled += staged.own(m for written in executor.run(distribution) for m in written)
            # The postponed files stay staged, so they are deleted.
            staged.release(path for m in settled for path in new_files(self.table, append_changes([m])))
            return settled

    def _grown(self, totals: Mapping[bytes, int], executor: Executor) -> dict[Target, int]:
        """Rescale the partitions that get more buckets; return the max sequence numbers there."""
        grown = {p: total for p, total in totals.items() if self.known.get(p, total) != total}
        messages = rescale(self.table, grown, executor) if grown else []
        found: dict[Target, int] = {}
        for m in messages:
            for f in m.new_files:
                target = m.partition, m.bucket
                found[target] = max(found.get(target, -1), f.max_sequence_number)
        return found
