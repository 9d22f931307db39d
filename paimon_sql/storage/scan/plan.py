"""Scan plans: the snapshot and the splits of a read (Paimon: `TableScan.Plan`).

A split lies in one bucket. It is raw if its files need no merging: in append tables, and in primary-key tables for
files whose key ranges overlap no other file of the bucket.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import add

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.layout.paths import POSTPONE_BUCKET, format_of
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.operations.scan import SCAN_PLAN_SORT_PARTITION
from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.format.schema.types import DataField, DataType, LocalZonedTimestampType, TimestampType, walk
from paimon_sql.storage.columns.blobs_and_vectors import fields_in_blob_files, is_blob
from paimon_sql.storage.columns.schema_evolution import finds_by_name
from paimon_sql.storage.data_files.layout import FileLayout
from paimon_sql.storage.data_files.live_files import (
    Deletion,
    LiveFiles,
    ScanMetrics,
    deletions_of,
    live_files,
    partition_predicate,
    partition_values,
)
from paimon_sql.storage.data_files.pruning.statistics import prune_row_ids
from paimon_sql.storage.execution.metrics import SCAN, process_metrics
from paimon_sql.storage.expressions.kernels.sorting import SortColumn, comparable, sort_order
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.expressions.row_id_ranges import RowIds
from paimon_sql.storage.file_io.paths import store_of
from paimon_sql.storage.scan.branches.fallback import BranchFiles
from paimon_sql.storage.scan.branches.files_to_read import FilesToRead, live_in_scanned_bucket
from paimon_sql.storage.scan.changes.plan import plan_changes
from paimon_sql.storage.scan.file_indexes import prune_by_indexes
from paimon_sql.storage.scan.global_index.lookup import IndexResults
from paimon_sql.storage.scan.layout import BucketScan, ScanLayout
from paimon_sql.storage.scan.postponed import merges_postponed, with_postponed
from paimon_sql.storage.scan.split import FileKey, Split, SplitSize, pack
from paimon_sql.storage.scan.top_n import TopN, first_rows, splits_with_first
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.change_range import change_range_to_read
from paimon_sql.storage.table.time_travel.resolve import Version

MICROS = 6
"""The precision of Spark's timestamps, in digits of a fraction of a second."""


@dataclass(frozen=True)
class PlannedRange:
    """A byte range of a data file, for a reader that splits files by row groups."""

    path: str
    start: int
    length: int
    file_size: int


@dataclass(frozen=True)
class ScanPlan:
    """The plan of a scan.

    ``condition`` is a predicate that all wanted rows satisfy, if only the first rows of an order are wanted; readers
    may skip other rows.
    """

    table: Table
    snapshot: Snapshot | None
    splits: list[Split]
    metrics: ScanMetrics = field(default_factory=ScanMetrics)
    split_size: SplitSize = field(default_factory=SplitSize)
    condition: Predicate | None = None

    @cached_property
    def rows_from_indexes(self) -> int | None:
        """The number of rows that global indexes select, rows without an index included; None if a split has none."""
        if not self.splits or any(s.row_ids is None for s in self.splits):
            return None
        return sum(s.row_ids.count for s in self.splits if s.row_ids is not None)

    @cached_property
    def row_count(self) -> int:
        """The number of rows in all files before merging, without those that deletion vectors are known to delete."""
        deleted = sum(d.range.cardinality or 0 for s in self.splits for d in s.deletions.values())
        return sum(s.row_count for s in self.splits) - deleted

    @property
    def counts_rows(self) -> bool:
        """Whether `row_count` is exact: nothing is merged, and all deletion vectors have a cardinality."""
        deletions = [d for s in self.splits for d in s.deletions.values()]
        return not any(s.merges_rows for s in self.splits) and all(d.range.cardinality is not None for d in deletions)

    @cached_property
    def is_raw(self) -> bool:
        """Whether all splits are raw."""
        return all(s.raw for s in self.splits)

    @cached_property
    def rows_to_mask(self) -> int:
        """The number of rows in the files that need a deletion mask: with a deletion vector, or merged."""
        return sum(f.row_count for s in self.splits for f in s.files if not s.raw or f.file_name in s.deletions)

    @cached_property
    def stores(self) -> frozenset[tuple[str, str]]:
        """Scheme and authority of the paths of all files, external ones included."""
        outside = (f.external_path for s in self.splits for f in s.files if f.external_path)
        return frozenset(map(store_of, (self.table.path, *outside)))

    def is_native(self, columns: Sequence[DataField]) -> bool:
        """Whether a Parquet reader that matches columns by name reads the files correctly, deleted rows aside."""
        if not self._is_parquet or any(_finer_than_micros(column.type) or is_blob(column.type) for column in columns):
            return False
        if not all(f.write_cols is None or _holds(f.write_cols, columns) for s in self.splits for f in s.files):
            return False
        keys = set(self.table.schema.partition_keys)
        if any(c.name in keys for c in columns) and self._may_lack_partition:
            return False
        owners = {t.branch: t for t in map(self.owner, self.splits)}
        return all(
            # Field ids are assigned per branch.
            _reads_by_name(owner, schema_id, columns if owner is self.table else owner.schema.fields)
            for owner, schema_id in ((owners[branch], schema_id) for branch, schema_id in self._written_under)
        )

    @cached_property
    def _is_parquet(self) -> bool:
        """Whether each file is a Parquet file with complete rows and their partition values."""
        if any(s.origins for s in self.splits):
            return False  # the files have other partition values than the split
        if not all(s.holds_rows for s in self.splits):
            return False
        return all(format_of(f.file_name) == "parquet" for s in self.splits for f in s.files)

    @cached_property
    def _may_lack_partition(self) -> bool:
        layout = FileLayout.of(self.table)
        return any(layout.may_lack_partition(self.table.schema, f) for s in self.splits for f in s.files)

    @cached_property
    def _written_under(self) -> set[tuple[str, int]]:
        """Branch and schema id of the files."""
        return {(self.owner(s).branch, f.schema_id) for s in self.splits for f in s.files}

    def owner(self, split: Split) -> Table:
        """The branch of a split's files."""
        return split.table or self.table

    def file_ranges(self, splits: Sequence[Split] | None = None) -> list[list[PlannedRange]]:
        """The byte ranges of a native scan, packed into partitions of about the same size.

        Args:
            splits: the splits of this plan to read; all by default.
        """
        ranges = [r for split in (self.splits if splits is None else splits) for r in self.ranges_of(split)]
        return pack(ranges, lambda r: r.length, self.split_size.target, self.split_size.open_cost)

    def ranges_of(self, split: Split) -> list[PlannedRange]:
        """The byte ranges of a split's files, in order."""
        step = self.split_size.range_size
        return [
            PlannedRange(path, start, min(step, f.file_size - start), f.file_size)
            for f in split.files
            for path in [self.owner(split).locations.data_file(split.partition, split.bucket, f)]
            for start in range(0, f.file_size, step)
        ]


def plan_scan(
    table: Table,
    predicate: Predicate | None = None,
    *,
    snapshot: Snapshot | None = None,
    limit: int | None = None,
    parallelism: int = 1,
    columns: Collection[str] | None = None,
    row_ids: Predicate | None = None,
    answers: IndexResults | None = None,
    top: TopN | None = None,
    split_size: SplitSize | None = None,
) -> ScanPlan:
    """Plan a read.

    Args:
        table: the table, under the options of the read.
        predicate: the condition on columns; files that cannot match are skipped.
        snapshot: the snapshot to read; by default the one that the table's options set, or the newest.
        limit: the number of rows that are enough; has no effect with a predicate.
        parallelism: the number of parallel readers; splits are small enough to give work to all of them.
        columns: the names of the columns that are read; all by default. With data evolution, files without one of them
            are skipped.
        row_ids: a condition on ``_ROW_ID`` alone; files that cannot match are skipped.
        answers: the global indexes' results for the predicate, if they were searched before.
        top: the rows that are enough; has no effect if the predicate is on other columns than partition columns.
        split_size: the size of splits; by default from the table's options.
    """
    started = time.monotonic()
    if columns is not None and predicate is not None:
        columns = {*columns, *predicate.columns()}
    if top is not None and predicate is not None and not predicate.columns() <= set(table.schema.partition_keys):
        top = None
    sizes = split_size or SplitSize.of(table.options)
    merging = merges_postponed(table)
    if merging:
        # Conditions apply to merged rows: before the merge nothing but whole partitions may be skipped.
        predicate, limit, top = partition_predicate(table, predicate), None, None
        answers = IndexResults(None)
    span = change_range_to_read(table) if snapshot is None else None
    if span is not None:
        changes, metrics = plan_changes(table, span, predicate, sizes.target)
        return ScanPlan(table, span.end, changes, metrics)
    if snapshot is None:
        found = ScanLayout.of(table).files_to_read(table, predicate)
    else:
        live = live_in_scanned_bucket(table, live_files(table, snapshot, predicate))
        own = BranchFiles(table, snapshot, live)
        found = FilesToRead(Version(snapshot, table.schema.id), [own])
    if row_ids is not None:
        found = replace(found, parts=[replace(p, live=_of_rows(p.table, p.live, row_ids)) for p in found.parts])
    answers = answers or IndexResults(predicate)
    since, metrics = found.version.created_from_millis, _metrics(found)
    sizes = sizes.shared(metrics.bytes_read, metrics.files_read, parallelism)
    if found.chain is not None or len(found.parts) > 1:
        top = None  # bounds are compared within one branch only
    splits: list[Split] = []
    condition = None
    for part in found.parts:
        selected = answers.rows(part.table, part.snapshot, part.live.entries)
        if selected is None and top is not None:
            selected = first_rows(part.table, part.snapshot, part.live.entries, top)
        live = part.live if selected is None else _of_rows(part.table, part.live, selected)
        unpruned = _splits(part.table, live, since, sizes, columns)
        if selected is not None:
            unpruned = [replace(s, row_ids=_row_ids_in(selected, s)) for s in unpruned]
        made = _with_deletions(unpruned, deletions_of(part.table, part.snapshot))
        made = prune_by_indexes(part.table, made, predicate, metrics)
        if merging and part.table is table:
            made = list(with_postponed(made, part.live))
        if top is not None and selected is None and row_ids is None and top.is_bounded(part.table.schema):
            first = splits_with_first(part.table, top, live, made)
            made, condition = first.splits, first.condition
        splits += made if part.table is table else [replace(s, table=part.table) for s in made]
    if found.chain is not None:
        splits += found.chain.splits(sizes.target, since)
    reads_some_columns = table.layout.groups_files and not all(s.holds_rows for s in splits)
    if reads_some_columns or fields_in_blob_files(table.schema):
        metrics.files_read = sum(len(s.files) for s in splits)
        metrics.bytes_read = sum(s.size for s in splits)
    if table.options.get(SCAN_PLAN_SORT_PARTITION) and table.schema.partition_keys:
        splits = _by_partition(table, splits)
    if limit is not None and predicate is None and row_ids is None:
        splits = _enough(splits, limit)
    measured = {
        "scanDuration": round((time.monotonic() - started) * 1000),
        "scannedSnapshotId": found.version.snapshot.id if found.version.snapshot else 0,
        "scannedManifests": metrics.manifests_read,
        "scanSkippedTableFiles": metrics.files - metrics.files_read,
        "scanResultedTableFiles": metrics.files_read,
        "scanResultedBytes": metrics.bytes_read,
    }
    process_metrics().note(table.metric_key, SCAN, measured)
    return ScanPlan(table, found.version.snapshot, splits, metrics, sizes, condition)


def _by_partition(table: Table, splits: Sequence[Split]) -> list[Split]:
    """The splits sorted by their partitions' values; stable within a partition."""
    values = partition_values(table, pa.array([s.partition for s in splits], pa.binary()))
    order = sort_order([SortColumn(comparable(column)) for column in values.values()])
    return [splits[i] for i in order]


def _of_rows(table: Table, live: LiveFiles, row_ids: Predicate) -> LiveFiles:
    """The files that may hold rows with these ids."""
    remaining = prune_row_ids(live.entries, row_ids, FileLayout.of(table).groups(live.entries))
    live.metrics.files_read = len(remaining)
    live.metrics.bytes_read = pc.sum(remaining["file_size"]).as_py() or 0
    return replace(live, entries=remaining)


def _row_ids_in(rows: RowIds, split: Split) -> RowIds | None:
    """The rows that lie in a split; None if the row ids of a file do not follow from its metadata."""
    files = split.anchors
    if any(f.first_row_id is None or ROW_ID.name in (f.write_cols or ()) for f in files):
        return None
    parts = [rows.within(f.first_row_id, f.first_row_id + f.row_count) for f in files if f.first_row_id is not None]
    return RowIds.of_ranges(np.concatenate([p.starts for p in parts]), np.concatenate([p.ends for p in parts]))


def _metrics(found: FilesToRead) -> ScanMetrics:
    each = found.chain.metrics if found.chain else [part.live.metrics for part in found.parts]
    return reduce(add, each)


def _reads_by_name(table: Table, schema_id: int, columns: Sequence[DataField]) -> bool:
    """Whether readers find the table's columns by name in files of a schema."""
    if schema_id == table.schema.id:
        return True
    own = [c for c in columns if c.name in table.schema.names]
    return finds_by_name(table.schemas.get(schema_id).fields, own)


def _splits(
    table: Table, live: LiveFiles, since_millis: int | None, sizes: SplitSize, columns: Collection[str] | None
) -> Iterable[Split]:
    groups: dict[tuple[bytes, int], list[DataFileMeta]] = {}
    totals: dict[tuple[bytes, int], int] = {}
    by_age = live.entries.sort_by([("min_sequence_number", "ascending")]) if len(live.entries) else live.entries
    for e in entries(by_age):
        if e.bucket == POSTPONE_BUCKET:
            continue  # not visible before a compaction
        key = (e.partition, e.bucket)
        groups.setdefault(key, []).append(e.file)
        if totals.setdefault(key, e.total_buckets) != e.total_buckets:
            totals[key] = 0
    layout, scan = ScanLayout.of(table), BucketScan(table, sizes, columns, since_millis)
    for bucket, files in groups.items():
        for split in layout.splits(scan, bucket, files):
            yield replace(split, total_buckets=totals[bucket])


def _with_deletions(splits: Iterable[Split], deletions: Mapping[FileKey, Deletion]) -> list[Split]:
    if not deletions:
        return list(splits)
    found = []
    for split in splits:
        theirs = split.own_deletions(deletions)
        found.append(replace(split, deletions=theirs) if theirs else split)
    return found


def _enough(splits: Sequence[Split], limit: int) -> list[Split]:
    """The first splits that surely give ``limit`` rows, or all; splits that merge or delete rows count as empty."""
    found, rows = [], 0
    for split in splits:
        if rows >= limit:
            break
        found.append(split)
        if not (split.merges_rows or split.deletions):
            rows += split.row_count - sum(f.delete_row_count or 0 for f in split.files)
    return found


def _holds(written: Collection[str], columns: Sequence[DataField]) -> bool:
    """Whether a file has all columns that are read, and stores no row ids, as files with moved rows do."""
    return ROW_ID.name not in written and all(c.name in written for c in columns)


def _finer_than_micros(data_type: DataType) -> bool:
    # pypaimon writes them as nanoseconds, which Spark's reader rejects; Java as INT96.
    times = (t for t in walk(data_type) if isinstance(t, (TimestampType, LocalZonedTimestampType)))
    return any(t.precision > MICROS for t in times)
