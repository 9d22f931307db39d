"""Copy-on-write deletes by key: files rewritten without some keys, for merge engines without deletes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.metadata.data_file import DataFileMeta, FileSource
from paimon_sql.format.metadata.manifest import ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.table.merge_engine import MERGE_ENGINE
from paimon_sql.format.rows.decode import decode_columns
from paimon_sql.format.schema.system_fields import SEQUENCE_NUMBER, VALUE_KIND
from paimon_sql.storage.data_files.deletion_vectors import Deletion, deletions_of
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.expressions.kernels.sorting import SortColumn, comparable, group_starts, sort_order
from paimon_sql.storage.read.readers.data_file import read_data_file
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.partitioning.routing import Router
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.files.file_names import FileNamer
from paimon_sql.storage.write.files.rolling import RollingWriter, write_all
from paimon_sql.storage.write.key_value_writer import as_stored
from paimon_sql.storage.write.settings import WriteSettings


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
        message = CommitMessage(e.partition, e.bucket, e.total_buckets)
        masks = [self._retained(batch) for batch in self._read(self.keys.schema.names)]
        if all(mask.all() for mask in masks):
            return message
        files: Sequence[DataFileMeta] = []
        if any(mask.any() for mask in masks):
            settings = WriteSettings(self.table.schema)
            writer = RollingWriter(
                self.table,
                settings,
                e.partition,
                e.bucket,
                namer=FileNamer(settings.file_prefix),
                level=e.file.level,
                source=FileSource.COMPACT,
            )
            files = write_all(writer, self._remaining(settings))
        return CommitMessage(e.partition, e.bucket, e.total_buckets, new_files=tuple(files), deleted_files=(e.file,))

    def _read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        e = self.entry
        return read_data_file(self.table, e.partition, e.bucket, e.file, columns, deletion=self.deletion)

    def _remaining(self, settings: WriteSettings) -> Iterator[pa.RecordBatch]:
        for batch in self._read([*self.table.schema.names, SEQUENCE_NUMBER.name, VALUE_KIND.name]):
            rows = batch.filter(pa.array(self._retained(batch)))
            if rows.num_rows:
                yield from as_stored(settings, pa.Table.from_batches([rows])).to_batches()

    def _retained(self, batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        ranks = _ranks([[batch.column(name), self.keys.column(name)] for name in self.keys.schema.names])
        return ~np.isin(ranks[: batch.num_rows], ranks[batch.num_rows :])


def run_drop(task: DropKeysTask) -> CommitMessage:
    """Run a task; a module-level function, so that it can be pickled."""
    return task.run()


def check_no_invisible_rows(table: Table, snapshot: Snapshot | None) -> None:
    """Refuse deletes while rows are invisible until a compaction: they would appear after it.

    Raises:
        UnsupportedError: a table with merge engine first-row has files on level 0.
    """
    if table.options.get(MERGE_ENGINE) != "first-row":
        return
    if pc.any(pc.equal(live_files(table, snapshot).entries["level"], 0)).as_py():
        raise UnsupportedError(
            f"{table.name}: a DELETE would miss rows that wait for a compaction (merge-engine 'first-row').",
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
    files: dict[tuple[bytes, int], list[ManifestEntry]] = {}
    for e in entries(live_files(table, base).entries):
        if (e.partition, e.bucket) in keys:
            files.setdefault((e.partition, e.bucket), []).append(e)
    return [
        DropKeysTask(table, e, keys[bucket], deletions.get((*bucket, e.file.file_name)))
        for bucket, candidates in files.items()
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
    ranks = _ranks([[*column] for column in zip(low, high, keys.columns, strict=True)])
    n = len(candidates)
    wanted = np.sort(ranks[2 * n :])
    inside = np.searchsorted(wanted, ranks[n : 2 * n], side="right") > np.searchsorted(wanted, ranks[:n])
    return [e for e, hit in zip(candidates, inside, strict=True) if hit]


def _ranks(columns: Sequence[Sequence[pa.Array]]) -> npt.NDArray[np.int64]:
    """The dense rank of each row by key, equal for equal keys; each column is given in consecutive pieces."""
    joined = [comparable(pa.concat_arrays(list(pieces))) for pieces in columns]
    order = sort_order([SortColumn(c) for c in joined])
    starts = group_starts(joined, order)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.searchsorted(starts, np.arange(len(order)), side="right")
    return ranks
