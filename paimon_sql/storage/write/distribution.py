"""Distribution of rows by bucket, each to one task of a job, and the merging by key before (spec: Data Skew)."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.format.options.operations.write import LOCAL_MERGE_BUFFER_SIZE
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import BUCKET
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.merge.sequence import sequence_fields
from paimon_sql.storage.merge.windows import RowOrder, Window
from paimon_sql.storage.table.changelog_producer import changelog_producer
from paimon_sql.storage.table.partitions import Router
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.row_preparation import RowKindReader

Numbers: TypeAlias = npt.NDArray[np.integer]
Rows = TypeVar("Rows", bound="DistributedRows")
Places: TypeAlias = Callable[[], Iterator[pa.RecordBatch]]
"""Reads the locations of existing keys."""
Relocate: TypeAlias = Callable[[int, int, Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""Relocates the rows of one of several assigner partitions: by its index, their number, and the rows."""


class DistributedRows(Protocol):
    """The rows of a statement, in the tasks of a job; each method returns others and changes none."""

    @property
    def tasks(self) -> int:
        """The number of tasks after an exchange."""

    @property
    def parallelism(self) -> int:
        """The number of tasks that run at the same time."""

    def in_one_task(self: Rows) -> Rows:
        """Bring all rows to one task."""

    def merged_locally(self: Rows) -> Rows:
        """Merge rows by key in each task, if the table's options require it (Paimon: `local-merge-buffer-size`)."""

    def exchanged(self: Rows, tasks: int, columns: Sequence[str], owners: Callable[[pa.RecordBatch], Numbers]) -> Rows:
        """Exchange the rows between tasks.

        Args:
            tasks: the number of tasks afterwards.
            columns: the columns on which a row's task depends.
            owners: the task of each row of a batch of these columns.
        """

    def assigned(self: Rows, columns: Sequence[str], assign: Callable[[pa.RecordBatch], Numbers]) -> Rows:
        """Put the bucket of each row into ``_BUCKET``; ``assign`` may have state, and sees each row once."""

    def relocated(self: Rows, places: Sequence[Places], relocate: Relocate) -> Rows:
        """Join the rows with the locations of their keys, and relocate them, sorted by key, per assigner partition."""


def by_owner(
    rows: Rows, schema: TableSchema, tasks: int, columns: Sequence[str], number_of: Callable[[pa.RecordBatch], Numbers]
) -> Rows:
    """Exchange rows by partition and a number: consecutive numbers of a partition have consecutive tasks.

    Args:
        rows: the rows.
        schema: the table's schema.
        tasks: the number of tasks afterwards.
        columns: the columns on which the number depends.
        number_of: the number of each row of a batch of these and of the partition columns.
    """
    router = Router(schema, 1)

    def owners(batch: pa.RecordBatch) -> Numbers:
        partitions, codes = router.partitions_of(batch)
        seeds = np.array([zlib.crc32(p) for p in partitions], dtype=np.int64)
        return ((seeds[codes] + number_of(batch)) % tasks).astype(np.int32)

    return rows.exchanged(tasks, tuple(dict.fromkeys([*schema.partition_keys, *columns])), owners)


def by_bucket(rows: Rows, router: Router) -> Rows:
    """Distribute rows whose bucket follows from the bucket key: each partition has the router's number of buckets."""
    schema, tasks = router.schema, rows.tasks
    if not schema.partition_keys:
        tasks = min(tasks, router.buckets)
    if tasks == 1:
        return rows.in_one_task()
    return by_owner(rows.merged_locally(), schema, tasks, schema.bucket_keys, router.buckets_of)


def by_assigned_bucket(rows: Rows, schema: TableSchema) -> Rows:
    """Distribute rows that have their bucket in ``_BUCKET``."""
    return by_owner(rows, schema, rows.tasks, (BUCKET.name,), lambda batch: batch.column(BUCKET.name).to_numpy())


def merges_locally(table: Table) -> bool:
    """Whether the table's options enable it, and it would lose nothing.

    It would with changelog producers that record each written row, and with merge engines that need all rows of a key
    at once.
    """
    return (
        table.options.get(LOCAL_MERGE_BUFFER_SIZE) is not None
        and table.schema.has_key
        and not changelog_producer(table.options).from_input
        and not merge_engine(table.schema).merges_all_at_once
    )


def merged_locally(table: Table, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Merge rows by key, in buffers of ``local-merge-buffer-size`` bytes.

    Args:
        table: a primary-key table.
        rows: its columns and types, optionally with ``_VALUE_KIND`` after them.

    Returns:
        The merged rows with their kinds.

    Raises:
        ConstraintViolationError: a key column holds a null, or the merge engine rejects a row kind.
    """
    schema, capacity = table.schema, table.options.get(LOCAL_MERGE_BUFFER_SIZE)
    engine = merge_engine(schema)
    kinds = RowKindReader(table)
    # A key without partition columns may have a row in each partition.
    keys = tuple(dict.fromkeys([*schema.partition_keys, *schema.primary_keys]))
    by = RowOrder(keys, tuple(sequence_fields(schema.options)))
    buffer: list[pa.RecordBatch] = []

    def merged() -> Iterator[pa.RecordBatch]:
        if buffer:
            buffered = pa.Table.from_batches(buffer)
            buffer.clear()
            yield from engine.merge(Window(buffered, *by.sort(buffered))).to_batches()

    for batch in rows:
        buffer.append(engine.prepare(kinds.given(batch)))
        if sum(b.nbytes for b in buffer) >= capacity:
            yield from merged()
    yield from merged()
