"""The files of a read: of the table's own branch, of the branches that its options name, and of chains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import ManifestEntry, entries
from paimon_sql.format.options.operations.scan import (
    CHAIN_TABLE_SPLIT_KEY_RANGE_ENABLED,
    SCAN_BUCKET,
    SCAN_FALLBACK_DELTA_BRANCH,
    SCAN_FALLBACK_SNAPSHOT_BRANCH,
)
from paimon_sql.storage.branches.chains import Chain, Timeline
from paimon_sql.storage.data_files.layout import FileLayout
from paimon_sql.storage.data_files.live_files import (
    Deletion,
    LiveFiles,
    ScanMetrics,
    deletions_of,
    live_files,
    partition_predicate,
)
from paimon_sql.storage.data_files.lsm_tree import sections_of
from paimon_sql.storage.expressions.predicates import Predicate, all_of, conjuncts
from paimon_sql.storage.scan.branches.fallback import (
    BranchFiles,
    files_beside,
    files_of_branches,
    without,
)
from paimon_sql.storage.scan.split import Origin, Split, pack
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import Version


def in_scanned_bucket(table: Table, entries: pa.Table) -> pa.Table:
    """The entries of the bucket that the read names; all entries if it names none.

    Args:
        table: the table, under the options of the read.
        entries: entries of manifests.
    """
    bucket = table.options.get(SCAN_BUCKET)
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
    """The files of a read of a chain table.

    Attributes:
        single_branch: the files of partitions that are read from one branch, by branch.
        snapshots: the files of the snapshot branch.
        deltas: the files of the delta branch.
        chained: the partitions that are read as chains.
    """

    single_branch: list[BranchFiles]
    snapshots: BranchFiles
    deltas: BranchFiles
    chained: list[ChainedPartition]

    @property
    def metrics(self) -> list[ScanMetrics]:
        """The metrics of the scan, one per branch."""
        used = [t for c in self.chained for _, _, t in c.files]
        read = ScanMetrics(
            files=self.deltas.live.metrics.files,
            manifests=self.deltas.live.metrics.manifests,
            manifests_read=self.deltas.live.metrics.manifests_read,
            files_read=sum(map(len, used)),
            bytes_read=sum(pc.sum(t["file_size"]).as_py() or 0 for t in used),
        )
        return [*(part.live.metrics for part in self.single_branch), read]

    def splits(self, size: int, since_millis: int | None) -> Iterator[Split]:
        """The splits of the chained partitions.

        Args:
            size: the target bytes of a split.
            since_millis: older files are skipped; None for all.
        """
        deletions = {
            part.table.branch: deletions_of(part.table, part.snapshot) for part in (self.snapshots, self.deltas)
        }
        for chained in self.chained:
            yield from _splits(self.deltas.table, chained, deletions, size, since_millis)


def files_of_chain(chain: Chain, version: Version, predicate: Predicate | None) -> ChainFiles:
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
    snapshots = files_beside(table, version, chain.snapshots(), SCAN_FALLBACK_SNAPSHOT_BRANCH.key, predicate)
    deltas = files_beside(table, version, chain.deltas(), SCAN_FALLBACK_DELTA_BRANCH.key, by_partition)
    snapshots = replace(snapshots, live=without(snapshots.live, present))
    taken = present.partitions + live_files(snapshots.table, snapshots.snapshot, by_partition).partitions
    wanted = sorted(set(deltas.live.partitions).difference(taken))
    return ChainFiles(
        [own, snapshots], snapshots, deltas, chained_partitions(chain, snapshots, deltas, wanted, predicate)
    )


def chained_partitions(
    chain: Chain,
    snapshots: BranchFiles,
    deltas: BranchFiles,
    wanted: Iterable[bytes],
    predicate: Predicate | None = None,
) -> list[ChainedPartition]:
    """Partitions of the delta branch with the files of their chains.

    Args:
        chain: the chains.
        snapshots: the state of the snapshot branch.
        deltas: the state of the delta branch.
        wanted: the partitions.
        predicate: the condition on rows; its parts on partition columns are ignored, for a chain has other partitions.
    """
    places = chain.places(wanted)
    if not places:
        return []
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
    return found


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


def _splits(
    deltas: Table,
    chained: ChainedPartition,
    deletions: Mapping[str, Mapping[tuple[bytes, int, str], Deletion]],
    size: int,
    since_millis: int | None,
) -> Iterator[Split]:
    """The splits of one partition; rows are merged by the delta branch's options."""
    buckets: dict[int, list[tuple[int, Origin, DataFileMeta]]] = {}
    totals: set[int] = set()
    for age, (owner, partition, files_of_link) in enumerate(chained.files):
        origin = Origin(owner, partition)
        for bucket, in_bucket in _by_bucket(entries(files_of_link), totals, since_millis).items():
            if visible := FileLayout.of(owner).visible_files(owner, in_bucket):
                buckets.setdefault(bucket, []).extend((age, origin, f) for f in visible)
    if len(totals) > 1:
        raise UnsupportedError(
            f"{deltas.name}: the partitions that make up {PartitionPaths.of(deltas.schema).name(chained.partition)}"
            f" have different numbers of buckets: {', '.join(map(str, sorted(totals)))}.",
            remedy="CALL sys.rescale, so that all of both branches have the same.",
        )
    target = size if deltas.options.get(CHAIN_TABLE_SPLIT_KEY_RANGE_ENABLED) else _WHOLE_BUCKET
    for bucket, members in buckets.items():
        ages, origins, files = zip(*members, strict=True)
        by_name = {f.file_name: origin for f, origin in zip(files, origins, strict=True)}
        for packed in pack(sections_of(deltas.schema, files, ages), lambda s: s.size, target):
            chosen = tuple(f for s in packed for run in s.runs for f in run)
            theirs = {f.file_name: by_name[f.file_name] for f in chosen}
            keys = {name: (o.partition, bucket, name) for name, o in theirs.items()}
            found = {name: deletions[theirs[name].table.branch].get(key) for name, key in keys.items()}
            yield Split(
                chained.partition,
                bucket,
                chosen,
                raw=False,
                sections=tuple(packed),
                deletions={name: d for name, d in found.items() if d is not None},
                table=deltas,
                origins=theirs,
            )


def _by_bucket(
    files: Iterable[ManifestEntry], totals: set[int], since_millis: int | None
) -> dict[int, list[DataFileMeta]]:
    found: dict[int, list[DataFileMeta]] = {}
    for e in files:
        totals.add(e.total_buckets)
        if since_millis is None or (e.file.creation_epoch_millis() or 0) >= since_millis:
            found.setdefault(e.bucket, []).append(e.file)
    return found


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


def files_to_read(table: Table, version: Version, predicate: Predicate | None) -> FilesToRead:
    """The files of a read of a table without chains; arguments and errors as `files_of_branches`."""
    return FilesToRead(version, _of_bucket(table, files_of_branches(table, version, predicate)))


def files_to_chain(chain: Chain, version: Version, predicate: Predicate | None) -> FilesToRead:
    """The files of a read of a chain table; arguments and errors as `files_of_chain`."""
    table, found = chain.table, files_of_chain(chain, version, predicate)
    chained = [
        replace(c, files=[(owner, partition, in_scanned_bucket(table, files)) for owner, partition, files in c.files])
        for c in found.chained
    ]
    found = replace(found, single_branch=_of_bucket(table, found.single_branch), chained=chained)
    return FilesToRead(version, found.single_branch, found)


def _of_bucket(table: Table, parts: list[BranchFiles]) -> list[BranchFiles]:
    return [replace(part, live=live_in_scanned_bucket(table, part.live)) for part in parts]


def newest_entries(table: Table, chain: Chain | None = None) -> pa.Table:
    """The entries of all files that a read of the newest state uses, from all branches, those of chains included."""
    newest = Version(table.snapshots.latest(), table.schema.id)
    if chain is None:
        return pa.concat_tables([part.live.entries for part in files_of_branches(table, newest, None)])
    found = files_of_chain(chain, newest, None)
    return pa.concat_tables([part.live.entries for part in (*found.single_branch, found.deltas)])
