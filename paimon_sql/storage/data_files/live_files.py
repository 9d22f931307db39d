"""Live files of a snapshot, with data skipping, and their partitions, file groups and deletion vectors.

Manifests are skipped by partition bounds, files by partition, bucket, key range and column statistics, vectorized over
all entries. What statistics say depends on the table's layout.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from operator import add
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.bytes.bounded import check_range, decoding
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.index_files import DeletionVector, read_deletion_vector
from paimon_sql.format.metadata.index_manifest import DELETION_VECTORS_INDEX, DeletionVectorRange
from paimon_sql.format.metadata.manifest import (
    MANIFEST_SCHEMA,
    FileKind,
    ManifestEntry,
    ManifestFileMeta,
    entries,
    merge_entries,
)
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.rows.decode import decode_columns
from paimon_sql.storage.data_files.file_groups import FileGroup, file_groups
from paimon_sql.storage.data_files.layout import FileLayout
from paimon_sql.storage.data_files.manifest_bounds import bounds_of, keep_bounds, unknown_columns, without_misses
from paimon_sql.storage.data_files.pruning.pinned_columns import prune_buckets
from paimon_sql.storage.execution.metrics import SCAN, process_metrics
from paimon_sql.storage.expressions.predicates import (
    ColumnStats,
    In,
    IsNull,
    Or,
    Predicate,
    all_of,
    conjuncts,
    conjuncts_on,
)
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.table.distributed_manifests import read_manifests
from paimon_sql.storage.table.index_files import index_entries, index_path
from paimon_sql.storage.table.table import Table

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass
class ScanMetrics:
    """Metrics of scan planning: manifests and files in total and after skipping, bytes to read."""

    manifests: int = 0
    manifests_read: int = 0
    files: int = 0
    files_read: int = 0
    bytes_read: int = 0
    seconds: float = 0.0

    def __add__(self, other: ScanMetrics) -> ScanMetrics:
        return ScanMetrics(*map(add, astuple(self), astuple(other)))

    def report(self, table: Table, snapshot_id: int, seconds: float) -> None:
        """Report a scan plan to the metrics of the process.

        Args:
            table: the table.
            snapshot_id: the snapshot that it reads, of changes the last one; 0 without any.
            seconds: the duration of planning.
        """
        values = {
            "scanDuration": round(seconds * 1000),
            "scannedSnapshotId": snapshot_id,
            "scannedManifests": self.manifests_read,
            "scanSkippedTableFiles": self.files - self.files_read,
            "scanResultedTableFiles": self.files_read,
            "scanResultedBytes": self.bytes_read,
        }
        process_metrics().note(table.metric_key, SCAN, values)


@dataclass(frozen=True)
class LiveFiles:
    """The files to read, as a table of ``MANIFEST_SCHEMA``."""

    snapshot: Snapshot | None
    entries: pa.Table
    metrics: ScanMetrics = field(default_factory=ScanMetrics)

    @property
    def partitions(self) -> list[bytes]:
        """The distinct serialized partitions of the files."""
        found: list[bytes] = pc.unique(self.entries["partition"]).to_pylist()
        return found

    def narrowed(self, entries: pa.Table) -> LiveFiles:
        """Return only these of the files, with the metrics of reading them."""
        metrics = replace(self.metrics, files_read=len(entries), bytes_read=pc.sum(entries["file_size"]).as_py() or 0)
        return replace(self, entries=entries, metrics=metrics)


def live_files(
    table: Table,
    snapshot: Snapshot | None,
    predicate: Predicate | None = None,
    partitions: Collection[bytes] | None = None,
) -> LiveFiles:
    """Return the live files of a snapshot that may contain rows matching the predicate.

    Args:
        table: the table.
        snapshot: the snapshot; None for an empty table.
        predicate: the condition, on columns of the table only.
        partitions: the serialized partitions to read; all by default.
    """
    if snapshot is None:
        return LiveFiles(None, MANIFEST_SCHEMA.empty_table())
    manifests = manifests_of(table, snapshot)
    wanted = _EntryFilter(table, predicate, None if partitions is None else pa.array(sorted(partitions), pa.binary()))
    selected = wanted.without_misses(_prune_manifests(table, manifests, wanted.of_manifests))
    read = read_manifests(table, selected, wanted.learning(selected) if wanted.narrows else None)
    for bounds in read.bounds:
        keep_bounds(table, manifests, bounds)
    complete = len(selected) == len(manifests) and (read.whole or not wanted.skips_files)
    tables = read.tables or [MANIFEST_SCHEMA.empty_table()]
    if read.whole and not complete:
        tables = [wanted(pa.concat_tables(tables))]  # merging few entries is cheap
    entries = merge_entries(tables, unmatched="refuse" if complete else "drop")
    found = LiveFiles(snapshot, entries, ScanMetrics(len(manifests), len(selected), count_of_files(manifests)))
    return found.narrowed(wanted.of_rows(wanted.of_partitions(entries)))


@dataclass(frozen=True)
class _EntryFilter:
    """The filter of manifest entries of a scan.

    Attributes:
        table: the table.
        predicate: the condition on rows.
        partitions: the serialized partitions to read; None for all.
        learned: the columns whose bounds in each manifest are computed.
    """

    table: Table
    predicate: Predicate | None
    partitions: pa.Array | None
    learned: frozenset[str] = frozenset()

    def __call__(self, entries: pa.Table) -> pa.Table:
        """Filter the entries of one manifest, before ADD and DELETE entries are merged.

        The statistics of a DELETE may be missing, so it is filtered by partition only.
        """
        entries = self.of_partitions(entries)
        if not self.skips_files or not len(entries):
            return entries
        is_add = pc.equal(entries["kind"], FileKind.ADD)
        if pc.all(is_add).as_py():
            return self.of_rows(entries)
        numbered = entries.append_column("number", pa.array(np.arange(len(entries))))
        added = self.of_rows(numbered.filter(is_add))
        retained = np.concatenate([added["number"], numbered.filter(pc.invert(is_add))["number"]])
        return entries.take(pa.array(np.sort(retained)))

    def bounds(self, names: Sequence[str], tables: Sequence[pa.Table]) -> pa.Table | None:
        """The bounds of the learned columns in each manifest; None without such columns."""
        return bounds_of(self.table, names, tables, self.learned) if self.learned else None

    def without_misses(self, manifests: Sequence[ManifestFileMeta]) -> Sequence[ManifestFileMeta]:
        """The manifests that may have entries to read, by the bounds of columns that earlier plans computed."""
        return manifests if self._of_files is None else without_misses(self.table, manifests, self._of_files)

    def learning(self, manifests: Sequence[ManifestFileMeta]) -> _EntryFilter:
        """The filter that also computes bounds of columns which are not known of all manifests."""
        if self._of_files is None:
            return self
        return replace(self, learned=unknown_columns(self.table, manifests, self._of_files))

    @cached_property
    def _of_files(self) -> Predicate | None:
        """The part of the predicate by which single files can be skipped, by more than their partition."""
        return FileLayout.of(self.table).file_predicate(self.table, self.predicate)

    @cached_property
    def by_partition(self) -> Predicate | None:
        """The part of the predicate on partition columns only."""
        return partition_predicate(self.table, self.predicate)

    @property
    def of_manifests(self) -> Predicate | None:
        """A condition on partition columns that all partitions to read meet, by which manifests are skipped."""
        if self.partitions is None or not self.table.schema.partition_keys:
            return self.by_partition
        bounds = [_one_of(name, a) for name, a in partition_values(self.table, self.partitions).items()]
        return all_of([*conjuncts(self.by_partition), *bounds])

    @property
    def skips_files(self) -> bool:
        """Whether single files can be skipped, by more than their partition."""
        return self._of_files is not None

    @property
    def narrows(self) -> bool:
        """Whether entries of a single manifest can be filtered out."""
        return self.by_partition is not None or self.partitions is not None or self.skips_files

    def of_partitions(self, entries: pa.Table) -> pa.Table:
        """Return the entries of the partitions to read, evaluated exactly."""
        if self.partitions is not None:
            entries = entries.filter(pc.is_in(entries["partition"], value_set=self.partitions))
        return filter_partitions(self.table, entries, self.by_partition)

    def of_rows(self, entries: pa.Table) -> pa.Table:
        """Return the entries that may contain matching rows, by bucket, key and statistics."""
        if self.predicate is None or not len(entries):
            return entries
        entries = prune_buckets(self.table.schema, entries, self.predicate)
        return FileLayout.of(self.table).pruned(self.table, entries, self.predicate)


def _one_of(column: str, values: pa.Array) -> Predicate:
    """The condition that a column has one of some values, which may be null."""
    valid = values.drop_null()
    if not values.null_count:
        return In(column, valid)
    return Or((In(column, valid), IsNull(column))) if len(valid) else IsNull(column)


def manifests_of(table: Table, snapshot: Snapshot) -> list[ManifestFileMeta]:
    """Return the manifests of a snapshot in commit order."""
    store = table.manifests
    return [*store.read_list(snapshot.base_manifest_list), *store.read_list(snapshot.delta_manifest_list)]


def count_of_files(manifests: Iterable[ManifestFileMeta]) -> int:
    """Return the number of files that the manifests of a snapshot leave."""
    return sum(m.num_added_files - m.num_deleted_files for m in manifests)


def partition_predicate(table: Table, predicate: Predicate | None) -> Predicate | None:
    """Return the part of a predicate on partition columns only."""
    keys = table.schema.partition_keys
    return conjuncts_on(predicate, keys) if keys else None


def filter_partitions(table: Table, entries: pa.Table, predicate: Predicate | None) -> pa.Table:
    """Return the entries whose partition matches a predicate on partition columns, evaluated exactly."""
    if predicate is None or not len(entries):
        return entries
    encoded = entries["partition"].combine_chunks().dictionary_encode()
    values = partition_values(table, encoded.dictionary)
    wanted = pc.fill_null(predicate.evaluate(values), False)
    return entries.filter(wanted.take(encoded.indices))


def partition_values(table: Table, partitions: pa.Array) -> dict[str, pa.Array]:
    """Decode serialized partitions to one array per partition column."""
    fields = table.schema.partition_fields
    arrays = decode_columns([f.type for f in fields], partitions)
    return {f.name: a for f, a in zip(fields, arrays, strict=True)}


def partition_row(table: Table, partition: bytes, columns: Collection[str]) -> dict[str, pa.Scalar]:
    """Return the values of a serialized partition, of those partition columns that are among ``columns``."""
    values = partition_values(table, pa.array([partition], pa.binary()))
    return {name: value[0] for name, value in values.items() if name in columns}


def _prune_manifests(
    table: Table, manifests: Sequence[ManifestFileMeta], predicate: Predicate | None
) -> list[ManifestFileMeta]:
    if predicate is None or not manifests:
        return list(manifests)
    fields = table.schema.partition_fields
    types = [f.type for f in fields]
    minima = decode_columns(types, [m.partition_stats.min_values for m in manifests])
    maxima = decode_columns(types, [m.partition_stats.max_values for m in manifests])
    rows = pa.array([m.num_added_files + m.num_deleted_files for m in manifests], pa.int64())
    stats = {}
    for i, f in enumerate(fields):
        counts = [m.partition_stats.null_counts[i] if m.partition_stats.null_counts else None for m in manifests]
        stats[f.name] = ColumnStats(minima[i], maxima[i], pa.array(counts, pa.int64()), rows)
    mask = predicate.may_hold(stats)
    return [m for m, keep in zip(manifests, mask.to_pylist(), strict=True) if keep]


def values_of_partitions(table: Table, entries: pa.Table, column: str) -> pa.Array:
    """Return the value of a partition column for each entry."""
    encoded = entries["partition"].combine_chunks().dictionary_encode()
    return partition_values(table, encoded.dictionary)[column].take(encoded.indices)


def partition_stats(table: Table, entries: pa.Table, column: str) -> ColumnStats:
    """Return the exact statistics of a partition column, one element per entry."""
    values, rows = values_of_partitions(table, entries, column), entries["row_count"].combine_chunks()
    nulls = pc.if_else(values.is_null(), rows, pa.scalar(0, rows.type))
    return ColumnStats(values, values, nulls, rows)


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Return the values of each key, both in the order of their first occurrence."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def by_bucket(found: Iterable[ManifestEntry]) -> dict[tuple[bytes, int], list[DataFileMeta]]:
    """Return the files of entries by partition and bucket."""
    return grouped(((e.partition, e.bucket), e.file) for e in found)


@dataclass(frozen=True)
class BucketedGroup:
    """A file group and its bucket."""

    partition: bytes
    bucket: int
    total_buckets: int
    group: FileGroup


def bucketed_groups(table: Table, snapshot: Snapshot | None, predicate: Predicate | None = None) -> list[BucketedGroup]:
    """Return the file groups of a snapshot in the order of row ids, without statistics.

    Args:
        table: a table with data evolution.
        snapshot: the snapshot.
        predicate: groups without a matching row may be left out.
    """
    return bucketed_groups_of(table, live_files(table, snapshot, predicate).entries)


def bucketed_groups_of(table: Table, live: pa.Table) -> list[BucketedGroup]:
    """Return the groups of live files in the order of row ids, without statistics."""
    buckets = grouped(((e.partition, e.bucket, e.total_buckets), e.file.without_stats()) for e in entries(live))
    found = [BucketedGroup(*key, group) for key, files in buckets.items() for group in file_groups(table, files)[0]]
    return sorted(found, key=lambda p: p.group.first_row_id)


_TAIL = 8


@dataclass(frozen=True)
class Deletion:
    """The location of a data file's deletion vector."""

    path: str
    range: DeletionVectorRange

    def read(self, file_io: FileIO) -> DeletionVector:
        """Read the deletion vector."""
        offset, length = self.range.offset, self.range.length
        with file_io.open_input(self.path) as source:
            size = int(source.size())
            with decoding("a file of deletion vectors", self.path):
                check_range(offset, length, size, f"the deletion vector of {self.range.data_file_name}")
            data = bytes(source.read_at(min(length + _TAIL, size - offset), offset))
        return read_deletion_vector(data, self.path, self.range)


def deletions_of(table: Table, snapshot: Snapshot | None) -> Mapping[tuple[bytes, int, str], Deletion]:
    """Return the deletion vectors of a snapshot by partition, bucket and name of the data file."""
    found = {}
    for entry in index_entries(table, snapshot):
        if entry.file.index_type == DELETION_VECTORS_INDEX:
            path = index_path(table, entry)
            for part in entry.file.deletion_vectors or ():
                found[(entry.partition, entry.bucket, part.data_file_name)] = Deletion(path, part)
    return found
