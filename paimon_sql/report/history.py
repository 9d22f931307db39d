"""History of a report: the changes of the latest snapshots, by their manifests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CorruptFileError, MissingFileError
from paimon_sql.format.metadata.manifest import FileKind
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.clock import wall_clock

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
        found.append(_commit(snapshot, change, live_bytes))
        live_bytes -= change.added_bytes - change.removed_bytes
    return found[::-1]


@dataclass(frozen=True)
class _Change:
    added_files: int = 0
    added_bytes: int = 0
    removed_files: int = 0
    removed_bytes: int = 0


def _change(table: Table, snapshot: Snapshot) -> _Change | None:
    try:
        metas = table.manifests.read_list(snapshot.delta_manifest_list)
        entries = [table.manifests.read(m.file_name).select(["kind", "file_size"]) for m in metas]
    except (MissingFileError, CorruptFileError):
        return None
    if not entries:
        return _Change()
    return _Change(*_count(entries, FileKind.ADD), *_count(entries, FileKind.DELETE))


def _count(entries: Sequence[pa.Table], kind: FileKind) -> tuple[int, int]:
    joined = pa.concat_tables(entries)
    sizes = joined.filter(pc.equal(joined["kind"], int(kind)))["file_size"]
    return len(sizes), pc.sum(sizes).as_py() or 0


def _commit(snapshot: Snapshot, change: _Change, live_bytes: int) -> Commit:
    return Commit(
        snapshot.id,
        wall_clock(snapshot.time_millis),
        snapshot.commit_kind.value,
        snapshot.total_record_count,
        change.added_files,
        change.added_bytes,
        change.removed_files,
        change.removed_bytes,
        live_bytes,
    )
