"""Facts of a report, collected read-only from a table's metadata: statistics, and the latest snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CorruptFileError, MissingFileError, PaimonError
from paimon_sql.format.metadata.manifest import MANIFEST_SCHEMA, FileKind
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.compact.file_layout import Layout, layout_of
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.maintenance.snapshots.expiration import ExpirationResult, expire_snapshots
from paimon_sql.storage.maintenance.snapshots.retained_size import RetainedSize, held_space
from paimon_sql.storage.metadata.snapshots import SnapshotView
from paimon_sql.storage.retention.policy import retention_of
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.advice import Advice
from paimon_sql.system_tables.files.summary import Figure, figures_of
from paimon_sql.system_tables.formatting import partition_names, wall_clock

_KEY = ["partition", "bucket"]
_CHANGE = pa.schema(
    [MANIFEST_SCHEMA.field(name) for name in ("kind", "file_name", "file_size", "creation_time_millis")]
)
_MAX_SECONDS = 86_400.0


@dataclass(frozen=True)
class Bucket:
    """A bucket of a partition.

    Attributes:
        label: the partition and the bucket, as ``dt=a/bucket-0``.
        files: its data files.
        levels: the bytes by level.
        runs: the number of sorted runs that a read merges; without a primary key, of files that it opens.
    """

    label: str
    files: int
    levels: Mapping[int, int]
    runs: int

    @property
    def bytes(self) -> int:
        """The size of its files."""
        return sum(self.levels.values())


def buckets_of(table: Table, entries: pa.Table) -> list[Bucket]:
    """Return the buckets with files, those with the most sorted runs first, without postponed buckets.

    Args:
        table: the table.
        entries: its live files, as a table of ``MANIFEST_SCHEMA``.
    """
    bucketed = entries.filter(pc.greater_equal(entries["bucket"], 0))
    if not len(bucketed):
        return []
    names = partition_names(table.schema, bucketed["partition"]) if table.schema.partition_keys else None
    grouped = bucketed.select([*_KEY, "level", "file_size"])
    if names is not None:
        grouped = grouped.set_column(0, "partition", names)
    by_level = grouped.group_by([*_KEY, "level"]).aggregate([("file_size", "sum"), ("file_size", "count")])
    found: dict[tuple[object, int], dict[int, tuple[int, int]]] = {}
    for row in by_level.to_pylist():
        levels = found.setdefault((row["partition"], row["bucket"]), {})
        levels[row["level"]] = (row["file_size_sum"], row["file_size_count"])
    buckets = [
        Bucket(
            f"{partition}/bucket-{bucket}" if names is not None else f"bucket-{bucket}",
            sum(files for _, files in levels.values()),
            {level: size for level, (size, _) in sorted(levels.items())},
            sum(files if not table.schema.has_key or level == 0 else 1 for level, (_, files) in levels.items()),
        )
        for (partition, bucket), levels in found.items()
    ]
    return sorted(buckets, key=lambda b: (-b.runs, -b.bytes, b.label))


@dataclass(frozen=True)
class Partition:
    """A partition.

    Attributes:
        label: its name, as ``dt=a/h=1``.
        files: the number of its live data files.
        bytes: their size.
    """

    label: str
    files: int
    bytes: int


def partitions_of(table: Table, entries: pa.Table) -> list[Partition]:
    """Return the partitions with files, the largest first; empty for a table without partition keys.

    Args:
        table: the table.
        entries: its live files, as a table of ``MANIFEST_SCHEMA``.
    """
    if not table.schema.partition_keys:
        return []
    names = partition_names(table.schema, entries["partition"])
    grouped = pa.table({"name": names, "size": entries["file_size"]}).group_by("name")
    rows = grouped.aggregate([("size", "sum"), ("size", "count")]).to_pylist()
    found = [Partition(row["name"], row["size_count"], row["size_sum"]) for row in rows]
    return sorted(found, key=lambda p: (-p.bytes, p.label))


@dataclass(frozen=True)
class Mark:
    """A tag, at the time of its snapshot, or a branch, at the time of its creation, in local time."""

    name: str
    time: datetime
    is_branch: bool = False


@dataclass(frozen=True)
class Orphans:
    """The result of a search for orphan files."""

    files: int
    bytes: int


@dataclass(frozen=True)
class Facts:
    """The facts of a table at one moment.

    Attributes:
        name: the table's name.
        path: its path.
        time: the moment, in local time.
        keys: its primary keys.
        partition_keys: its partition keys.
        options: its options.
        commits: its latest snapshots, oldest first.
        snapshots: the number of retained snapshots.
        sizes: the sizes of its live data files in bytes.
        layout: the statistics of their layout.
        packs_small_files: whether compaction packs small files, as in append tables.
        buckets: the buckets, those with the most sorted runs first.
        partitions: the partitions, the largest first; empty for a table without partition keys.
        space: the bytes of its files by what retains them.
        expiry: the result of an expiration now, as a dry run; None without snapshots, or on an error.
        orphans: the orphan files; None without a search.
        figures: the rows of ``$summary``.
        marks: tags and branches by time.
        tags: the snapshots of tags, by name.
        branches: the names of the branches.
        consumers: the next snapshots of consumers, by name.
    """

    name: str
    path: str
    time: datetime
    keys: Sequence[str]
    partition_keys: Sequence[str]
    options: Mapping[str, str]
    commits: Sequence[Commit]
    snapshots: int
    sizes: pa.ChunkedArray
    layout: Layout
    packs_small_files: bool
    buckets: Sequence[Bucket]
    partitions: Sequence[Partition]
    space: RetainedSize
    expiry: ExpirationResult | None
    orphans: Orphans | None
    figures: Sequence[Figure]
    marks: Sequence[Mark]
    tags: Mapping[str, int]
    branches: Sequence[str]
    consumers: Mapping[str, int] = field(default_factory=dict)

    @property
    def advice(self) -> list[tuple[str, Advice]]:
        """The pieces of advice, each with its metric."""
        return [(f.metric, f.advice) for f in self.figures if f.advice]


def facts_of(table: Table, orphans: Orphans | None = None) -> Facts:
    """Collect the facts of a table.

    Args:
        table: the table or branch.
        orphans: the orphan files, if a search was made.
    """
    now = current_millis()
    latest = table.snapshots.latest()
    seen = SnapshotView(table.snapshots, filter(None, [latest]))
    live = live_files(table, latest).entries
    indexes = index_entries(table, latest)
    earliest = table.snapshots.earliest_id() or 0
    layout = layout_of(table, live, indexes)
    space = held_space(table, seen, latest, live, indexes) if latest else RetainedSize()
    tags, branches = table.tags.all(), table.branches.all()
    marks = [Mark(tag.name, wall_clock(tag.snapshot.time_millis)) for tag in tags]
    marks += [Mark(branch.name, wall_clock(branch.time_millis), is_branch=True) for branch in branches]
    return Facts(
        name=table.name,
        path=table.path,
        time=wall_clock(now),
        keys=table.schema.primary_keys,
        partition_keys=table.schema.partition_keys,
        options=dict(sorted(table.schema.options.items())),
        commits=history_of(table, space.live),
        snapshots=sum(i >= earliest for i in table.snapshots.directory.versions()),
        sizes=live["file_size"],
        layout=layout,
        packs_small_files=not table.schema.has_key and not table.layout.groups_files,
        buckets=buckets_of(table, live),
        partitions=partitions_of(table, live),
        space=space,
        expiry=_expiry(table, now),
        orphans=orphans,
        figures=figures_of(table, seen, latest, layout, space),
        marks=sorted(marks, key=lambda mark: mark.time),
        tags={tag.name: tag.snapshot.id for tag in tags},
        branches=[branch.name for branch in branches],
        consumers={name: consumer.next_snapshot for name, consumer in table.consumers.all().items()},
    )


def _expiry(table: Table, now: int) -> ExpirationResult | None:
    try:
        return expire_snapshots(table, retention_of(table.options, now), dry_run=True, now_millis=now)
    except PaimonError:
        return None  # the advice reports why


MAX_SNAPSHOTS = 500
"""The max number of latest snapshots in a report."""
_THREADS = 8


@dataclass(frozen=True)
class Commit:
    """A snapshot and its changes.

    Attributes:
        id: its id.
        time: its commit time, in local time.
        kind: APPEND, COMPACT, OVERWRITE or ANALYZE.
        records: the records in all live files after it, before merging; None if not recorded.
        added_files: the number of data files that it added.
        added_bytes: their size.
        removed_files: the number of data files that it deleted.
        removed_bytes: their size.
        live_bytes: the size of all live files after it.
        seconds: the time from its first new data file to the snapshot; None if it is unknown.
    """

    id: int
    time: datetime
    kind: str
    records: int | None
    added_files: int
    added_bytes: int
    removed_files: int
    removed_bytes: int
    live_bytes: int
    seconds: float | None = None


def history_of(table: Table, live_bytes: int) -> list[Commit]:
    """Return the latest snapshots, oldest first, without those that expire concurrently.

    Args:
        table: the table or branch.
        live_bytes: the size of the live files of the latest snapshot.
    """
    earliest = table.snapshots.earliest_id() or 0
    snapshots = [s for s in table.snapshots.listed() if s.id >= earliest][-MAX_SNAPSHOTS:]
    threads = table.file_io.threads_for(table.path, len(snapshots), _THREADS)
    changes = map_in_threads(lambda snapshot: _change(table, snapshot), snapshots, threads)
    found: list[Commit] = []
    for snapshot, change in zip(reversed(snapshots), reversed(changes), strict=True):
        if change is None:
            break  # it expired concurrently, with all older ones
        time, kind = wall_clock(snapshot.time_millis), snapshot.commit_kind.value
        added, removed = (_count(change, of) for of in (FileKind.ADD, FileKind.DELETE))
        counts = (snapshot.total_record_count, *added, *removed, live_bytes)
        commit = Commit(snapshot.id, time, kind, *counts, _seconds(change, time))
        found.append(commit)
        live_bytes -= commit.added_bytes - commit.removed_bytes
    return found[::-1]


def _change(table: Table, snapshot: Snapshot) -> pa.Table | None:
    """The data files that a snapshot added and deleted; None if it has expired."""
    try:
        metas = table.manifests.read_list(snapshot.delta_manifest_list)
        entries = [table.manifests.read(m.file_name).select(_CHANGE.names) for m in metas]
    except (MissingFileError, CorruptFileError):
        return None
    return pa.concat_tables(entries) if entries else _CHANGE.empty_table()


def _count(change: pa.Table, kind: FileKind) -> tuple[int, int]:
    sizes = change.filter(pc.equal(change["kind"], int(kind)))["file_size"]
    return len(sizes), pc.sum(sizes).as_py() or 0


def _seconds(change: pa.Table, committed: datetime) -> float | None:
    """The time from the first new data file to the commit; a file that was only moved to another level is not new."""
    deleted = change.filter(pc.equal(change["kind"], int(FileKind.DELETE)))["file_name"]
    new = change.filter(pc.invert(pc.is_in(change["file_name"], value_set=deleted)))
    first = pc.min(new["creation_time_millis"]).as_py()
    if first is None:
        return None
    seconds = (committed - datetime(1970, 1, 1) - timedelta(milliseconds=first)).total_seconds()
    # Files that were written long before were moved here, and a clock may have changed to or from summer time.
    return seconds if 0 <= seconds < _MAX_SECONDS else None
