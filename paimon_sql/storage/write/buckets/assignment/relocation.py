"""Cross-partition upserts: locations of existing keys, and relocation of rows whose keys are in another partition."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.metadata.manifest import entries
from paimon_sql.format.options.table.bucket import CROSS_PARTITION_UPSERT_INDEX_TTL
from paimon_sql.format.rows.encode import encode_rows
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import BUCKET, VALUE_KIND, RowKind
from paimon_sql.storage.data_files.live_files import by_bucket, deletions_of, partition_values
from paimon_sql.storage.data_files.lsm_tree import sections_of
from paimon_sql.storage.expressions.kernels.sorting import Indices
from paimon_sql.storage.merge.engines.base import is_retract
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.files_to_read import was_created
from paimon_sql.storage.scan.split import Split, deletions_in
from paimon_sql.storage.table.partitions import Router
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.assignment.assigners import AssignerPartition
from paimon_sql.storage.write.buckets.base import WriteState
from paimon_sql.storage.write.row_preparation import RowKindReader
from paimon_sql.storage.write.writers import Target


@dataclass(frozen=True)
class _Keys:
    """Rows sorted by key: first row of each key with its index, index of each row's key, location of each key."""

    rows: pa.RecordBatch
    first: pa.RecordBatch
    starts: Indices
    of_row: Indices
    old: pa.Array
    old_bucket: npt.NDArray[np.int32]

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Whether each key exists."""
        valid: npt.NDArray[np.bool_] = self.old.is_valid().to_numpy(zero_copy_only=False)
        return valid


class Relocator:
    """Assigns partitions and buckets to rows, and adds the deletes of keys that move (Paimon: `GlobalIndexAssigner`).

    The merge engine decides what happens to a row whose key is in another partition:

    - It moves rows: the old row is deleted in its partition, the new one is written to its own partition.
    - It keeps first rows: rows with existing keys are dropped.
    - Every other: the row is written to the partition of the old one.

    Args:
        table: the table.
        counts: the number of rows by bucket.
        number: the index of this relocator's assigner partition, whose buckets get new keys.
        assigners: the number of assigner partitions.
    """

    def __init__(self, table: Table, counts: Mapping[Target, int], number: int, assigners: int) -> None:
        self._table = table
        engine = merge_engine(table.schema)
        self._kinds = RowKindReader(table)
        self._router = Router(table.schema, 1)
        stays = self._first if engine.keeps_first else self._stay
        self._place = self._move if engine.moves_rows else stays
        self._without_keys = AssignerPartition.of(table.options, number, assigners)
        self._partitions: dict[bytes, AssignerPartition] = {}
        for (partition, bucket), count in counts.items():
            if bucket % assigners == number:
                self._of(partition).counts[bucket] = count

    def relocate(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows to write, with their kinds, and their buckets in ``_BUCKET``.

        Args:
            batches: rows with the table's columns, optionally their kinds, and the locations of their keys, sorted by
                key bytes, the oldest first.
        """
        rest: pa.RecordBatch | None = None
        for batch in batches:
            if batch.num_rows:
                rows = batch if rest is None else pa.concat_batches([rest, batch])
                last = rows.column(KEY)[rows.num_rows - 1]
                # More rows of the last key may follow in the next batch.
                end = pc.index(rows.column(KEY), last).as_py()
                rest = rows.slice(end)
                yield from self._relocate_keys(rows.slice(0, end))
        if rest is not None:
            yield from self._relocate_keys(rest)

    def _relocate_keys(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Relocate all rows of some keys."""
        rows = self._kinds.given(rows)
        if not rows.num_rows:
            return
        keys = rows.column(KEY)
        changes = pc.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False)
        starts = np.concatenate([[0], np.flatnonzero(changes) + 1]).astype(np.int64)
        of_row = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, rows.num_rows)))
        first = rows.take(pa.array(starts))
        old_bucket = pc.fill_null(first.column(OLD_BUCKET), -1).to_numpy(zero_copy_only=False)
        found = _Keys(rows, first, starts, of_row, first.column(OLD_PARTITION), old_bucket)
        yield from (part for part in self._place(found) if part.num_rows)

    def _move(self, keys: _Keys) -> Iterator[pa.RecordBatch]:
        """The newest row of each key, in its own partition, and a delete of a row in another one."""
        ends = np.append(keys.starts[1:], keys.rows.num_rows)
        rows = keys.rows.take(pa.array(ends - 1))
        own, known = self._own(rows), keys.known
        stays = pc.fill_null(pc.equal(own, keys.old), False).to_numpy(zero_copy_only=False)
        deletes = is_retract(rows.column(VALUE_KIND.name).to_numpy())
        removed = np.flatnonzero(known & (deletes | ~stays))
        yield self._written(rows, removed, keys.old, keys.old_bucket, kind=RowKind.DELETE)
        updated = np.flatnonzero(stays & ~deletes)
        yield self._written(rows, updated, own, keys.old_bucket)
        fresh = np.flatnonzero(~stays & ~deletes)
        yield self._written(rows, fresh, own, self._assigned(own, fresh))

    def _stay(self, keys: _Keys) -> Iterator[pa.RecordBatch]:
        """All rows, in the partition of their existing key, or of the first row of a new key."""
        own, fresh = self._own(keys.first), np.flatnonzero(~keys.known)
        buckets = np.where(keys.known, keys.old_bucket, self._assigned(own, fresh)).astype(np.int32)
        partitions = pc.coalesce(keys.old, own)
        every = np.arange(keys.rows.num_rows)
        yield self._written(keys.rows, every, partitions.take(pa.array(keys.of_row)), buckets[keys.of_row])

    def _first(self, keys: _Keys) -> Iterator[pa.RecordBatch]:
        """The first row of each new key."""
        own, fresh = self._own(keys.first), np.flatnonzero(~keys.known)
        yield self._written(keys.first, fresh, own, self._assigned(own, fresh))

    def _own(self, rows: pa.RecordBatch) -> pa.Array:
        """The serialised partition of each row's own values."""
        partitions, codes = self._router.partitions_of(rows)
        return pa.array(partitions, pa.binary()).take(pa.array(codes))

    def _of(self, partition: bytes) -> AssignerPartition:
        return self._partitions.setdefault(partition, replace(self._without_keys, counts={}))

    def _assigned(self, partitions: pa.Array, chosen: Indices) -> npt.NDArray[np.int32]:
        """A bucket for each chosen row, as a new key of its partition; any number for the others."""
        buckets = np.zeros(len(partitions), np.int32)
        encoded = partitions.take(pa.array(chosen)).dictionary_encode()
        codes = encoded.indices.to_numpy()
        for code, partition in enumerate(encoded.dictionary.to_pylist()):
            rows = chosen[codes == code]
            buckets[rows] = self._of(partition).place(len(rows))
        return buckets

    def _written(
        self,
        rows: pa.RecordBatch,
        chosen: Indices,
        partitions: pa.Array,
        buckets: npt.NDArray[np.int32],
        kind: RowKind | None = None,
    ) -> pa.RecordBatch:
        """The chosen rows with the values of other partitions, and their buckets as last column."""
        picked = pa.array(chosen)
        taken = rows.take(picked)
        encoded = partitions.take(picked).dictionary_encode()
        values = partition_values(self._table, encoded.dictionary)
        columns = {name: taken.column(name) for name in (*self._table.schema.names, VALUE_KIND.name)}
        for name, array in values.items():
            columns[name] = array.take(encoded.indices).cast(columns[name].type)
        if kind is not None:
            columns[VALUE_KIND.name] = pa.repeat(pa.scalar(int(kind), pa.int8()), len(chosen))
        columns[BUCKET.name] = pa.array(buckets[chosen])
        return pa.RecordBatch.from_pydict(columns)


KEY, OLD_PARTITION, OLD_BUCKET = "_KEY", "_OLD_PARTITION", "_OLD_BUCKET"
KEY_LOCATION_SCHEMA = pa.schema([(KEY, pa.binary()), (OLD_PARTITION, pa.binary()), (OLD_BUCKET, pa.int32())])
"""The schema of key locations: the key as bytes, its partition and bucket."""


@dataclass(frozen=True)
class KeyLocationTask:
    """Reads the keys of one bucket, filtered by ``wanted``; all if it is None.

    The key columns are merged and filtered window by window, so that memory holds the wanted keys and one window.
    """

    table: Table
    split: Split
    wanted: pa.Array | None = field(default=None, compare=False)

    @property
    def size(self) -> int:
        """The estimated bytes to read: those of the key columns."""
        schema = self.table.schema
        return self.split.size * len(schema.primary_keys) // len(schema.fields)

    def run(self) -> pa.Table:
        """The wanted keys with their locations."""
        return pa.Table.from_batches(self.batches(), schema=KEY_LOCATION_SCHEMA)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The keys with their locations, with the columns of ``KEY_LOCATION_SCHEMA``."""
        schema = self.table.schema
        for rows in ReadTask(self.table, self.split, schema.primary_keys).batches():
            keys = key_bytes(schema, rows)
            partitions = pa.repeat(pa.scalar(self.split.partition, pa.binary()), rows.num_rows)
            buckets = pa.array(np.full(rows.num_rows, self.split.bucket, np.int32))
            batch = pa.RecordBatch.from_arrays([keys, partitions, buckets], schema=KEY_LOCATION_SCHEMA)
            yield batch if self.wanted is None else batch.filter(pc.is_in(keys, value_set=self.wanted))


def plan_key_locations(state: WriteState) -> list[KeyLocationTask]:
    """Plan the tasks that read all keys that a write does not replace.

    Buckets whose files are all older than ``cross-partition-upsert.index-ttl`` are skipped.
    """
    table = state.table
    deletions = deletions_of(table, state.snapshot)
    ttl = table.options.get(CROSS_PARTITION_UPSERT_INDEX_TTL)
    oldest = None if ttl is None else math.ceil((time.time() - ttl.total_seconds()) * 1000)
    tasks = []
    for bucket, files in by_bucket(entries(state.files)).items():
        if not any(was_created(f, oldest) for f in files):
            continue
        sections, theirs = tuple(sections_of(table.schema, files)), deletions_in(deletions, bucket, files)
        tasks.append(KeyLocationTask(table, Split(*bucket, tuple(files), False, sections, theirs)))
    return tasks


def key_bytes(schema: TableSchema, rows: pa.RecordBatch) -> pa.Array:
    """The complete primary key of each row as bytes, equal if the keys are equal in the format.

    The key's partition columns are included: rows that differ in one of them are different rows, as in the index of
    Paimon's ``GlobalIndexAssigner``. Only the order of files ignores them (trimmed primary key).
    """
    fields = schema.select(schema.primary_keys)
    return encode_rows([rows.column(f.name) for f in fields], [f.type for f in fields]).cast(pa.binary())
