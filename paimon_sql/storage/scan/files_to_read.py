"""The files of a read: of the table's own branch, of the branches that its options name, and of chains.

A partition is read from one branch only. With ``scan.fallback-branch`` and ``scan.primary-branch`` that is the first
branch if it has a file there, else the other (Paimon: `FallbackReadFileStoreTable`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidOptionError, UnsupportedError
from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.operations import scan
from paimon_sql.format.text.instants import parse_instant
from paimon_sql.storage.branches.chains import Chain, Timeline
from paimon_sql.storage.branches.selection import NAMING_OPTIONS, branch_of_option
from paimon_sql.storage.data_files.layout import FileLayout
from paimon_sql.storage.data_files.live_files import (
    Deletion,
    LiveFiles,
    ScanMetrics,
    by_bucket,
    deletions_of,
    live_files,
    partition_predicate,
)
from paimon_sql.storage.data_files.lsm_tree import sections_of
from paimon_sql.storage.expressions.predicates import Predicate, all_of, conjuncts
from paimon_sql.storage.metadata.snapshots import SnapshotView
from paimon_sql.storage.scan.split import Origin, Split, pack
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import Version, version_to_read

OTHER_BRANCHES = frozenset(option.key for option in NAMING_OPTIONS)
"""The options that name another branch to read together with the table's own."""


@dataclass(frozen=True)
class BranchFiles:
    """The files of a read from one branch."""

    table: Table
    snapshot: Snapshot | None
    live: LiveFiles


def files_of_branches(table: Table, version: Version, predicate: Predicate | None) -> list[BranchFiles]:
    """The files of a read: of the table's own branch, and of the one that its options name, if any.

    Args:
        table: the table, under the options of the read.
        version: the state that is read.
        predicate: the condition.

    Raises:
        InvalidOptionError: the other branch does not exist or has other columns.
    """
    own = BranchFiles(table, version.snapshot, live_files(table, version.snapshot, predicate))
    option = scan.SCAN_FALLBACK_BRANCH if table.options.get(scan.SCAN_FALLBACK_BRANCH) else scan.SCAN_PRIMARY_BRANCH
    name = table.options.get(option)
    if not name or name == table.branch:
        return [own]
    other = branch_of_option(table, name, option.key)
    options = {k: v for k, v in other.schema.options.items() if k not in OTHER_BRANCHES}
    other = replace(other, schema=replace(other.schema, options=options))
    read = files_beside(table, version, other, option.key, predicate)
    first, second = (own, read) if option is scan.SCAN_FALLBACK_BRANCH else (read, own)
    # A partition counts as present even if none of its rows satisfies the condition.
    present = live_files(first.table, first.snapshot, partition_predicate(first.table, predicate))
    return [first, replace(second, live=without(second.live, present))]


def files_beside(table: Table, version: Version, other: Table, key: str, predicate: Predicate | None) -> BranchFiles:
    """The files of another branch, at the time of the table's own state, or at the time that the options name.

    Raises:
        InvalidOptionError: it has other columns; ``key`` is the option that names it.
    """
    snapshot = _snapshot_of_other_branch(table, version, other)
    if version.snapshot is not None and version.travelled and snapshot is not None:
        other = other.at_schema(snapshot.schema_id)
    check_columns(table, other, key)
    return BranchFiles(other, snapshot, live_files(other, snapshot, predicate))


def _snapshot_of_other_branch(table: Table, version: Version, other: Table) -> Snapshot | None:
    """The other branch's snapshot at the time of the table's, as snapshot ids and tags are per branch; None without."""
    if not version.travelled or version.created_from_millis is not None:
        return version_to_read(other.with_options({scan.SCAN_MODE.key: table.options.get(scan.SCAN_MODE)})).snapshot
    millis, text = table.options.get(scan.SCAN_TIMESTAMP_MILLIS), table.options.get(scan.SCAN_TIMESTAMP)
    if text is not None:
        millis = parse_instant(text)
    if millis is None:
        millis = version.snapshot.time_millis if version.snapshot else 0
    return SnapshotView(other.snapshots).at_time(millis)


def check_columns(table: Table, other: Table, key: str) -> None:
    """Check that both branches have the same columns, nullability aside.

    Raises:
        InvalidOptionError: they differ.
    """
    one, two = ([(f.name, f.type.as_nullable().sql()) for f in t.schema.fields] for t in (table, other))
    if one != two or table.schema.partition_keys != other.schema.partition_keys:
        shown = (", ".join(f"{name} {kind}" for name, kind in columns) for columns in (one, two))
        raise InvalidOptionError(
            f"'{key}' needs the same columns in both branches, but {table.name} and {other.name} have"
            f" ({') and ('.join(shown)}).",
            key=key,
            remedy="Make the same changes to both.",
        )


def without(live: LiveFiles, held: LiveFiles) -> LiveFiles:
    """The files of partitions that another read has no file of."""
    taken = held.entries["partition"].combine_chunks().unique()
    return live.narrowed(live.entries.filter(pc.invert(pc.is_in(live.entries["partition"], value_set=taken))))


def in_scanned_bucket(table: Table, entries: pa.Table) -> pa.Table:
    """The entries of the bucket that the read names; all entries if it names none.

    Args:
        table: the table, under the options of the read.
        entries: entries of manifests.
    """
    bucket = table.options.get(scan.SCAN_BUCKET)
    return entries if bucket is None else entries.filter(pc.equal(entries["bucket"], bucket))


def live_in_scanned_bucket(table: Table, live: LiveFiles) -> LiveFiles:
    """The live files of the bucket that the read names, as `in_scanned_bucket`."""
    entries = in_scanned_bucket(table, live.entries)
    return live if entries is live.entries else live.narrowed(entries)


_WHOLE_BUCKET = 1 << 62


@dataclass(frozen=True)
class ChainedPartition:
    """A partition that is read as a chain: files of one full partition, if there is one, and of those with changes.

    Attributes:
        partition: the partition of the resulting rows.
        files: branch, partition and files that may hold wanted rows, the oldest first.
    """

    partition: bytes
    files: list[tuple[Table, bytes, pa.Table]]


@dataclass(frozen=True)
class ChainFiles:
    """The files of the partitions that are read as chains.

    Attributes:
        snapshots: the files of the snapshot branch.
        deltas: the files of the delta branch.
        chained: the partitions.
    """

    snapshots: BranchFiles
    deltas: BranchFiles
    chained: list[ChainedPartition]

    @classmethod
    def of(
        cls,
        chain: Chain,
        snapshots: BranchFiles,
        deltas: BranchFiles,
        wanted: Iterable[bytes],
        predicate: Predicate | None = None,
    ) -> ChainFiles:
        """The files of partitions of the delta branch, with those of their chains.

        Args:
            chain: the chains.
            snapshots: the state of the snapshot branch.
            deltas: the state of the delta branch.
            wanted: the partitions.
            predicate: the condition on rows; its parts on partition columns are ignored, for a chain has other
                partitions.
        """
        places = chain.places(wanted)
        if not places:
            return cls(snapshots, deltas, [])
        keys = set(chain.table.schema.partition_keys)
        of_rows = all_of([p for p in conjuncts(predicate) if not p.columns() & keys])
        every = [live_files(part.table, part.snapshot) for part in (snapshots, deltas)]
        some = [live_files(part.table, part.snapshot, of_rows) for part in (snapshots, deltas)] if of_rows else every
        timeline = Timeline(chain, *(live.partitions for live in every))
        full, changed = (_by_partition(live) for live in some)
        found = []
        for place in places:
            anchor = timeline.anchor(place)
            files = [(snapshots.table, anchor.partition, full.get(anchor.partition))] if anchor else []
            files += [(deltas.table, p.partition, changed.get(p.partition)) for p in timeline.links(place)]
            present = [(owner, partition, theirs) for owner, partition, theirs in files if theirs is not None]
            found.append(ChainedPartition(place.partition, present))
        return cls(snapshots, deltas, found)

    @property
    def metrics(self) -> ScanMetrics:
        """The metrics of the scan of the delta branch, and the files of the chains."""
        used = [t for c in self.chained for _, _, t in c.files]
        files_read, bytes_read = sum(map(len, used)), sum(pc.sum(t["file_size"]).as_py() or 0 for t in used)
        return replace(self.deltas.live.metrics, files_read=files_read, bytes_read=bytes_read)

    def splits(self, size: int, since_millis: int | None) -> Iterator[Split]:
        """The splits of the chained partitions; rows are merged by the delta branch's options.

        Args:
            size: the target bytes of a split.
            since_millis: older files are skipped; None for all.
        """
        branches = (self.snapshots, self.deltas)
        deletions = {part.table.branch: deletions_of(part.table, part.snapshot) for part in branches}
        for chained in self.chained:
            yield from self._splits(chained, deletions, size, since_millis)

    def _splits(
        self,
        chained: ChainedPartition,
        deletions: Mapping[str, Mapping[tuple[bytes, int, str], Deletion]],
        size: int,
        since_millis: int | None,
    ) -> Iterator[Split]:
        merged_by = self.deltas.table
        buckets: dict[int, list[tuple[int, Origin, DataFileMeta]]] = {}
        totals: set[int] = set()
        for age, (owner, partition, files_of_link) in enumerate(chained.files):
            found, origin = entries(files_of_link), Origin(owner, partition)
            totals.update(e.total_buckets for e in found)
            for (_, bucket), in_bucket in by_bucket(e for e in found if was_created(e.file, since_millis)).items():
                if visible := FileLayout.of(owner).visible_files(owner, in_bucket):
                    buckets.setdefault(bucket, []).extend((age, origin, f) for f in visible)
        if len(totals) > 1:
            raise UnsupportedError(
                f"{merged_by.name}: the partitions that make up"
                f" {PartitionPaths.of(merged_by.schema).name(chained.partition)} have different numbers of buckets:"
                f" {', '.join(map(str, sorted(totals)))}.",
                remedy="CALL sys.rescale, so that all of both branches have the same.",
            )
        target = size if merged_by.options.get(scan.CHAIN_TABLE_SPLIT_KEY_RANGE_ENABLED) else _WHOLE_BUCKET
        for bucket, members in buckets.items():
            ages, origins, files = zip(*members, strict=True)
            by_name = {f.file_name: origin for f, origin in zip(files, origins, strict=True)}
            for packed in pack(sections_of(merged_by.schema, files, ages), lambda s: s.size, target):
                chosen = tuple(f for s in packed for run in s.runs for f in run)
                theirs = {f.file_name: by_name[f.file_name] for f in chosen}
                marked = {n: deletions[o.table.branch].get((o.partition, bucket, n)) for n, o in theirs.items()}
                yield Split(
                    chained.partition,
                    bucket,
                    chosen,
                    raw=False,
                    sections=tuple(packed),
                    deletions={name: d for name, d in marked.items() if d is not None},
                    table=merged_by,
                    origins=theirs,
                )


def was_created(file: DataFileMeta, since_millis: int | None) -> bool:
    """Whether a file was created at a time or later; None is the beginning."""
    return since_millis is None or (file.creation_epoch_millis() or 0) >= since_millis


def _by_partition(live: LiveFiles) -> dict[bytes, pa.Table]:
    encoded = live.entries["partition"].combine_chunks().dictionary_encode()
    numbers = encoded.indices.to_numpy()
    order = np.argsort(numbers, kind="stable")
    starts = np.searchsorted(numbers[order], np.arange(len(encoded.dictionary) + 1))
    ordered = live.entries.take(pa.array(order))
    return {
        partition: ordered.slice(start, end - start)
        for partition, (start, end) in zip(encoded.dictionary.to_pylist(), pairwise(starts.tolist()), strict=True)
    }


@dataclass(frozen=True)
class FilesToRead:
    """The files of a read.

    Attributes:
        version: the state of the table's own branch.
        parts: the files of partitions that are read from one branch, by branch.
        chain: the partitions that are read as chains; None if the table has no chains.
    """

    version: Version
    parts: list[BranchFiles]
    chain: ChainFiles | None = None

    @property
    def metrics(self) -> ScanMetrics:
        """The metrics of the scans of all branches."""
        return reduce(add, [*(part.live.metrics for part in self.parts), *([self.chain.metrics] if self.chain else [])])

    def in_scanned_bucket(self, table: Table) -> FilesToRead:
        """The files of the bucket that the read names, as `in_scanned_bucket`."""
        parts = [replace(part, live=live_in_scanned_bucket(table, part.live)) for part in self.parts]
        if self.chain is None:
            return replace(self, parts=parts)
        chained = [
            replace(c, files=[(owner, partition, in_scanned_bucket(table, t)) for owner, partition, t in c.files])
            for c in self.chain.chained
        ]
        return replace(self, parts=parts, chain=replace(self.chain, chained=chained))


def files_of_chain(chain: Chain, version: Version, predicate: Predicate | None) -> FilesToRead:
    """The files of a read of a chain table.

    A partition is read from the table's own branch if it is there, else from the snapshot branch, else as a chain.

    Args:
        chain: the chains.
        version: the state of the table's own branch.
        predicate: the condition.

    Raises:
        InvalidOptionError: a branch does not exist or has other columns.
    """
    table = chain.table
    by_partition = partition_predicate(table, predicate)
    own = BranchFiles(table, version.snapshot, live_files(table, version.snapshot, predicate))
    present = live_files(table, version.snapshot, by_partition)
    snapshots = files_beside(table, version, chain.snapshots(), scan.SCAN_FALLBACK_SNAPSHOT_BRANCH.key, predicate)
    deltas = files_beside(table, version, chain.deltas(), scan.SCAN_FALLBACK_DELTA_BRANCH.key, by_partition)
    snapshots = replace(snapshots, live=without(snapshots.live, present))
    taken = present.partitions + live_files(snapshots.table, snapshots.snapshot, by_partition).partitions
    wanted = sorted(set(deltas.live.partitions).difference(taken))
    return FilesToRead(version, [own, snapshots], ChainFiles.of(chain, snapshots, deltas, wanted, predicate))
