"""Facet of table layouts: how a scan is planned."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from paimon_sql.errors import NoSuchSnapshotError
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options.operations.scan import SCAN_TIMESTAMP, SCAN_TIMESTAMP_MILLIS
from paimon_sql.format.options.table.row_tracking import BLOB_AS_DESCRIPTOR, BLOB_SPLIT_BY_FILE_SIZE
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.branches.chains import Chain
from paimon_sql.storage.data_files.file_groups import FileGroup, file_groups, stored_fields
from paimon_sql.storage.data_files.layout import FileLayout
from paimon_sql.storage.data_files.live_files import partition_stats
from paimon_sql.storage.data_files.lsm_tree import is_raw, reads_compacted, sections_of
from paimon_sql.storage.expressions.predicates import ColumnStats, Predicate
from paimon_sql.storage.scan.files_to_read import FilesToRead, files_of_branches, files_of_chain, was_created
from paimon_sql.storage.scan.split import Bucket, DataEvolutionSplit, Split, SplitSize, pack
from paimon_sql.storage.table.layout import TableLayout
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import Version, version_to_read


@dataclass(frozen=True)
class BucketScan:
    """The scan of the files of single buckets.

    Attributes:
        table: the table.
        sizes: the size of the splits.
        columns: the names of the columns that are read; all by default.
        since_millis: files created before are skipped; None for all.
    """

    table: Table
    sizes: SplitSize
    columns: Collection[str] | None = None
    since_millis: int | None = None

    def wants(self, file: DataFileMeta) -> bool:
        """Whether a file is read."""
        return was_created(file, self.since_millis)

    def raw_splits(self, bucket: Bucket, files: Iterable[DataFileMeta]) -> Iterable[Split]:
        """The splits of files that are read one by one."""
        for packed in pack(files, lambda f: f.file_size, self.sizes.target, self.sizes.open_cost):
            yield Split(*bucket, tuple(packed), raw=True)


def column_stats(table: Table, entries: pa.Table, column: str) -> ColumnStats:
    """The statistics of a column in each file, exact for partition columns."""
    of_partitions = column in table.schema.partition_keys
    return (partition_stats if of_partitions else FileLayout.of(table).column_stats)(table, entries, column)


class ScanLayout(TableLayout):
    """The scans of a table."""

    def scanned_version(self, table: Table) -> Version:
        """The state of the table's own branch that a read sees, from its options; the newest by default.

        Raises: as `version_to_read`.
        """
        return version_to_read(table)

    def files_to_read(self, table: Table, predicate: Predicate | None) -> FilesToRead:
        """The files of a read of the state that the table's options name.

        Args:
            table: the table, under the options of the read.
            predicate: the condition.

        Raises:
            InvalidOptionError: another branch does not exist or has other columns.
        """
        return self._files_at(table, self.scanned_version(table), predicate).in_scanned_bucket(table)

    def newest_entries(self, table: Table) -> pa.Table:
        """The entries of all files that a read of the newest state uses, from all branches, those of chains included.

        They are of all buckets.
        """
        found = self._files_at(table, Version(table.snapshots.latest(), table.schema.id), None)
        parts = [*found.parts, *([found.chain.deltas] if found.chain else [])]
        return pa.concat_tables([part.live.entries for part in parts])

    def _files_at(self, table: Table, version: Version, predicate: Predicate | None) -> FilesToRead:
        """The files of a read of a state, in all buckets."""
        return FilesToRead(version, files_of_branches(table, version, predicate))

    @abstractmethod
    def splits(self, scan: BucketScan, bucket: Bucket, files: Sequence[DataFileMeta]) -> Iterable[Split]:
        """The splits of a bucket, given its files by age."""


class AppendScans(ScanLayout):
    """Scans of complete rows: every split is raw (Paimon: `AppendOnlySplitGenerator`)."""

    def splits(self, scan: BucketScan, bucket: Bucket, files: Sequence[DataFileMeta]) -> Iterable[Split]:
        return scan.raw_splits(bucket, filter(scan.wants, files))


class GroupScans(ScanLayout):
    """Scans of groups of files (Paimon: `DataEvolutionSplitGenerator`).

    Single files are raw; groups hold the files with columns that are read, and are read if one of their files is.
    """

    def splits(self, scan: BucketScan, bucket: Bucket, files: Sequence[DataFileMeta]) -> Iterable[Split]:
        table, sizes = scan.table, scan.sizes
        known, alone = file_groups(table, files)
        needed = [_needed_files(table, g, scan.columns) for g in known if any(map(scan.wants, g.files))]
        several = [g for g in needed if g.files != (g.anchor,)]
        alone = [*(g.anchor for g in needed if g.files == (g.anchor,)), *filter(scan.wants, alone)]
        yield from scan.raw_splits(bucket, alone)
        by_all = table.options.get(BLOB_SPLIT_BY_FILE_SIZE)
        if by_all is None:
            by_all = not table.options.get(BLOB_AS_DESCRIPTOR)  # descriptors are read without the blobs' bytes
        weight = (lambda g: g.size) if by_all else (lambda g: g.size_of_rows)
        for packed in pack(several, weight, sizes.target, sizes.open_cost):
            yield DataEvolutionSplit.of(bucket, packed)


def _needed_files(table: Table, group: FileGroup, columns: Collection[str] | None) -> FileGroup:
    """The group with the files that hold one of the columns; with all files if no column of the table is read."""
    wanted = {f.id for f in table.schema.fields if columns is None or f.name in columns}
    if not wanted:
        return group

    def fields_of(file: DataFileMeta) -> Sequence[DataField]:
        return stored_fields(table.schemas.get(file.schema_id), file)

    return group.holding(fields_of, wanted)


class KeyScans(ScanLayout):
    """Scans of LSM trees: files that overlap others are merged by section, unless every key is in one visible row.

    Paimon: `MergeTreeSplitGenerator`.
    """

    def splits(self, scan: BucketScan, bucket: Bucket, files: Sequence[DataFileMeta]) -> Iterable[Split]:
        table, sizes = scan.table, scan.sizes
        visible = FileLayout.of(table).visible_files(table, list(filter(scan.wants, files)))
        # Chain tables have deletes on all levels.
        if (table.read_optimized or reads_compacted(table)) and not any(f.delete_row_count for f in visible):
            yield from scan.raw_splits(bucket, visible)
            return
        sections = sections_of(table.schema, visible)
        yield from scan.raw_splits(bucket, (f for s in sections if is_raw(s) for run in s.runs for f in run))
        rest = [s for s in sections if not is_raw(s)]
        for packed in pack(rest, lambda s: s.size, sizes.target, sizes.open_cost):
            chosen = tuple(f for s in packed for run in s.runs for f in run)
            yield Split(*bucket, chosen, raw=False, sections=tuple(packed))


class ChainScans(KeyScans):
    """Scans that follow chains through other branches; those of the other branches see only their own."""

    def scanned_version(self, table: Table) -> Version:
        try:
            return super().scanned_version(table)
        except NoSuchSnapshotError:
            # The state may be empty at a time when the other branches had snapshots already.
            by_time = table.options.has(SCAN_TIMESTAMP) or table.options.has(SCAN_TIMESTAMP_MILLIS)
            if not by_time or Chain.read_by(table) is None:
                raise
            return Version(None, table.schema.id, travelled=True)

    def _files_at(self, table: Table, version: Version, predicate: Predicate | None) -> FilesToRead:
        chain = Chain.read_by(table)
        if chain is None:
            return super()._files_at(table, version, predicate)
        return files_of_chain(chain, version, predicate)
