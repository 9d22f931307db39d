"""Dynamic buckets: a key stays in its bucket; new keys open a new bucket when the others are full."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pyarrow as pa

from paimon_sql.format.metadata.index_files import write_hash_index
from paimon_sql.format.metadata.index_manifest import HASH_INDEX, IndexManifestEntry
from paimon_sql.format.metadata.manifest import FileKind
from paimon_sql.format.options.table.bucket import (
    DYNAMIC_BUCKET_ASSIGNER_PARALLELISM,
    DYNAMIC_BUCKET_INITIAL_BUCKETS,
    DYNAMIC_BUCKET_MAX_BUCKETS,
)
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import BUCKET
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.proposal import Validation
from paimon_sql.storage.table.index_files import index_path, write_index_file
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.assignment.assigners import (
    HashAssigner,
    Hashes,
    assigner_partition_of,
    key_hashes,
)
from paimon_sql.storage.write.buckets.assignment.routers import AssignedRouter
from paimon_sql.storage.write.buckets.base import BucketMode, HashIndexFile, WriteState, check_hash_indexes
from paimon_sql.storage.write.distribution import Numbers, Rows, by_assigned_bucket, by_owner
from paimon_sql.storage.write.task import WriteTask
from paimon_sql.storage.write.writers import KeyValueWriter, Target

_LOOSE = 1 << 20
"""The number of hashes to collect before duplicates are dropped."""


class IndexedWriter(KeyValueWriter):
    """Writes rows that have their bucket in ``_BUCKET``, and the hash index of each bucket that gets a new key.

    Args:
        table: the table.
        sequences: the max sequence number by partition and bucket.
        index: the hash indexes before the write.
    """

    def __init__(self, table: Table, sequences: Mapping[Target, int], index: Mapping[Target, HashIndexFile]) -> None:
        super().__init__(table, sequences, AssignedRouter(table.schema))
        self._index = index
        self._hashes: dict[Target, list[Hashes]] = {}
        self._loose: dict[Target, int] = {}

    def close(self) -> list[CommitMessage]:
        """Write the buffered rows; messages of hash indexes follow those of data files."""
        messages = super().close()
        for target, parts in self._hashes.items():
            self._write_index(target, np.unique(np.concatenate(parts)))
        return messages

    def abort(self) -> None:
        """Delete all files that were written."""
        super().abort()
        self._table.file_io.delete_many(
            index_path(self._table, IndexManifestEntry(FileKind.ADD, m.partition, m.bucket, f))
            for m in self._messages
            for f in m.new_indexes
        )

    def _take(self, target: Target, rows: pa.RecordBatch) -> None:
        super()._take(target, rows)
        parts = self._hashes.setdefault(target, [])
        parts.append(key_hashes(self._table.schema, rows))
        self._loose[target] = self._loose.get(target, 0) + rows.num_rows
        if self._loose[target] > _LOOSE:
            self._hashes[target] = [np.unique(np.concatenate(parts))]
            self._loose[target] = 0

    def _write_index(self, target: Target, hashes: Hashes) -> None:
        old = self._index.get(target)
        known = np.zeros(0, np.int32) if old is None else old.read(self._table)
        fresh = np.setdiff1d(hashes, known)
        if not len(fresh):
            return
        joined = np.concatenate([known, fresh])
        file = write_index_file(self._table, *target, HASH_INDEX, write_hash_index(joined), row_count=len(joined))
        replaced = () if old is None else (old.file,)
        self._messages.append(CommitMessage(*target, -1, new_indexes=(file,), deleted_indexes=replaced))


class Dynamic(BucketMode):
    """A table with ``bucket`` -1 whose primary key holds the partition columns."""

    name = "HASH_DYNAMIC"
    number = -1

    @classmethod
    def suits(cls, schema: TableSchema) -> bool:
        return schema.has_key and set(schema.partition_keys) <= set(schema.primary_keys)

    def plan(self, state: WriteState) -> WriteTask:
        return DynamicTask(state.table, state.sequences, state.hash_indexes)


@dataclass(frozen=True)
class DynamicTask(WriteTask):
    """Writes to dynamic buckets.

    Attributes:
        index: the hash indexes before the write.
        assigners: the number of assigner partitions; None for that of the options.
        assigned: whether rows have their bucket in ``_BUCKET`` already.
    """

    index: Mapping[Target, HashIndexFile] = field(default_factory=dict)
    assigners: int | None = None
    assigned: bool = False

    def assigner(self) -> HashAssigner:
        """Create an assigner; all rows of an assigner partition must be given to the same one."""
        return HashAssigner(self.table, self.index, self.assigners or assigner_count(self.table, 1))

    def distributed(self, rows: Rows) -> tuple[WriteTask, Rows]:
        """Bring rows to the assigners of their keys, and from there to the tasks of their buckets.

        The second exchange is left out if no key has a bucket of another assigner yet.
        """
        schema, assigners = self.table.schema, assigner_count(self.table, rows.parallelism)
        task = replace(self, assigners=assigners)

        def assigner_of(batch: pa.RecordBatch) -> Numbers:
            return assigner_partition_of(key_hashes(schema, batch), assigners)

        rows = by_owner(rows.merged_locally(), schema, assigners, schema.primary_keys, assigner_of)
        if not task.index:
            return task, rows
        keys = tuple(dict.fromkeys([*schema.partition_keys, *schema.primary_keys]))
        return replace(task, assigned=True), by_assigned_bucket(rows.assigned(keys, task.assigner().assign), schema)

    def with_buckets(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if self.assigned:
            yield from rows
            return
        assigner = self.assigner()
        for batch in rows:
            yield batch.append_column(BUCKET.name, pa.array(assigner.assign(batch)))

    def writer(self) -> KeyValueWriter:
        return IndexedWriter(self.table, self.sequences, self.index)

    def validations(self, messages: Iterable[CommitMessage]) -> tuple[Validation, ...]:
        if not self.needs_sequences:
            return ()  # concurrent commits to the replaced partitions are replaced with these
        partitions = {m.partition for m in messages}
        check = partial(check_hash_indexes, self.table, self.index, partitions)
        indexes = Validation("the hash indexes are those by which buckets were assigned", check)
        return *super().validations(messages), indexes


def assigner_count(table: Table, tasks: int) -> int:
    """The number of assigner partitions that share the keys of a partition.

    Args:
        table: the table.
        tasks: the number of parallel tasks, for tables whose options set no number.
    """
    options = table.options
    initial, parallel = options.get(DYNAMIC_BUCKET_INITIAL_BUCKETS), options.get(DYNAMIC_BUCKET_ASSIGNER_PARALLELISM)
    count: int = min(initial, parallel) if initial and parallel else initial or parallel or tasks
    limit: int = options.get(DYNAMIC_BUCKET_MAX_BUCKETS)
    return max(1, count if limit == -1 else min(count, limit))
