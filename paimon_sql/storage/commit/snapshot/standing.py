"""Verification that a newly created snapshot is in the table's history, and was not too late.

A writer prepares snapshot N on top of the newest one, and may be suspended before it creates the file. Meanwhile others
can expire N, roll the table back to before N, or drop the table: then the name is free, and the creation succeeds
although the history went another way. So every writer verifies its snapshot after the creation.
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

_ATTEMPTS = 5
_PAUSE = 0.05
"""Seconds between two attempts to read a directory that others are changing."""


class Standing(Enum):
    """The standing of a newly created snapshot."""

    IN_HISTORY = auto()
    OVERTAKEN = auto()
    """The table was rolled back, or the history had passed its id: it is not in the history."""
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
    """Determine whether a snapshot that this process created is in the history, after its base.

    Mostly two small files suffice: the base still exists, and expirations have not passed the snapshot. Expirations
    delete the oldest snapshots first, and a rollback deletes the base before another history can start.

    Args:
        table: the table.
        snapshot: the snapshot.
        base: the snapshot that it was built on, None for the first one.
        added: the changes of its data files.
        was_created: whether its file was certainly created; otherwise the base proves nothing.

    Raises:
        PaimonError: the file system cannot be read.
    """
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE)
        if not is_same_table(table):
            return Standing.NO_TABLE
        if (rewind := table.snapshots.rewinds.read()) is not None and rewind.is_late(snapshot):
            return Standing.OVERTAKEN
        found = (_check_base(table, snapshot, base) if was_created else None) or _look(
            table, snapshot, base, list(added)
        )
        if found is not None:
            return found
    return Standing.UNDECIDED


def _check_base(table: Table, snapshot: Snapshot, base: Snapshot | None) -> Standing | None:
    if base is None or (table.snapshots.directory.earliest() or 0) > snapshot.id:
        return None
    before = _stored(table, base.id)
    if before is None:
        return None
    return Standing.IN_HISTORY if is_same_commit(before, base) else Standing.OVERTAKEN


def _look(table: Table, snapshot: Snapshot, base: Snapshot | None, added: Sequence[ManifestEntry]) -> Standing | None:
    """Return the result of one attempt; None if concurrent changes require another."""
    directory, number = table.snapshots.directory, snapshot.id
    expired_before = directory.earliest() or 0
    mine = _stored(table, number)
    exists = mine is not None and is_same_commit(mine, snapshot)
    ids = directory.versions()
    if not ids or (mine is not None) != (number in ids):
        return None  # deleted or created in between, or the directory is being renamed
    later = next((i for i in ids if i > number), None)
    if later == number + 1:
        return _precedes(table, snapshot, later, added)
    if later is not None:
        if not exists:
            return _has_live_files(table, later, added)
        # Snapshots expire in the order of their ids: this one was created after later ones had expired, unless all
        # expired while the directory was listed.
        return Standing.OVERTAKEN if directory.exists(number) else None
    if not exists:
        return Standing.OVERTAKEN  # deleted by a rollback
    if expired_before > number:
        return None  # the newest snapshot never expires, so a later one must appear
    if base is None or expired_before == number or not any(i < number for i in ids):
        return Standing.IN_HISTORY  # its base has expired since
    return None if base.id in ids else Standing.OVERTAKEN


def _precedes(table: Table, snapshot: Snapshot, later_id: int, added: Sequence[ManifestEntry]) -> Standing | None:
    """Return whether the next snapshot was built on this one, in which case its base contains this one's files."""
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


def _has_live_files(table: Table, later_id: int, added: Sequence[ManifestEntry]) -> Standing | None:
    """Return whether a deleted snapshot was in the history: files of it are live in a later one."""
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
