"""Scan plans: the snapshot and the splits of a read (Paimon: `TableScan.Plan`).

A split lies in one bucket. It is raw if its files need no merging: in append tables, and in primary-key tables for
files whose key ranges overlap no other file of the bucket.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.layout.paths import POSTPONE_BUCKET, format_of
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import STATISTICS, data_files
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.operations.scan import SCAN_PLAN_SORT_PARTITION
from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED, DELETION_VECTORS_MERGE_ON_READ
from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.format.schema.types import DataField, DataType, LocalZonedTimestampType, TimestampType, walk
from paimon_sql.process import paused_garbage_collection
from paimon_sql.storage.columns.blobs_and_vectors import fields_in_blob_files, is_blob
from paimon_sql.storage.columns.schema_evolution import finds_by_name
from paimon_sql.storage.data_files.layout import FileLayout
from paimon_sql.storage.data_files.live_files import (
    Deletion,
    LiveFiles,
    ScanMetrics,
    deletions_of,
    grouped,
    live_files,
    partition_predicate,
    partition_values,
)
from paimon_sql.storage.data_files.lsm_tree import reads_compacted
from paimon_sql.storage.data_files.pruning.file_indexes import NO_ROWS, IndexedRows, IndexFilter
from paimon_sql.storage.data_files.pruning.statistics import prune_row_ids
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.expressions.kernels.sorting import SortColumn, comparable, sort_order
from paimon_sql.storage.expressions.predicates import Predicate, conjuncts_on
from paimon_sql.storage.expressions.row_id_ranges import RowIds
from paimon_sql.storage.file_io.paths import store_of
from paimon_sql.storage.merge.registry import engine_of
from paimon_sql.storage.scan.changes.plan import plan_changes
from paimon_sql.storage.scan.files_to_read import BranchFiles, FilesToRead
from paimon_sql.storage.scan.global_index.lookup import IndexResults
from paimon_sql.storage.scan.layout import BucketScan, ScanLayout
from paimon_sql.storage.scan.postponed import merges_postponed, with_postponed
from paimon_sql.storage.scan.split import FileKey, Split, SplitSize, divide
from paimon_sql.storage.scan.top_n import TopN, first_rows, splits_with_first
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.change_range import change_range_to_read
from paimon_sql.storage.table.time_travel.resolve import Version

_LOG = logging.getLogger(__name__)
T = TypeVar("T")
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
    def indexed_rows(self) -> IndexedRows | None:
        """How many rows match the condition, by global indexes or those of the files; None if unknown."""
        selected = self.rows_from_indexes
        if selected is not None:
            return IndexedRows(selected, selected)
        if not self.splits or any(s.indexed_rows is None for s in self.splits):
            return None
        return sum((s.indexed_rows for s in self.splits if s.indexed_rows is not None), NO_ROWS)

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

    def packed(self, items: Sequence[T], readers: int) -> list[list[T]]:
        """Items, one per split, in groups of about the same size for all readers; small splits are together."""
        files = sum(len(s.files) for s in self.splits)
        size = self.split_size.shared(sum(s.size for s in self.splits), files, readers)
        pairs = list(zip(self.splits, items, strict=True))
        groups = divide(pairs, lambda pair: pair[0].size + len(pair[0].files) * size.open_cost, size.target, readers)
        return [[item for _, item in group] for group in groups]

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

    def file_ranges(self, readers: int, splits: Sequence[Split] | None = None) -> list[list[PlannedRange]]:
        """The byte ranges of a native scan, divided into partitions of about the same size.

        Args:
            readers: the number of parallel readers.
            splits: the splits of this plan to read; all by default.
        """
        ranges = [r for split in (self.splits if splits is None else splits) for r in self.ranges_of(split)]
        size = self.split_size
        return divide(ranges, lambda r: max(r.length, size.open_cost), size.target, readers)

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
        own = BranchFiles(table, snapshot, live_files(table, snapshot, predicate))
        found = FilesToRead(Version(snapshot, table.schema.id), [own]).in_scanned_bucket(table)
    if row_ids is not None:
        found = replace(found, parts=[replace(p, live=_of_rows(p.table, p.live, row_ids)) for p in found.parts])
    if found.version.travelled:
        _warn_of_waiting_rows(table, found)
    answers = answers or IndexResults(predicate)
    since, metrics = found.version.created_from_millis, found.metrics
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
        unpruned: Iterable[Split] = _splits(part.table, live, since, sizes, columns)
        if selected is not None:
            unpruned = [replace(s, row_ids=_row_ids_in(selected, s)) for s in unpruned]
        made = _with_deletions(unpruned, deletions_of(part.table, part.snapshot))
        made = prune_by_indexes(part.table, made, predicate, metrics)
        if merging and part.table is table:
            made = list(with_postponed(made, part.live))
        if top is not None and selected is None and row_ids is None and top.is_bounded(part.table.schema):
            made, condition = splits_with_first(part.table, top, live, made)
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
    read = found.version.snapshot
    metrics.report(table, read.id if read else 0, time.monotonic() - started)
    return ScanPlan(table, read, splits, metrics, sizes, condition)


def _warn_of_waiting_rows(table: Table, found: FilesToRead) -> None:
    """Warn of the rows that an older state has, and that its reads do not see: a compaction came later."""
    if table.read_optimized or not reads_compacted(table):
        return
    levels = pa.chunked_array([c for part in found.parts for c in part.live.entries["level"].chunks], pa.int32())
    waiting = pc.sum(pc.equal(levels, 0)).as_py() or 0
    if waiting and found.version.snapshot is not None:
        _LOG.warning(
            "%s: the rows of %d of the files of snapshot %d are not in the answer, as they were compacted later. %s.",
            table.name,
            waiting,
            found.version.snapshot.id,
            f"Set '{DELETION_VECTORS_MERGE_ON_READ.key}' to see them"
            if table.options.get(DELETION_VECTORS_ENABLED)
            else "Read a later snapshot",
        )


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


def _reads_by_name(table: Table, schema_id: int, columns: Sequence[DataField]) -> bool:
    """Whether readers find the table's columns by name in files of a schema."""
    if schema_id == table.schema.id:
        return True
    own = [c for c in columns if c.name in table.schema.names]
    return finds_by_name(table.schemas.get(schema_id).fields, own)


def _splits(
    table: Table, live: LiveFiles, since_millis: int | None, sizes: SplitSize, columns: Collection[str] | None
) -> Iterator[Split]:
    slim = live.entries.drop_columns(STATISTICS)
    # Postponed files are not visible before a compaction.
    visible = slim.filter(pc.not_equal(slim["bucket"], POSTPONE_BUCKET)).sort_by("min_sequence_number")
    places = zip(*(visible[name].to_pylist() for name in ("partition", "bucket")), strict=True)
    layout, scan = ScanLayout.of(table), BucketScan(table, sizes, columns, since_millis)
    with paused_garbage_collection():
        totals = visible["total_buckets"].to_pylist()
        files = zip(data_files(visible, statistics=False), totals, strict=True)
        for bucket, own in grouped(zip(places, files, strict=True)).items():
            total, *others = {total for _, total in own}
            for split in layout.splits(scan, bucket, [file for file, _ in own]):
                yield replace(split, total_buckets=0 if others else total)


def _with_deletions(splits: Iterable[Split], deletions: Mapping[FileKey, Deletion]) -> list[Split]:
    if not deletions:
        return list(splits)
    return [replace(s, deletions=theirs) if (theirs := s.own_deletions(deletions)) else s for s in splits]


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


_MAX_INDEX_FILES = 1000
"""The max number of index files that a plan opens; readers of the other files open theirs."""
_THREADS = 32


def prune_by_indexes(
    table: Table, splits: Iterable[Split], predicate: Predicate | None, metrics: ScanMetrics
) -> list[Split]:
    """The splits without the files that file indexes skip.

    Args:
        table: the table of the files.
        splits: the splits.
        predicate: the condition.
        metrics: reduced by the skipped files.
    """
    before = list(splits)
    if predicate is None or not IndexFilter(table, predicate).is_of_use:
        return before
    merged = [split for split in before if not split.raw]
    on_keys = conjuncts_on(predicate, table.schema.primary_keys)
    chooses = engine_of(table.options).selects
    alone = _found(table, [split for split in before if split.raw or chooses], predicate)
    of_keys = _found(table, merged, on_keys) if on_keys is not None else {}
    unwanted, without_key = ({key for key, rows in found.items() if rows.most == 0} for found in (alone, of_keys))
    after = [split.without(unwanted, without_key) for split in before]
    for old, new in zip(before, after, strict=True):
        metrics.files_read -= len(old.files) - len(new.files)
        metrics.bytes_read -= old.size - new.size
    if not alone:
        return [s for s in after if s.files]
    return [replace(s, indexed_rows=_sum_of_files(s, alone)) if s.raw else s for s in after if s.files]


def _sum_of_files(split: Split, found: Mapping[FileKey, IndexedRows]) -> IndexedRows | None:
    keys = [split.file_key(f) for f in split.files]
    return sum(map(found.__getitem__, keys), NO_ROWS) if found.keys() >= set(keys) else None


def _found(table: Table, splits: Iterable[Split], predicate: Predicate) -> dict[FileKey, IndexedRows]:
    """How many rows match in each file whose indexes tell it."""
    look = IndexFilter(table, predicate)
    files = [(split, f) for split in splits for f in split.files if look.looks_at(f)]
    opened = 0
    chosen = []
    for split, file in files:
        opened += look.opens(file)
        if opened <= _MAX_INDEX_FILES or not look.opens(file):
            chosen.append((split, file))

    def rows_of(item: tuple[Split, DataFileMeta]) -> IndexedRows | None:
        split, file = item
        return IndexedRows.of(look.answer(split.partition, split.bucket, file))

    answers = map_in_threads(rows_of, chosen, table.file_io.threads_for(table.path, opened, _THREADS))
    found = zip(chosen, answers, strict=True)
    return {split.file_key(f): rows for (split, f), rows in found if rows is not None}
