"""Facts of a report: statistics of a table, collected read-only from its metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import PaimonError
from paimon_sql.format.text.instants import current_millis
from paimon_sql.report.history import Commit, history_of
from paimon_sql.storage.compact.file_layout import Layout, layout_of
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.maintenance.snapshots.expiration import ExpirationResult, expire_snapshots
from paimon_sql.storage.maintenance.snapshots.retained_size import RetainedSize, held_space
from paimon_sql.storage.retention.policy import retention_of
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.clock import wall_clock
from paimon_sql.system_tables.files.summary import figures_of
from paimon_sql.system_tables.formatting import partition_names

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
    has_primary_key = bool(table.schema.primary_keys)
    buckets = [
        Bucket(
            f"{partition}/bucket-{bucket}" if names is not None else f"bucket-{bucket}",
            sum(files for _, files in levels.values()),
            {level: size for level, (size, _) in sorted(levels.items())},
            sum(files if not has_primary_key or level == 0 else 1 for level, (_, files) in levels.items()),
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
        figures: the rows of ``$summary``: metric, value, number and advice.
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
    figures: Sequence[Mapping[str, object]]
    tags: Mapping[str, int]
    branches: Sequence[str]
    consumers: Mapping[str, int] = field(default_factory=dict)

    @property
    def advice(self) -> list[tuple[str, str]]:
        """The pieces of advice, each with its metric."""
        return [(str(f["metric"]), str(f["advice"])) for f in self.figures if f["advice"]]


def facts_of(table: Table, orphans: Orphans | None = None) -> Facts:
    """Collect the facts of a table.

    Args:
        table: the table or branch.
        orphans: the orphan files, if a search was made.
    """
    now = current_millis()
    latest = table.snapshots.latest()
    live = live_files(table, latest).entries
    indexes = index_entries(table, latest)
    earliest = table.snapshots.earliest_id() or 0
    layout = layout_of(table, live, indexes)
    space = held_space(table, latest, live, indexes) if latest else RetainedSize()
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
        figures=figures_of(table, latest, layout, space),
        tags={tag.name: tag.snapshot.id for tag in table.tags.all()},
        branches=table.branches.names(),
        consumers={name: consumer.next_snapshot for name, consumer in table.consumers.all().items()},
    )


def _expiry(table: Table, now: int) -> ExpirationResult | None:
    try:
        return expire_snapshots(table, retention_of(table.options, now), dry_run=True, now_millis=now)
    except PaimonError:
        return None  # the advice reports why
