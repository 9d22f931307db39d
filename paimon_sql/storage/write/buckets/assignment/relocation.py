"""Relocation of rows whose keys may be in another partition, by merge engine (Paimon: `ExistingProcessor`).

- ``deduplicate``: the old row is deleted in its partition, the new one is written to its own partition.
- ``partial-update`` and ``aggregation``: the row is written to the partition of the old one.
- ``first-row``: rows with existing keys are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.options.table.bucket import DYNAMIC_BUCKET_MAX_BUCKETS, DYNAMIC_BUCKET_TARGET_ROW_NUM
from paimon_sql.format.options.table.merge_engine import IGNORE_DELETE, MERGE_ENGINE
from paimon_sql.format.schema.row_kind import RowKind
from paimon_sql.format.schema.system_fields import BUCKET, VALUE_KIND
from paimon_sql.storage.data_files.live_files import partition_values
from paimon_sql.storage.merge.engines.base import is_retract
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.table.partitioning.routing import Router
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.assignment.fill import AssignerPartition
from paimon_sql.storage.write.buckets.assignment.key_locations import KEY, OLD_BUCKET, OLD_PARTITION
from paimon_sql.storage.write.buffer import Target
from paimon_sql.storage.write.key_value_writer import check_keys
from paimon_sql.storage.write.rows.row_kinds import RowKindReader

Indices = npt.NDArray[np.int64]


def moves_rows(table: Table) -> bool:
    """Whether a new row moves its key to its own partition, instead of that of the old row.

    Not where deletes are ignored, for then the old row could not be deleted.
    """
    return bool(table.options.get(MERGE_ENGINE) == "deduplicate" and not table.options.get(IGNORE_DELETE))


@dataclass(frozen=True)
class _Keys:
    """Rows sorted by key: first row of each key, index of each row's key, current location of each key."""

    rows: pa.RecordBatch
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
    """Assigns partitions and buckets to rows, and adds the deletes of keys that move.

    Args:
        table: the table.
        counts: the number of rows by bucket.
        lane: the index of this relocator's assigner partition, whose buckets get new keys.
        lanes: the number of assigner partitions.
    """

    def __init__(self, table: Table, counts: Mapping[Target, int], lane: int, lanes: int) -> None:
        self._table = table
        self._kinds = RowKindReader(table, merge_engine(table.schema))
        self._router = Router(table.schema, 1)
        stays = self._first if table.options.get(MERGE_ENGINE) == "first-row" else self._stay
        self._place = self._move if moves_rows(table) else stays
        self._lane = AssignerPartition(lane, lanes, max(1, table.options.get(DYNAMIC_BUCKET_TARGET_ROW_NUM)))
        self._lane.max_buckets = table.options.get(DYNAMIC_BUCKET_MAX_BUCKETS)
        self._lanes: dict[bytes, AssignerPartition] = {}
        for (partition, bucket), count in counts.items():
            if bucket % lanes == lane:
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
        check_keys(self._table, rows)
        rows = self._kinds.given(rows)
        if not rows.num_rows:
            return
        keys = rows.column(KEY)
        changes = pc.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False)
        starts = np.concatenate([[0], np.flatnonzero(changes) + 1]).astype(np.int64)
        of_row = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, rows.num_rows)))
        first = rows.take(pa.array(starts))
        old_bucket = pc.fill_null(first.column(OLD_BUCKET), -1).to_numpy(zero_copy_only=False)
        found = _Keys(rows, starts, of_row, first.column(OLD_PARTITION), old_bucket)
        for part in self._place(found):
            if part.num_rows:
                yield part

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
        first = keys.rows.take(pa.array(keys.starts))
        own = self._own(first)
        fresh = np.flatnonzero(~keys.known)
        buckets = np.where(keys.known, keys.old_bucket, self._assigned(own, fresh)).astype(np.int32)
        partitions = pc.coalesce(keys.old, own)
        every = np.arange(keys.rows.num_rows)
        yield self._written(keys.rows, every, partitions.take(pa.array(keys.of_row)), buckets[keys.of_row])

    def _first(self, keys: _Keys) -> Iterator[pa.RecordBatch]:
        """The first row of each new key."""
        first = keys.rows.take(pa.array(keys.starts))
        own, fresh = self._own(first), np.flatnonzero(~keys.known)
        yield self._written(first, fresh, own, self._assigned(own, fresh))

    def _own(self, rows: pa.RecordBatch) -> pa.Array:
        """The serialised partition of each row's own values."""
        partitions, codes = self._router.partitions_of(rows)
        return pa.array(partitions, pa.binary()).take(pa.array(codes))

    def _of(self, partition: bytes) -> AssignerPartition:
        if partition not in self._lanes:
            self._lanes[partition] = replace(self._lane, counts={})
        return self._lanes[partition]

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
