"""Advice on the maintenance of a table: one sentence, mostly with the statement to run.

Each function returns None if there is nothing to do. Thresholds are those of the table's options; without an option,
constants here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from paimon_sql.errors import PaimonError
from paimon_sql.format.metadata.manifest import ManifestFileMeta
from paimon_sql.format.options.operations.commit import MANIFEST_MERGE_MIN_COUNT, MANIFEST_TARGET_FILE_SIZE
from paimon_sql.format.options.operations.compaction import (
    COMPACTION_DELETE_RATIO_THRESHOLD,
    COMPACTION_MIN_FILE_NUM,
    NUM_SORTED_RUNS_COMPACTION_TRIGGER,
)
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.compact.file_layout import Layout
from paimon_sql.storage.data_files.lsm_tree import reads_compacted
from paimon_sql.storage.maintenance.snapshots.retained_size import RetainedSize
from paimon_sql.storage.metadata.snapshots import SnapshotView
from paimon_sql.storage.retention.policy import Retention, choose_range, retention_of
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.formatting import counted, size_text

_GIB = 1 << 30
_MIN_FREED_BYTES = 128 << 20
"""The min number of bytes that is worth freeing."""
_LARGE_BUCKET = 2 * _GIB
_SMALL_BUCKET = 16 << 20
_MANY_BUCKETS = 100


@dataclass(frozen=True)
class Advice:
    """What to do.

    Attributes:
        sentence: what is wrong; without a statement also what to do.
        statement: the statement to run; None if the user has to choose.
        otherwise: what to do instead of it.
    """

    sentence: str
    statement: str | None = None
    otherwise: str | None = None

    @property
    def text(self) -> str:
        """The sentence, with the statement."""
        text = f"{self.sentence}: {self.statement}" if self.statement else self.sentence
        return f"{text}, or {self.otherwise}" if self.otherwise else text


def deleted_records(table: Table, layout: Layout) -> Advice | None:
    """Advice on rows that deletion vectors hide."""
    share = (layout.hidden or 0) / (layout.records or 1)
    if share <= table.options.get(COMPACTION_DELETE_RATIO_THRESHOLD):
        return None
    return Advice(f"{share:.0%} of the records are read but deleted", _call(table, "compact"))


def small_files(table: Table, layout: Layout) -> Advice | None:
    """Advice on small files that a compaction of an append table would merge."""
    if not layout.buckets_to_compact or table.layout.groups_files:
        return None
    many = counted(layout.buckets_to_compact, "bucket has", "buckets have")
    minimum = max(table.options.get(COMPACTION_MIN_FILE_NUM), 2)
    return Advice(f"{many} {minimum} or more files below {size_text(layout.small_size)}", _call(table, "compact"))


def bucket_sizes(table: Table, layout: Layout) -> Advice | None:
    """Advice on fixed buckets that are too large for one task, or too small for files of a useful size."""
    buckets = table.options.get(BUCKET)
    if buckets < 1:
        return None
    if layout.largest_bucket > _LARGE_BUCKET:
        more = buckets * math.ceil(layout.largest_bucket / _GIB)
        return Advice(
            "One task writes a bucket; more buckets allow more tasks", _call(table, "rescale", bucket_num=more)
        )
    if buckets > 1 and layout.buckets >= _MANY_BUCKETS and layout.largest_bucket < _SMALL_BUCKET:
        return Advice("Fewer buckets make fewer and larger files", _call(table, "rescale", bucket_num=1))
    return None


def sorted_runs(table: Table, layout: Layout) -> Advice | None:
    """Advice on buckets with many sorted runs to merge on read."""
    if not layout.unmerged:
        return None
    minimum = table.options.get(NUM_SORTED_RUNS_COMPACTION_TRIGGER)
    many = counted(layout.unmerged, "bucket has", "buckets have")
    return Advice(f"{many} {minimum} or more sorted runs to merge on read", _call(table, "compact"))


def unread_files(table: Table, layout: Layout) -> Advice | None:
    """Advice on files of level 0 where reads see compacted files only."""
    fresh = layout.levels.get(0, 0)
    if not fresh or not reads_compacted(table):
        return None
    return Advice(f"{counted(fresh, 'file', 'files')} of level 0 cannot be read yet", _call(table, "compact"))


def postponed_files(table: Table) -> Advice:
    """Advice on files of postponed buckets."""
    return Advice("Their rows cannot be read yet", _call(table, "compact"))


def snapshots(table: Table, seen: SnapshotView) -> Advice | None:
    """Advice on snapshots that may expire."""
    try:
        retention = retention_of(table.options, current_millis())
        due = _due(table, retention, seen)
    except PaimonError as error:
        return Advice(str(error))
    if not due:
        return None
    many = f"{due} or more" if due >= retention.limit else str(due)
    return Advice(f"{many} can expire by the table's options", _call(table, "expire_snapshots"))


def consumers(table: Table, seen: SnapshotView) -> Advice | None:
    """Advice on consumers that retain snapshots."""
    try:
        retention = retention_of(table.options, current_millis())
        retained = _due(table, replace(retention, consumers=False), seen) - _due(table, retention, seen)
        slowest = min(table.consumers.all().items(), key=lambda named: named[1].next_snapshot, default=None)
    except PaimonError as error:
        return Advice(str(error))
    if not retained or slowest is None:
        return None
    name, needed = slowest[0], slowest[1].next_snapshot
    many = counted(retained, "snapshot is retained", "snapshots are retained")
    # The advice has no arguments: the name would need quoting as a regular expression.
    return Advice(f"{many} for consumer '{name}' at snapshot {needed}; if it is unused: CALL sys.clear_consumers")


def manifests(table: Table, found: Sequence[ManifestFileMeta]) -> Advice | None:
    """Advice on small manifests, which every plan opens."""
    target = table.options.get(MANIFEST_TARGET_FILE_SIZE)
    small = sum(m.file_size < target for m in found)
    if small < 2 * table.options.get(MANIFEST_MERGE_MIN_COUNT):
        return None
    return Advice(f"{small} are below {size_text(target)}", _call(table, "compact_manifest"))


def older_snapshots(table: Table, space: RetainedSize) -> Advice | None:
    """Advice on the space of older snapshots."""
    if space.older < max(_MIN_FREED_BYTES, space.live):
        return None
    return Advice("More than the live data", _call(table, "expire_snapshots"), "lower snapshot.num-retained.max")


def tags(table: Table, space: RetainedSize) -> Advice | None:
    """Advice on the space of tags."""
    if space.tags < max(_MIN_FREED_BYTES, space.live):
        return None
    return Advice(
        "More than the live data: CALL sys.delete_tag for unused tags, or limit them with tag.default-time-retained"
    )


def _due(table: Table, retention: Retention, seen: SnapshotView) -> int:
    found = choose_range(table, retention, seen)
    return found.end - found.earliest if found.earliest is not None else 0


def _call(table: Table, procedure: str, **arguments: int) -> str:
    """The call of a procedure for a table, whose name begins with its catalog."""
    full_name = table.name_of_branch(table.branch)
    name = (full_name.partition(".")[2] or full_name).replace("\\", "\\\\").replace("'", "\\'")
    others = "".join(f", {key} => {value}" for key, value in arguments.items())
    return f"CALL sys.{procedure}(table => '{name}'{others})"
