"""Snapshots that came when their number had expired.

A writer that stands still before it creates snapshot N can do so when N has come, and expired, without it. It looks
(`commit/standing.py`), takes its snapshot away and builds its files into another one. So an expiry that meets such a
snapshot meanwhile leaves it alone: what it brought may still become part of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import MissingFileError, NoSuchSnapshotError
from paimon_sql.format.manifest import FileKind
from paimon_sql.format.snapshot import Snapshot
from paimon_sql.storage.instants import present_millis
from paimon_sql.storage.succession import is_built_on
from paimon_sql.storage.table import Table
from paimon_sql.storage.versioned import EARLIEST

_PATIENCE_MILLIS = 24 * 60 * 60 * 1000
"""For how long a writer may stand still: as long as files that nobody uses stay by default."""


def without_latecomers(table: Table, snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    """Those of some snapshots, just read, that are part of the history or what an interrupted expiry left of it.

    Whatever stands behind the hint of the earliest snapshot is part of it. The hint is read after the snapshots: it
    moves before a number becomes free.
    """
    earliest = table.snapshots.directory.hint(EARLIEST) or 0
    return [s for s in snapshots if s.id >= earliest or not _may_be_late(table, s)]


def _may_be_late(table: Table, snapshot: Snapshot) -> bool:
    try:
        added = _added_by(table, snapshot)
    except MissingFileError:
        return False  # an expiry has removed manifests of it already
    if not (len(added) or snapshot.changelog_manifest_list or snapshot.index_manifest):
        return False  # it brought no file
    with suppress(NoSuchSnapshotError, MissingFileError):
        if is_built_on(table, table.snapshots.get(snapshot.id + 1), snapshot, lambda: added):
            return False
    status = table.file_io.status(table.snapshots.directory.path(snapshot.id))
    return status is None or status.mtime_millis > present_millis() - _PATIENCE_MILLIS


def _added_by(table: Table, snapshot: Snapshot) -> pa.Array:
    """The names of the data files that a snapshot added."""
    delta = [m.file_name for m in table.manifests.read_list(snapshot.delta_manifest_list)]
    entries = [e.filter(pc.equal(e["kind"], int(FileKind.ADD)))["file_name"] for e in table.manifests.read_all(delta)]
    return pa.chunked_array([c for e in entries for c in e.chunks], pa.string()).combine_chunks()
