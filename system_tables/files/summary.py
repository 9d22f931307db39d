"""``t$summary``: the health of the table, one row per metric, with advice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.records import Record, column
from paimon_sql.storage.compact.file_layout import Layout, layout_of
from paimon_sql.storage.data_files.live_files import live_files, manifests_of
from paimon_sql.storage.expressions.predicates import Predicate, conjuncts_on
from paimon_sql.storage.maintenance.snapshots.retained_size import RetainedSize, held_space
from paimon_sql.storage.metadata.snapshots import SnapshotView
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables import advice
from paimon_sql.system_tables.advice import Advice
from paimon_sql.system_tables.base import SystemTable
from paimon_sql.system_tables.formatting import size_text, wall_clock

_SPACE = (
    "live_size",
    "older_snapshots_size",
    "tags_size",
    "changelogs_size",
    "index_size",
    "metadata_size",
    "total_size",
)


class Summary(SystemTable):
    """The content of the latest snapshot of the branch, its history, and the space that each part retains.

    Time travel does not apply. Only metadata is read: the manifests of the latest snapshot, and the changes of the
    latest 200 snapshots and of 20 tags before them; sizes are computed only if queried. Each byte counts once; orphan
    files, and files that only other branches use, are not included. Metrics that do not apply to a type of table are
    omitted.
    """

    summary = "One row per metric of the table's health."

    class Row(Record):
        metric: str = column("name of the metric")
        value: str | None = column("the value as text; null if unknown")
        number: float | None = column("the value as a number; sizes in bytes")
        advice: str | None = column("the recommended action; null if none is needed", default=None)

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        latest = table.snapshots.latest()
        seen = SnapshotView(table.snapshots, filter(None, [latest]))
        live = live_files(table, latest).entries
        indexes = index_entries(table, latest)
        layout = layout_of(table, live, indexes)
        space = None
        if _needs_space(predicate):
            space = held_space(table, seen, latest, live, indexes) if latest else RetainedSize()
        figures = figures_of(table, seen, latest, layout, space)
        rows = (self.Row(f.metric, f.value, f.number, f.advice.text if f.advice else None) for f in figures)
        return self.of_records(rows)


@dataclass(frozen=True)
class Figure:
    """A metric of a table: a row of ``$summary``.

    Attributes:
        metric: its name.
        value: the value as text; None if unknown.
        number: the value as a number.
        advice: what to do about it; None if nothing is needed.
    """

    metric: str
    value: str | None
    number: float | None
    advice: Advice | None = None


def figures_of(
    table: Table, seen: SnapshotView, latest: Snapshot | None, layout: Layout, space: RetainedSize | None
) -> list[Figure]:
    """Compute the rows of ``$summary`` from their inputs.

    Args:
        table: the table.
        seen: its snapshots.
        latest: its latest snapshot.
        layout: the file layout of that snapshot.
        space: the retained size; None to leave these figures out.
    """
    found = [*_content(table, layout), *_shape(table, layout), *_history(table, seen, latest)]
    if space is not None:
        found += _space(table, space)
    return found


def _needs_space(predicate: Predicate | None) -> bool:
    condition = conjuncts_on(predicate, ["metric"])
    if condition is None:
        return True
    return bool(pc.any(condition.evaluate({"metric": pa.array(_SPACE, pa.string())})).as_py())


def _content(table: Table, layout: Layout) -> Iterator[Figure]:
    yield _count("records", layout.records)
    if layout.hidden is None:
        yield Figure("deleted_records", None, None)
    else:
        yield _count("deleted_records", layout.hidden, advice.deleted_records(table, layout))
    yield _count("partitions", layout.partitions)
    yield _count("buckets", layout.buckets)
    yield _count("files", layout.files)


def _shape(table: Table, layout: Layout) -> Iterator[Figure]:
    if layout.files:
        yield _size("mean_file_size", layout.bytes / layout.files)
    yield _count("small_files", layout.small, advice.small_files(table, layout))
    yield _size("largest_bucket", layout.largest_bucket, advice.bucket_sizes(table, layout))
    if not table.schema.has_key:
        return
    levels = ", ".join(f"L{level}: {files}" for level, files in layout.levels.items())
    yield Figure("levels", levels, len(layout.levels), advice.unread_files(table, layout))
    mean = layout.runs / layout.buckets if layout.buckets else 0
    yield Figure("mean_sorted_runs", f"{mean:.1f}", mean)
    yield _count("max_sorted_runs", layout.max_runs, advice.sorted_runs(table, layout))
    if layout.postponed_files:
        yield _count("postponed_files", layout.postponed_files, advice.postponed_files(table))


def _history(table: Table, seen: SnapshotView, latest: Snapshot | None) -> Iterator[Figure]:
    earliest, ids = table.snapshots.earliest_id() or 0, table.snapshots.directory.versions()
    yield _count("snapshots", sum(i >= earliest for i in ids), advice.snapshots(table, seen))
    if latest is not None:
        yield _moment("oldest_snapshot", seen.get(earliest))
        yield _moment("newest_snapshot", latest)
    yield _count("tags", len(table.tags.names()))
    yield _count("branches", len(table.branches.names()))
    yield _count("consumers", len(table.consumers.names()), advice.consumers(table, seen))
    manifests = manifests_of(table, latest) if latest else []
    yield _count("manifests", len(manifests), advice.manifests(table, manifests))


def _space(table: Table, space: RetainedSize) -> Iterator[Figure]:
    yield _size("live_size", space.live)
    yield _size("older_snapshots_size", space.older, advice.older_snapshots(table, space), space.all_snapshots)
    yield _size("tags_size", space.tags, advice.tags(table, space), space.all_tags)
    yield _size("changelogs_size", space.changelogs, None, space.all_snapshots)
    yield _size("index_size", space.indexes)
    yield _size("metadata_size", space.metadata)
    yield _size("total_size", space.total, None, space.all_snapshots and space.all_tags)


def _count(metric: str, number: int, advised: Advice | None = None) -> Figure:
    return Figure(metric, f"{number:,}", number, advised)


def _size(metric: str, size: float, advised: Advice | None = None, is_all: bool = True) -> Figure:
    return Figure(metric, size_text(size) if is_all else f"at least {size_text(size)}", size, advised)


def _moment(metric: str, snapshot: Snapshot) -> Figure:
    when = wall_clock(snapshot.time_millis).isoformat(" ", "seconds")
    return Figure(metric, f"{snapshot.id}, of {when}", snapshot.id)
