"""Copy-on-write: data files rewritten without some rows of append tables, or some keys of primary-key tables.

Deletes of whole partitions change metadata alone: no row is read or written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CommitConflictError, UnsupportedError
from paimon_sql.format.metadata.data_file import DataFileMeta, FileSource
from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.format.metadata.manifest import ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import Operation, Snapshot
from paimon_sql.format.rows.decode import decode_columns
from paimon_sql.format.schema.system_fields import SEQUENCE_NUMBER, VALUE_KIND
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.data_files.live_files import Deletion, deletions_of, grouped, live_files
from paimon_sql.storage.expressions.kernels.sorting import dense_ranks
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.merge.registry import engine_of
from paimon_sql.storage.operations import operations
from paimon_sql.storage.read.readers.data_file import DataFileReader, rows_to_move
from paimon_sql.storage.scan.split import pack
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.proposal import Overwrite, overwritten
from paimon_sql.storage.table.partitions import Router
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.rolling import RollingWriter, write_all
from paimon_sql.storage.write.settings import WriteSettings, moved_settings
from paimon_sql.storage.write.writers import as_stored

_OPEN_COST = 4 * 1024 * 1024


@dataclass(frozen=True)
class RewriteTask:
    """Rewrites files of one bucket, each without the rows of a deletion vector."""

    table: Table
    partition: bytes
    bucket: int
    total_buckets: int
    files: tuple[tuple[DataFileMeta, DeletionVector], ...]

    @property
    def size(self) -> int:
        """The bytes to read."""
        return sum(f.file_size for f, _ in self.files)

    def run(self) -> CommitMessage:
        """Write the remaining rows to new files, which take effect when the message is committed."""
        remaining = [(f, deleted) for f, deleted in self.files if deleted.cardinality < f.row_count]
        files = self._write(remaining) if remaining else []
        place, deleted = (self.partition, self.bucket, self.total_buckets), tuple(f for f, _ in self.files)
        return CommitMessage(*place, new_files=tuple(files), deleted_files=deleted)

    def _write(self, remaining: Sequence[tuple[DataFileMeta, DeletionVector]]) -> list[DataFileMeta]:
        settings = moved_settings(self.table.schema)
        first = min(f.min_sequence_number for f, _ in remaining)
        writer = RollingWriter(self.table, settings, self.partition, self.bucket, first_sequence=first)
        return write_all(writer, self._rows(remaining))

    def _rows(self, remaining: Sequence[tuple[DataFileMeta, DeletionVector]]) -> Iterator[pa.RecordBatch]:
        for file, deleted in remaining:
            for positions, rows in rows_to_move(self.table, self.partition, self.bucket, file):
                retained = ~np.isin(positions, deleted.positions, assume_unique=True)
                if retained.any():
                    yield rows if retained.all() else rows.filter(pa.array(retained))


def plan_rewrite(table: Table, deletions: Sequence[tuple[ManifestEntry, DeletionVector]]) -> list[RewriteTask]:
    """Plan the tasks that rewrite files without some rows.

    In tables without buckets, where the order of rows between files does not matter, small files are packed into one.

    Args:
        table: an append table.
        deletions: the files, each with all its rows to drop.
    """
    target = WriteSettings(table.schema).target_file_size
    ordered = sorted(deletions, key=lambda g: (g[0].partition, g[0].bucket, g[0].file.min_sequence_number))
    tasks = []
    buckets = grouped(((e.partition, e.bucket, e.total_buckets), (e.file, vector)) for e, vector in ordered)
    for (partition, bucket, total), files in buckets.items():
        packs = [[f] for f in files] if total > 0 else pack(files, lambda f: f[0].file_size, target, _OPEN_COST)
        tasks += [RewriteTask(table, partition, bucket, total, tuple(files)) for files in packs]
    return tasks


@dataclass(frozen=True)
class DropKeysTask:
    """Rewrites one file without some keys; ``deletion`` has its rows that are deleted already."""

    table: Table
    entry: ManifestEntry
    keys: pa.RecordBatch
    deletion: Deletion | None = None

    @property
    def size(self) -> int:
        """The bytes to read."""
        return self.entry.file.file_size

    def run(self) -> CommitMessage:
        """Write the other rows; an empty message if the file contains none of the keys."""
        e = self.entry
        masks = [self._retained(batch) for batch in self._read(self.keys.schema.names)]
        if all(mask.all() for mask in masks):
            return CommitMessage(e.partition, e.bucket, e.total_buckets)
        files: Sequence[DataFileMeta] = []
        if any(mask.any() for mask in masks):
            settings = WriteSettings(self.table.schema)
            place = (e.partition, e.bucket)
            writer = RollingWriter(self.table, settings, *place, level=e.file.level, source=FileSource.COMPACT)
            files = write_all(writer, self._remaining(settings))
        return CommitMessage(e.partition, e.bucket, e.total_buckets, new_files=tuple(files), deleted_files=(e.file,))

    def _read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        e = self.entry
        return DataFileReader(self.table, e.partition, e.bucket, e.file, columns, deletion=self.deletion).batches()

    def _remaining(self, settings: WriteSettings) -> Iterator[pa.RecordBatch]:
        for batch in self._read([*self.table.schema.names, SEQUENCE_NUMBER.name, VALUE_KIND.name]):
            rows = batch.filter(pa.array(self._retained(batch)))
            if rows.num_rows:
                yield from as_stored(settings, pa.Table.from_batches([rows])).to_batches()

    def _retained(self, batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        names = self.keys.schema.names
        ranks = dense_ranks([pa.concat_arrays([batch.column(name), self.keys.column(name)]) for name in names])
        return ~np.isin(ranks[: batch.num_rows], ranks[batch.num_rows :])


def check_no_invisible_rows(table: Table, snapshot: Snapshot | None) -> None:
    """Refuse deletes while rows are invisible until a compaction: they would appear after it.

    Raises:
        UnsupportedError: a table whose merge engine keeps first rows has files on level 0.
    """
    engine = engine_of(table.options)
    if not engine.keeps_first:
        return
    if pc.any(pc.equal(live_files(table, snapshot).entries["level"], 0)).as_py():
        raise UnsupportedError(
            f"{table.name}: a DELETE would miss rows that wait for a compaction (merge-engine '{engine.name}').",
            remedy="CALL sys.compact of the table first.",
        )


def plan_drop(table: Table, base: Snapshot | None, rows: pa.Table, bucket_column: str) -> list[DropKeysTask]:
    """Plan the tasks that delete keys: one per file whose key range contains one of them.

    Args:
        table: a table with a primary key.
        base: the snapshot whose files are rewritten.
        rows: the key and partition columns, and the bucket of each row.
        bucket_column: the name of the column with the buckets.
    """
    keys = _by_bucket(table, rows, bucket_column)
    deletions = deletions_of(table, base)
    files = grouped(((e.partition, e.bucket), e) for e in entries(live_files(table, base).entries))
    return [
        DropKeysTask(table, e, keys[bucket], deletions.get((*bucket, e.file.file_name)))
        for bucket, candidates in files.items()
        if bucket in keys
        for e in _touched(table, candidates, keys[bucket])
    ]


def _by_bucket(table: Table, rows: pa.Table, bucket_column: str) -> Mapping[tuple[bytes, int], pa.RecordBatch]:
    schema = table.schema
    router = Router(schema, 1)
    found: dict[tuple[bytes, int], list[pa.RecordBatch]] = {}
    for batch in rows.to_batches():
        buckets = batch.column(bucket_column).to_numpy()
        conformed = router.conform(batch.drop_columns([bucket_column]))
        partitions, codes = router.partitions_of(conformed)
        for code, bucket in set(zip(codes.tolist(), buckets.tolist(), strict=True)):
            chosen = conformed.filter(pa.array((codes == code) & (buckets == bucket)))
            found.setdefault((partitions[code], bucket), []).append(chosen.select(list(schema.trimmed_primary_keys)))
    return {key: pa.concat_batches(batches) for key, batches in found.items()}


def _touched(table: Table, candidates: Sequence[ManifestEntry], keys: pa.RecordBatch) -> list[ManifestEntry]:
    types = [f.type for f in table.schema.key_fields]
    low = decode_columns(types, [e.file.min_key for e in candidates])
    high = decode_columns(types, [e.file.max_key for e in candidates])
    ranks = dense_ranks([pa.concat_arrays([*column]) for column in zip(low, high, keys.columns, strict=True)])
    n = len(candidates)
    wanted = np.sort(ranks[2 * n :])
    inside = np.searchsorted(wanted, ranks[n : 2 * n], side="right") > np.searchsorted(wanted, ranks[:n])
    return [e for e, hit in zip(candidates, inside, strict=True) if hit]


def remove_partitions(table: Table, base: Snapshot | None, partitions: Predicate | None) -> None:
    """Commit the deletion of all files of some partitions.

    Args:
        table: the table.
        base: the snapshot whose rows are deleted.
        partitions: a condition on the partitions to delete; None for all.

    Raises:
        CommitConflictError: a concurrent commit has written to these partitions since.
    """
    overwrite = Overwrite(partitions)
    known = {e.file.file_name for e in overwritten(table, base, overwrite, [])}

    def removed(latest: Snapshot | None) -> list[ManifestEntry]:
        found = overwritten(table, latest, overwrite, [])
        if {e.file.file_name for e in found} != known:
            raise CommitConflictError(
                f"{table.name}: another job wrote to the partitions while they were being deleted.",
                remedy="Run the statement again.",
            )
        return found

    with Transaction(table, Operation.DELETE, base=base) as transaction:
        operations.overwrite(transaction, [], removed)
