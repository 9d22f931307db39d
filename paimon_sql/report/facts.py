"""Facts of a report, collected read-only from a table's metadata: statistics, and the latest snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CorruptFileError, MissingFileError, PaimonError
from paimon_sql.format.metadata.manifest import FileKind
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
from paimon_sql.system_tables.files.summary import Summary, figures_of
from paimon_sql.system_tables.formatting import partition_names, wall_clock

_KEY = ["partition", "bucket"]


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
        buckets: the buckets, those with the most sorted runs first.
        space: the bytes of its files by what retains them.
        expiry: the result of an expiration now, as a dry run; None without snapshots, or on an error.
        orphans: the orphan files; None without a search.
        figures: the rows of ``$summary``.
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
    buckets: Sequence[Bucket]
    space: RetainedSize
    expiry: ExpirationResult | None
    orphans: Orphans | None
    figures: Sequence[Summary.Row]
    tags: Mapping[str, int]
    branches: Sequence[str]
    consumers: Mapping[str, int] = field(default_factory=dict)

    @property
    def advice(self) -> list[tuple[str, str]]:
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
        buckets=buckets_of(table, live),
        space=space,
        expiry=_expiry(table, now),
        orphans=orphans,
        figures=figures_of(table, seen, latest, layout, space),
        tags={tag.name: tag.snapshot.id for tag in table.tags.all()},
        branches=table.branches.names(),
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
        added, removed = change
        commit = Commit(snapshot.id, time, kind, snapshot.total_record_count, *added, *removed, live_bytes)
        found.append(commit)
        live_bytes -= commit.added_bytes - commit.removed_bytes
    return found[::-1]


def _change(table: Table, snapshot: Snapshot) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """The number and the size of the data files that a snapshot added, and of those that it deleted."""
    try:
        metas = table.manifests.read_list(snapshot.delta_manifest_list)
        entries = [table.manifests.read(m.file_name).select(["kind", "file_size"]) for m in metas]
    except (MissingFileError, CorruptFileError):
        return None
    return _count(entries, FileKind.ADD), _count(entries, FileKind.DELETE)


def _count(entries: Sequence[pa.Table], kind: FileKind) -> tuple[int, int]:
    sizes = [each.filter(pc.equal(each["kind"], int(kind)))["file_size"] for each in entries]
    return sum(map(len, sizes)), sum(pc.sum(each).as_py() or 0 for each in sizes)
