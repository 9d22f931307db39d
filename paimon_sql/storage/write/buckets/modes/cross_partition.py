"""Cross-partition upserts: the primary key lacks a partition column, and a key is in one partition only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CommitConflictError, UnsupportedError
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.format.options.table.bucket import CROSS_PARTITION_UPSERT_BOOTSTRAP_PARALLELISM
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.commit.checks.history import changes_since
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.table.partitions import Router
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.assignment.relocation import (
    KEY,
    KEY_LOCATION_SCHEMA,
    KeyLocationTask,
    Relocator,
    key_bytes,
    plan_key_locations,
)
from paimon_sql.storage.write.buckets.assignment.routers import AssignedRouter
from paimon_sql.storage.write.buckets.base import BucketMode, WriteState
from paimon_sql.storage.write.distribution import Rows, by_assigned_bucket
from paimon_sql.storage.write.task import WriteTask
from paimon_sql.storage.write.writers import KeyValueWriter, Target


class CrossPartition(BucketMode):
    """A table with ``bucket`` -1 whose primary key lacks a partition column."""

    name = "KEY_DYNAMIC"
    number = -1
    spans_partitions = True

    @classmethod
    def suits(cls, schema: TableSchema) -> bool:
        return schema.has_key and not set(schema.partition_keys) <= set(schema.primary_keys)

    def plan(self, state: WriteState) -> WriteTask:
        if state.overwrite is not None and state.overwrite.dynamic:
            raise UnsupportedError(
                f"{state.table.name}: keys may move between partitions, so a dynamic overwrite cannot determine"
                " which partitions it replaces.",
                remedy="Specify the partition: INSERT OVERWRITE .. PARTITION (..).",
            )
        replaces_all = state.overwrite is not None and state.overwrite.partitions is None
        keys = tuple(plan_key_locations(state))
        return CrossPartitionTask(state.table, state.sequences, keys, state.row_counts, replaces_all=replaces_all)


@dataclass(frozen=True)
class CrossPartitionTask(WriteTask):
    """Writes rows whose keys may be in other partitions.

    Attributes:
        key_location_tasks: the tasks that read the locations of existing keys.
        counts: the number of rows by bucket.
        located: whether rows are relocated already, with their bucket in ``_BUCKET``.
        replaces_all: whether the write replaces the whole table, and so all keys of concurrent commits.
    """

    grows_with_rows = False
    runs_jobs = True

    key_location_tasks: tuple[KeyLocationTask, ...] = ()
    counts: Mapping[Target, int] = field(default_factory=dict)
    located: bool = False
    replaces_all: bool = False

    def with_buckets(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if self.located:
            yield from rows
            return
        batches = [b.append_column(KEY, key_bytes(self.table.schema, b)) for b in rows if b.num_rows]
        if not batches:
            return
        given = pa.Table.from_batches(batches).combine_chunks()
        found = self._locations_of(pc.unique(given[KEY].combine_chunks()))
        at = pc.index_in(given[KEY].combine_chunks(), value_set=found[KEY].combine_chunks())
        for name in KEY_LOCATION_SCHEMA.names[1:]:
            given = given.append_column(name, pc.take(found[name], at))
        order = pc.sort_indices(given[KEY])
        yield from self._relocated(0, 1, given.take(order).combine_chunks().to_batches())

    def distributed(self, rows: Rows) -> tuple[WriteTask, Rows]:
        """Bring rows to the assigners of their keys, and from there to the tasks of their buckets."""
        relocated = rows.relocated([task.batches for task in self.key_location_tasks], self._relocated)
        return replace(self, key_location_tasks=(), located=True), by_assigned_bucket(relocated, self.table.schema)

    def _relocated(self, number: int, assigners: int, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return Relocator(self.table, self.counts, number, assigners).relocate(rows)

    def writer(self) -> KeyValueWriter:
        return _RelocatedWriter(self.table, self.sequences, self.router())

    def router(self) -> Router:
        return AssignedRouter(self.table.schema)

    def validations(self, messages: Iterable[CommitMessage]) -> tuple[Validation, ...]:
        if self.replaces_all:
            return ()
        check = partial(_check_base, self.table, self.planned_on)
        return (Validation("no rows were written since the places of keys were looked up", check),)

    def _locations_of(self, keys: pa.Array) -> pa.Table:
        threads = self.table.options.get(CROSS_PARTITION_UPSERT_BOOTSTRAP_PARALLELISM)
        tasks = [replace(task, wanted=keys) for task in self.key_location_tasks]
        return pa.concat_tables([KEY_LOCATION_SCHEMA.empty_table(), *LocalExecutor(threads).run(tasks)])


class _RelocatedWriter(KeyValueWriter):
    """Writes rows whose kinds were checked already."""

    def write(self, batch: pa.RecordBatch) -> None:
        self.write_stored(self._engine.prepare(batch))


def _check_base(table: Table, base: Snapshot | None, proposal: Proposal) -> None:
    """Check that no rows were committed since a write looked up its keys.

    Raises:
        CommitConflictError: some were, so a key could be in two partitions.
    """
    for snapshot in changes_since(table, base, proposal.latest):
        if snapshot.commit_kind not in (CommitKind.COMPACT, CommitKind.ANALYZE):
            raise CommitConflictError(
                f"{table.name}: another job concurrently wrote rows (snapshot {snapshot.id} of commit user"
                f" {snapshot.commit_user}), so a key could be in two partitions.",
                remedy="Run the statement again; let one job at a time write to a table whose keys move.",
            )
