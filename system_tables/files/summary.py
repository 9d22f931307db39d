"""``t$summary``: the health of the table, one row per figure, with advice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import DoubleType, string_type
from paimon_sql.storage.compact.file_layout import Layout, layout_of
from paimon_sql.storage.data_files.live_files import live_files, manifests_of
from paimon_sql.storage.expressions.predicates import Predicate, conjuncts_on
from paimon_sql.storage.maintenance.snapshots.retained_size import RetainedSize, held_space
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables import advice
from paimon_sql.system_tables.base import SystemTable, column
from paimon_sql.system_tables.clock import wall_clock
from paimon_sql.system_tables.formatting import size_text

_SPACE = (
    "live_size",
    "older_snapshots_size",
    "tags_size",
    "changelogs_size",
    "index_size",
    "metadata_size",
    "total_size",
)


@dataclass(frozen=True)
class _Figure:
    metric: str
    value: str | None
    number: float | None
    advice: str | None = None


class Summary(SystemTable):
    """What the newest snapshot of the branch consists of, its history, and what space is held by what.

    Time travel does not apply to it. It is told from metadata: the manifests of the newest snapshot, and what the
    newest 200 snapshots and 20 tags before them took away or keep; the space is worked out only for those who ask. Each
    byte counts once; neither orphan files nor what other branches alone hold are among them. Rows that say nothing of
    this kind of table are left out.
    """

    name = "summary"
    summary = "One row per figure that tells whether the table is well."
    columns = (
        column("metric", string_type(False), "what the figure is"),
        column("value", string_type(), "the figure to be read; null where it is not known"),
        column("number", DoubleType(), "the figure to be counted with; sizes are bytes"),
        column("advice", string_type(), "what could be done about it; null where nothing need be done"),
    )

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        latest = table.snapshots.latest()
        live = live_files(table, latest).entries
        indexes = index_entries(table, latest)
        layout = layout_of(table, live, indexes)
        space = None
        if _asks_for_space(predicate):
            space = held_space(table, latest, live, indexes) if latest else RetainedSize()
        return pa.Table.from_pylist(figures_of(table, latest, layout, space), schema=arrow_schema(self.columns))


def figures_of(
    table: Table, latest: Snapshot | None, layout: Layout, space: RetainedSize | None
) -> list[dict[str, Any]]:
    """Compute the rows of ``$summary`` from their inputs.

    Args:
        table: the table.
        latest: its latest snapshot.
        layout: the file layout of that snapshot.
        space: the retained size; None to leave these figures out.
    """
    found = [*_content(table, layout), *_shape(table, layout), *_history(table, latest)]
    if space is not None:
        found += _space(table, space)
    return [asdict(f) for f in found]


def _asks_for_space(predicate: Predicate | None) -> bool:
    condition = conjuncts_on(predicate, ["metric"])
    if condition is None:
        return True
    return bool(pc.any(condition.evaluate({"metric": pa.array(_SPACE, pa.string())})).as_py())


def _content(table: Table, layout: Layout) -> Iterator[_Figure]:
    yield _count("records", layout.records)
    if layout.hidden is None:
        yield _Figure("deleted_records", None, None)
    else:
        yield _count("deleted_records", layout.hidden, advice.deleted_records(table, layout))
    yield _count("partitions", layout.partitions)
    yield _count("buckets", layout.buckets)
    yield _count("files", layout.files)


def _shape(table: Table, layout: Layout) -> Iterator[_Figure]:
    if layout.files:
        yield _size("mean_file_size", layout.bytes / layout.files)
    yield _count("small_files", layout.small, advice.small_files(table, layout))
    yield _size("largest_bucket", layout.largest_bucket, advice.bucket_sizes(table, layout))
    if not table.schema.primary_keys:
        return
    levels = ", ".join(f"L{level}: {files}" for level, files in layout.levels.items())
    yield _Figure("levels", levels, len(layout.levels), advice.unread_files(table, layout))
    mean = layout.runs / layout.buckets if layout.buckets else 0
    yield _Figure("mean_sorted_runs", f"{mean:.1f}", mean)
    yield _count("most_sorted_runs", layout.max_runs, advice.sorted_runs(table, layout))
    if layout.postponed_files:
        yield _count("waiting_files", layout.postponed_files, advice.postponed_files(table))


def _history(table: Table, latest: Snapshot | None) -> Iterator[_Figure]:
    earliest, ids = table.snapshots.earliest_id() or 0, table.snapshots.directory.versions()
    yield _count("snapshots", sum(i >= earliest for i in ids), advice.snapshots(table))
    if latest is not None:
        yield _moment("oldest_snapshot", table.snapshots.get(earliest))
        yield _moment("newest_snapshot", latest)
    yield _count("tags", len(table.tags.names()))
    yield _count("branches", len(table.branches.names()))
    yield _count("consumers", len(table.consumers.names()), advice.consumers(table))
    manifests = manifests_of(table, latest) if latest else []
    yield _count("manifests", len(manifests), advice.manifests(table, manifests))


def _space(table: Table, space: RetainedSize) -> Iterator[_Figure]:
    yield _size("live_size", space.live)
    yield _size("older_snapshots_size", space.older, advice.older_snapshots(table, space), space.all_snapshots)
    yield _size("tags_size", space.tags, advice.tags(table, space), space.all_tags)
    yield _size("changelogs_size", space.changelogs, None, space.all_snapshots)
    yield _size("index_size", space.indexes)
    yield _size("metadata_size", space.metadata)
    yield _size("total_size", space.total, None, space.all_snapshots and space.all_tags)


def _count(metric: str, number: int, advised: str | None = None) -> _Figure:
    return _Figure(metric, f"{number:,}", number, advised)


def _size(metric: str, size: float, advised: str | None = None, is_all: bool = True) -> _Figure:
    return _Figure(metric, size_text(size) if is_all else f"at least {size_text(size)}", size, advised)


def _moment(metric: str, snapshot: Snapshot) -> _Figure:
    when = wall_clock(snapshot.time_millis).isoformat(" ", "seconds")
    return _Figure(metric, f"{snapshot.id}, of {when}", snapshot.id)
