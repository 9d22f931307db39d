"""What the newest snapshots of a table did, told from their manifests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CorruptFileError, MissingFileError
from paimon_sql.format.metadata.manifest import FileKind
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.execution.threads import spread
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.clock import wall_clock

LOOKED_AT = 500
"""How many of the newest snapshots are shown."""
_THREADS = 8


@dataclass(frozen=True)
class Commit:
    """One snapshot.

    Attributes:
        id: its number.
        time: when it was committed, by the wall clock of this machine.
        kind: APPEND, COMPACT, OVERWRITE or ANALYZE.
        records: the records in all live files after it, before merging; None where its file does not tell.
        added_files: the data files that it added.
        added_bytes: their size.
        removed_files: the data files that it took away.
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
    """The newest snapshots, the oldest first; one that expires meanwhile is left out.

    Args:
        table: the table or branch.
        live_bytes: the size of the live files of the newest snapshot.
    """
    earliest = table.snapshots.earliest_id() or 0
    snapshots = [s for s in table.snapshots.listed() if s.id >= earliest][-LOOKED_AT:]
    threads = table.file_io.threads_for(table.path, len(snapshots), _THREADS)
    changes = spread(lambda snapshot: _change(table, snapshot), snapshots, threads)
    found: list[Commit] = []
    for snapshot, change in zip(reversed(snapshots), reversed(changes), strict=True):
        if change is None:
            break  # it expired meanwhile, and with it all older ones
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
    return _Change(*_counted(entries, FileKind.ADD), *_counted(entries, FileKind.DELETE))


def _counted(entries: Sequence[pa.Table], kind: FileKind) -> tuple[int, int]:
    every = pa.concat_tables(entries)
    sizes = every.filter(pc.equal(every["kind"], int(kind)))["file_size"]
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
