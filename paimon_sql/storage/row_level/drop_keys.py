"""Files of keyed tables rewritten without the rows of some keys, for merge engines that take no deletes."""

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
    """One file, the keys that leave it, and the rows of it that are deleted already."""

    table: Table
    entry: ManifestEntry
    keys: pa.RecordBatch
    deletion: Deletion | None = None

    @property
    def size(self) -> int:
        """The bytes to be read."""
        return self.entry.file.file_size

    def run(self) -> CommitMessage:
        """Write what is left; an empty message if the file holds none of the keys."""
        e = self.entry
        message = CommitMessage(e.partition, e.bucket, e.total_buckets)
        masks = [self._kept(batch) for batch in self._read(self.keys.schema.names)]
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
            files = write_all(writer, self._left(settings))
        return CommitMessage(e.partition, e.bucket, e.total_buckets, new_files=tuple(files), deleted_files=(e.file,))

    def _read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        e = self.entry
        return read_data_file(self.table, e.partition, e.bucket, e.file, columns, deletion=self.deletion)

    def _left(self, settings: WriteSettings) -> Iterator[pa.RecordBatch]:
        for batch in self._read([*self.table.schema.names, SEQUENCE_NUMBER.name, VALUE_KIND.name]):
            rows = batch.filter(pa.array(self._kept(batch)))
            if rows.num_rows:
                yield from as_stored(settings, pa.Table.from_batches([rows])).to_batches()

    def _kept(self, batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        numbers = _ranks([[batch.column(name), self.keys.column(name)] for name in self.keys.schema.names])
        return ~np.isin(numbers[: batch.num_rows], numbers[batch.num_rows :])


def run_drop(task: DropKeysTask) -> CommitMessage:
    """Do a task, as a function that workers can be sent."""
    return task.run()


def check_seen(table: Table, snapshot: Snapshot | None) -> None:
    """Refuse deletes while rows wait for a compaction that no read shows yet: they would turn up behind it.

    Raises:
        UnsupportedError: a table of first rows has files on level 0.
    """
    if table.options.get(MERGE_ENGINE) != "first-row":
        return
    if pc.any(pc.equal(live_files(table, snapshot).entries["level"], 0)).as_py():
        raise UnsupportedError(
            f"{table.name}: a DELETE would miss rows that wait for a compaction (merge-engine 'first-row').",
            remedy="CALL sys.compact of the table first.",
        )


def plan_drop(table: Table, base: Snapshot | None, rows: pa.Table, bucket_column: str) -> list[DropKeysTask]:
    """The tasks that take keys out of a table: a file each whose range of keys holds one of them.

    Args:
        table: a table with a primary key.
        base: the snapshot whose files are rewritten.
        rows: the columns of the primary key and of the partition, and the bucket of each row.
        bucket_column: the name of the column of buckets.
    """
    keys = _by_bucket(table, rows, bucket_column)
    deletions = deletions_of(table, base)
    files: dict[tuple[bytes, int], list[ManifestEntry]] = {}
    for e in entries(live_files(table, base).entries):
        if (e.partition, e.bucket) in keys:
            files.setdefault((e.partition, e.bucket), []).append(e)
    return [
        DropKeysTask(table, e, keys[place], deletions.get((*place, e.file.file_name)))
        for place, held in files.items()
        for e in _touched(table, held, keys[place])
    ]


def _by_bucket(table: Table, rows: pa.Table, bucket_column: str) -> Mapping[tuple[bytes, int], pa.RecordBatch]:
    schema = table.schema
    router = Router(schema, 1)
    found: dict[tuple[bytes, int], list[pa.RecordBatch]] = {}
    for batch in rows.to_batches():
        places = batch.column(bucket_column).to_numpy()
        named = router.conform(batch.drop_columns([bucket_column]))
        partitions, codes = router.partitions_of(named)
        for code, bucket in set(zip(codes.tolist(), places.tolist(), strict=True)):
            chosen = named.filter(pa.array((codes == code) & (places == bucket)))
            found.setdefault((partitions[code], bucket), []).append(chosen.select(list(schema.trimmed_primary_keys)))
    return {place: pa.concat_batches(batches) for place, batches in found.items()}


def _touched(table: Table, held: Sequence[ManifestEntry], keys: pa.RecordBatch) -> list[ManifestEntry]:
    types = [f.type for f in table.schema.key_fields]
    low = decode_columns(types, [e.file.min_key for e in held])
    high = decode_columns(types, [e.file.max_key for e in held])
    numbers = _ranks([[*column] for column in zip(low, high, keys.columns, strict=True)])
    n = len(held)
    wanted = np.sort(numbers[2 * n :])
    inside = np.searchsorted(wanted, numbers[n : 2 * n], side="right") > np.searchsorted(wanted, numbers[:n])
    return [e for e, hit in zip(held, inside, strict=True) if hit]


def _ranks(columns: Sequence[Sequence[pa.Array]]) -> npt.NDArray[np.int64]:
    """Rows as numbers in the order of keys, equal ones alike; each column comes in pieces that follow one another."""
    whole = [comparable(pa.concat_arrays(list(pieces))) for pieces in columns]
    order = sort_order([SortColumn(c) for c in whole])
    starts = group_starts(whole, order)
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.searchsorted(starts, np.arange(len(order)), side="right")
    return numbers
