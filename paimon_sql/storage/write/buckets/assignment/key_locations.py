"""Locations of existing keys, for cross-partition upserts: partition and bucket of the keys of a write.

The key columns of the table are read bucket by bucket, merged, and filtered by the keys of the write, so that memory
holds these and one window of the table.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import entries
from paimon_sql.format.options.table.bucket import CROSS_PARTITION_UPSERT_INDEX_TTL
from paimon_sql.format.rows.encode import encode_rows
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.data_files.deletion_vectors import deletions_of
from paimon_sql.storage.data_files.sections import sections_of
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.state import WriteState

KEY, OLD_PARTITION, OLD_BUCKET = "_KEY", "_OLD_PARTITION", "_OLD_BUCKET"
KEY_LOCATION_SCHEMA = pa.schema([(KEY, pa.binary()), (OLD_PARTITION, pa.binary()), (OLD_BUCKET, pa.int32())])
"""The schema of key locations: the key as bytes, its partition and bucket."""


@dataclass(frozen=True)
class KeyLocationTask:
    """Reads the keys of one bucket, filtered by ``wanted``; all if it is None."""

    table: Table
    split: Split
    wanted: pa.Array | None = field(default=None, compare=False)

    @property
    def size(self) -> int:
        """The estimated bytes to read: those of the key columns."""
        schema = self.table.schema
        return self.split.size * len(schema.primary_keys) // len(schema.fields)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The keys with their locations, as columns of ``PLACES``."""
        schema = self.table.schema
        for rows in ReadTask(self.table, self.split, schema.primary_keys).batches():
            keys = key_bytes(schema, rows)
            partitions = pa.repeat(pa.scalar(self.split.partition, pa.binary()), rows.num_rows)
            buckets = pa.array(np.full(rows.num_rows, self.split.bucket, np.int32))
            batch = pa.RecordBatch.from_arrays([keys, partitions, buckets], schema=KEY_LOCATION_SCHEMA)
            yield batch if self.wanted is None else batch.filter(pc.is_in(keys, value_set=self.wanted))


def run_key_locations(task: KeyLocationTask) -> pa.Table:
    """The wanted keys of a task; a module-level function, so that it can be pickled."""
    return pa.Table.from_batches(task.batches(), schema=KEY_LOCATION_SCHEMA)


def plan_key_locations(state: WriteState) -> list[KeyLocationTask]:
    """Plan the tasks that read all keys that a write does not replace.

    Buckets whose files are all older than ``cross-partition-upsert.index-ttl`` are skipped.
    """
    table = state.table
    buckets: dict[tuple[bytes, int], list[DataFileMeta]] = {}
    for e in entries(state.files):
        buckets.setdefault((e.partition, e.bucket), []).append(e.file)
    deletions = deletions_of(table, state.snapshot)
    ttl = table.options.get(CROSS_PARTITION_UPSERT_INDEX_TTL)
    oldest = None if ttl is None else time.time() * 1000 - ttl.total_seconds() * 1000
    tasks = []
    for (partition, bucket), files in buckets.items():
        if oldest is not None and all((f.creation_epoch_millis() or 0) < oldest for f in files):
            continue
        marked = {f.file_name: deletions.get((partition, bucket, f.file_name)) for f in files}
        theirs = {name: deletion for name, deletion in marked.items() if deletion is not None}
        sections = tuple(sections_of(table.schema, files))
        tasks.append(KeyLocationTask(table, Split(partition, bucket, tuple(files), False, sections, theirs)))
    return tasks


def key_bytes(schema: TableSchema, rows: pa.RecordBatch) -> pa.Array:
    """The complete primary key of each row as bytes, equal if the keys are equal in the format.

    The key's partition columns are included: rows that differ in one of them are different rows, as in the index of
    Paimon's ``GlobalIndexAssigner``. Only the order of files ignores them (trimmed primary key).
    """
    fields = schema.select(schema.primary_keys)
    return encode_rows([rows.column(f.name) for f in fields], [f.type for f in fields]).cast(pa.binary())
