"""Snapshots that came when their number had expired.

A writer that stands still before it creates snapshot N can do so when N has come, and expired, without it. It looks
(`commit/standing.py`), takes its snapshot away and builds its files into another one. So an expiry that meets such a
snapshot meanwhile must not take what it brought.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import MissingFileError, NoSuchSnapshotError
from paimon_sql.format.metadata.manifest import FileKind
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.text.instants import present_millis
from paimon_sql.storage.metadata.numbered_files import EARLIEST
from paimon_sql.storage.table.snapshot_lineage import is_built_on
from paimon_sql.storage.table.table import Table

_PATIENCE_MILLIS = 24 * 60 * 60 * 1000
"""For how long a writer may stand still: as long as files that nobody uses stay by default."""


def without_latecomers(table: Table, snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    """Those of some snapshots, just read, whose files are no younger than that of the next one.

    Others came late. They are left to their writers, for a day at the most.
    """
    if not _expired(table, snapshots):
        return list(snapshots)
    files = table.snapshots.directory.files()
    ages = {number: status.mtime_millis for number, status in files.items()}
    oldest = present_millis() - _PATIENCE_MILLIS

    def is_late(number: int) -> bool:
        made = ages.get(number, 0)
        following = next((ages[i] for i in sorted(ages) if i > number), made)
        return made > max(following, oldest)

    late = {s.id for s in _expired(table, snapshots) if is_late(s.id)}
    return [s for s in snapshots if s.id not in late]


def may_be_late(table: Table, snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    """Those of some snapshots, just read, of which nothing tells that others were built on them."""
    return [s for s in _expired(table, snapshots) if not _was_built_upon(table, s)]


def added_by(table: Table, snapshot: Snapshot) -> pa.Array:
    """The names of the data files that a snapshot added; those of manifests that are gone are left out."""
    try:
        delta = [m.file_name for m in table.manifests.read_list(snapshot.delta_manifest_list)]
        entries = table.manifests.read_all(delta)
        added = [e.filter(pc.equal(e["kind"], int(FileKind.ADD)))["file_name"] for e in entries]
    except MissingFileError:  # an expiry was at it
        added = []
    return pa.chunked_array([c for e in added for c in e.chunks], pa.string()).combine_chunks()


def _expired(table: Table, snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    """Those before the earliest, whose hint is read after them: it moves before a number becomes free."""
    earliest = table.snapshots.directory.hint(EARLIEST) or 0
    return [s for s in snapshots if s.id < earliest]


def _was_built_upon(table: Table, snapshot: Snapshot) -> bool:
    with suppress(NoSuchSnapshotError, MissingFileError):
        following = table.snapshots.get(snapshot.id + 1)
        return bool(is_built_on(table, following, snapshot, lambda: added_by(table, snapshot)))
    return False
