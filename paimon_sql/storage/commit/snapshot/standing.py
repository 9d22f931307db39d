"""Whether a snapshot that was just created belongs to the table's history, or came too late.

A writer prepares snapshot N on the newest one and may stand still before it creates the file. Meanwhile others can
expire N, roll the table back to before N, or drop the table: then the name is free, and creating it succeeds although
the history has gone another way. So every writer looks once more after it has created its snapshot.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from enum import Enum, auto

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import MissingFileError
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry
from paimon_sql.format.metadata.snapshot import Snapshot, parse_snapshot
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.metadata.refs.tags import is_same_commit
from paimon_sql.storage.staging.table_identity import is_same_table
from paimon_sql.storage.table.snapshot_lineage import is_built_on
from paimon_sql.storage.table.table import Table

_LOOKS = 5
_PAUSE = 0.05
"""Seconds between two looks at a directory that others are changing."""


class Standing(Enum):
    """What became of a snapshot that was created."""

    IN_HISTORY = auto()
    OVERTAKEN = auto()
    """The table was rolled back, or its history had gone past that id: the snapshot is none of it."""
    NO_TABLE = auto()
    """The table was dropped, renamed or replaced."""
    UNDECIDED = auto()


def standing_of(
    table: Table,
    snapshot: Snapshot,
    base: Snapshot | None,
    added: Iterable[ManifestEntry],
    *,
    was_created: bool = True,
) -> Standing:
    """Find out whether a snapshot that this process has created follows the one that it was built on.

    Mostly two small files tell: the base still stands, and expiry has not come past the snapshot. Expiry removes the
    oldest snapshots first, and a rollback removes the base before anything can be built elsewhere.

    Args:
        table: the table.
        snapshot: the snapshot.
        base: what it was built on, None for the first one.
        added: the data files that it changes.
        was_created: whether its file was created for sure; otherwise the base tells nothing.

    Raises:
        PaimonError: the file system does not say.
    """
    for look in range(_LOOKS):
        if look:
            time.sleep(_PAUSE)
        if not is_same_table(table):
            return Standing.NO_TABLE
        if (rewind := table.snapshots.rewinds.read()) is not None and rewind.is_stray(snapshot):
            return Standing.OVERTAKEN
        found = (_look_at_base(table, snapshot, base) if was_created else None) or _look(
            table, snapshot, base, list(added)
        )
        if found is not None:
            return found
    return Standing.UNDECIDED


def _look_at_base(table: Table, snapshot: Snapshot, base: Snapshot | None) -> Standing | None:
    if base is None or (table.snapshots.directory.earliest() or 0) > snapshot.id:
        return None
    before = _stored(table, base.id)
    if before is None:
        return None
    return Standing.IN_HISTORY if is_same_commit(before, base) else Standing.OVERTAKEN


def _look(table: Table, snapshot: Snapshot, base: Snapshot | None, added: Sequence[ManifestEntry]) -> Standing | None:
    """What one look tells; None if others are at work, so that another one may tell more."""
    directory, number = table.snapshots.directory, snapshot.id
    expired_before = directory.earliest() or 0
    mine = _stored(table, number)
    stands = mine is not None and is_same_commit(mine, snapshot)
    ids = directory.versions()
    if not ids or (mine is not None) != (number in ids):
        return None  # it went, or came, between the two, or the directory has another name for a while
    later = next((i for i in ids if i > number), None)
    if later == number + 1:
        return _precedes(table, snapshot, later, added)
    if later is not None:
        if not stands:
            return _left_rows(table, later, added)
        # Snapshots expire in the order of their ids: this one came after those behind it had gone, unless they all
        # went while the directory was being listed.
        return Standing.OVERTAKEN if directory.exists(number) else None
    if not stands:
        return Standing.OVERTAKEN  # a rollback took it away
    if expired_before > number:
        return None  # the newest snapshot never expires, so a later one must show up
    if base is None or expired_before == number or not any(i < number for i in ids):
        return Standing.IN_HISTORY  # what it was built on has expired since
    return None if base.id in ids else Standing.OVERTAKEN


def _precedes(table: Table, snapshot: Snapshot, later_id: int, added: Sequence[ManifestEntry]) -> Standing | None:
    """Whether the snapshot behind this one was built on it: then its base has what this one brought."""
    later = _stored(table, later_id)
    if later is None:
        return None
    names = pa.array(sorted({e.file.file_name for e in added if e.kind is FileKind.ADD}), pa.string())
    try:
        found = is_built_on(table, later, snapshot, lambda: names)
    except MissingFileError:
        return None
    if found is None:
        return Standing.UNDECIDED
    return Standing.IN_HISTORY if found else Standing.OVERTAKEN


def _left_rows(table: Table, later_id: int, added: Sequence[ManifestEntry]) -> Standing | None:
    """Whether a snapshot that is gone was part of the history, by files of it that are live in a later one."""
    later = _stored(table, later_id)
    if later is None:
        return None
    try:
        live = live_files(table, later).entries["file_name"]
    except MissingFileError:
        return None
    names = pa.array([e.file.file_name for e in added if e.kind is FileKind.ADD], pa.string())
    return Standing.IN_HISTORY if pc.any(pc.is_in(live, value_set=names)).as_py() else Standing.UNDECIDED


def _stored(table: Table, snapshot_id: int) -> Snapshot | None:
    directory = table.snapshots.directory
    try:
        return parse_snapshot(directory.read(snapshot_id), directory.path(snapshot_id))
    except MissingFileError:
        return None
