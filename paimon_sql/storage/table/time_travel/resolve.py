"""Resolution of time travel: the state that a read sees, the latest or the one that its options name.

Reads of changes (``incremental-between`` and similar) are not handled here.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from datetime import tzinfo

from paimon_sql.errors import InvalidOptionError, NoSuchSnapshotError, UnsupportedError
from paimon_sql.format.metadata.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind, Snapshot
from paimon_sql.format.options import Option
from paimon_sql.format.options.operations import scan
from paimon_sql.format.options.operations.compaction import FULL_COMPACTION_DELTA_COMMITS
from paimon_sql.format.text.instants import parse_instant, show_instant
from paimon_sql.storage.metadata.refs.tags import is_same_commit
from paimon_sql.storage.metadata.snapshots import SnapshotView
from paimon_sql.storage.table.changelog_producer import changelog_producer
from paimon_sql.storage.table.table import Table

_WATERMARK_VERSION = "watermark-"
_NO_WATERMARK = -(2**63)

_TIMES = (scan.SCAN_TIMESTAMP, scan.SCAN_TIMESTAMP_MILLIS)
_VERSIONS = (scan.SCAN_VERSION, scan.SCAN_SNAPSHOT_ID, scan.SCAN_TAG_NAME, scan.SCAN_WATERMARK)
_CREATION = (scan.SCAN_CREATION_TIME_MILLIS, scan.SCAN_FILE_CREATION_TIME_MILLIS)
_TRAVELS: tuple[Option[object], ...] = (*_VERSIONS, *_TIMES, *_CREATION)
_NEWEST = ("latest-full", "full", "latest", "compacted-full")
_MODES: dict[str, tuple[Option[object], ...]] = {
    **dict.fromkeys(_NEWEST, ()),
    "from-timestamp": _TIMES,
    "from-snapshot": _VERSIONS,
    "from-snapshot-full": (scan.SCAN_SNAPSHOT_ID,),
    "from-creation-timestamp": (scan.SCAN_CREATION_TIME_MILLIS,),
    "from-file-creation-time": (scan.SCAN_FILE_CREATION_TIME_MILLIS,),
}

TRAVEL_KEYS = frozenset(key for option in _TRAVELS for key in (option.key, *option.alternatives))
"""The options that select a state; a read can have only one of them."""


@dataclass(frozen=True)
class Version:
    """The state of a table that a read sees.

    Attributes:
        snapshot: the snapshot; None for a table without snapshots.
        schema_id: the schema of the read: the snapshot's own under time travel, else the table's current one.
        travelled: whether the options of the read selected the state.
        tag: the tag that selected it.
        created_from_millis: data files created before this time, in milliseconds since the epoch, are skipped.
    """

    snapshot: Snapshot | None
    schema_id: int
    travelled: bool = False
    tag: str | None = None
    created_from_millis: int | None = None

    def of(self, table: Table) -> Table:
        """Return the table with the columns of this state, and the current options."""
        return table.at_schema(self.schema_id)


def version_to_read(table: Table, zone: tzinfo | None = None) -> Version:
    """Return the state that the table's options select; the latest by default.

    Args:
        table: the table, with the options of the read.
        zone: the zone of ``scan.timestamp``; None is this machine's.

    Raises:
        NoSuchSnapshotError: the snapshot, tag, time or watermark is not retained; the message contains what is.
        InvalidOptionError: the options contradict each other.
    """
    options = table.options
    mode = options.get(scan.SCAN_MODE)
    _check(mode, [option for option in _TRAVELS if options.has(option)])
    if (version := options.get(scan.SCAN_VERSION)) is not None:
        return _named(table, version)
    for creation in _CREATION:
        if (since := options.get(creation)) is not None:
            return _created_from(table, since, by_snapshot=creation is scan.SCAN_CREATION_TIME_MILLIS)
    if (tag := options.get(scan.SCAN_TAG_NAME)) is not None:
        return _travelled(table.tags.get(tag).snapshot, tag)
    if (snapshot_id := options.get(scan.SCAN_SNAPSHOT_ID)) is not None:
        return _travelled(retained_snapshot(table, snapshot_id))
    if (watermark := options.get(scan.SCAN_WATERMARK)) is not None:
        return _travelled(snapshot_at_watermark(table, watermark))
    time = options.get(scan.SCAN_TIMESTAMP)
    millis = options.get(scan.SCAN_TIMESTAMP_MILLIS) if time is None else parse_instant(time, zone)
    if millis is not None:
        return _travelled(snapshot_at_time(table, millis))
    latest = _compacted(table) if mode == "compacted-full" else table.snapshots.latest()
    return Version(latest, table.schema.id)


def retained_snapshot(table: Table, snapshot_id: int) -> Snapshot:
    """Return the retained snapshot of an id.

    A snapshot before the earliest one may still have a file while its expiration is running or was interrupted, one
    after the latest while a writer with a rolled-back base is paused.

    Raises:
        NoSuchSnapshotError: it is not retained; the message contains the retained ids, and a tag of the snapshot if
            any.
    """
    if (found := _find_retained(table, snapshot_id)) is not None:
        return found
    tags = table.tags.of_snapshot(snapshot_id)
    remedy = f"Tag '{tags[0].name}' keeps it: read the tag." if tags else None
    raise not_retained(table, f"snapshot {snapshot_id} does not exist", snapshot_id, remedy=remedy)


def _find_retained(table: Table, snapshot_id: int) -> Snapshot | None:
    return table.snapshots.find(snapshot_id) if snapshot_id in (table.snapshots.retained() or ()) else None


def not_retained(
    table: Table, what: str, name: object, seen: SnapshotView | None = None, remedy: str | None = None
) -> NoSuchSnapshotError:
    """Return the error for a state that is not retained, with the range of those that are.

    Args:
        table: the table.
        what: what is missing, as a clause.
        name: the name of the state.
        seen: the snapshots that the caller has read already.
        remedy: what to do.
    """
    return NoSuchSnapshotError(f"{table.name}: {what}: {_retained_range(table, seen)}.", name=str(name), remedy=remedy)


def referenced_snapshot(table: Table, snapshot_id: int) -> Snapshot:
    """Return the snapshot of an id, retained or referenced by a tag.

    Raises:
        NoSuchSnapshotError: it is neither.
    """
    if (found := _find_retained(table, snapshot_id)) is None and (tags := table.tags.of_snapshot(snapshot_id)):
        return tags[0].snapshot
    return found or retained_snapshot(table, snapshot_id)


def is_retained(table: Table, snapshot: Snapshot) -> bool:
    """Whether a snapshot is still retained, and its id was not reused; the files are read again."""
    found = _find_retained(table, snapshot.id)
    return found is not None and is_same_commit(found, snapshot)


def snapshot_at_time(table: Table, millis: int, seen: SnapshotView | None = None) -> Snapshot:
    """Return the last snapshot that was committed at or before a time.

    Args:
        table: the table.
        millis: milliseconds since the epoch.
        seen: the snapshots that the caller has read already.

    Raises:
        NoSuchSnapshotError: all retained snapshots are later; the message contains their range.
    """
    seen = seen or SnapshotView(table.snapshots)
    found = seen.at_time(millis)
    if found is None:
        what = f"no retained snapshot was committed at or before {show_instant(millis)}"
        raise not_retained(table, what, millis, seen)
    return found


def snapshot_at_watermark(table: Table, watermark: int) -> Snapshot:
    """Return the first snapshot with at least the given watermark.

    Raises:
        NoSuchSnapshotError: no retained snapshot has reached it.
    """
    ids, seen = table.snapshots.retained_ids(), SnapshotView(table.snapshots)
    reached = bisect_left(ids, watermark, key=lambda i: _watermark(seen, i))
    if reached < len(ids):
        return seen.get(ids[reached])
    last = _watermark(seen, ids[-1]) if ids else _NO_WATERMARK
    state = "no snapshot has a watermark" if last == _NO_WATERMARK else f"the newest snapshot is at {last}"
    raise NoSuchSnapshotError(
        f"{table.name}: no retained snapshot has reached the watermark {watermark}: {state}.", name=str(watermark)
    )


def first_from_time(table: Table, millis: int) -> Snapshot:
    """Return the first snapshot that was committed at or after a time, retained or referenced by a tag.

    Args:
        table: the table.
        millis: milliseconds since the epoch.

    Raises:
        NoSuchSnapshotError: all are earlier.
    """
    ids, seen, first = _first_from(table, millis)
    found = [seen.get(i) for i in ids[first : first + 1]]
    found += [t.snapshot for t in table.tags.all() if t.snapshot.time_millis >= millis]
    if not found:
        raise not_retained(table, f"no snapshot was committed at or after {show_instant(millis)}", millis, seen)
    return min(found, key=lambda s: (s.time_millis, s.id))


def first_from_watermark(table: Table, watermark: int) -> Snapshot:
    """Return the first snapshot with at least the given watermark, retained or referenced by a tag.

    Raises:
        NoSuchSnapshotError: none has reached it.
    """
    tagged = (t.snapshot for t in table.tags.all())
    found = [s for s in tagged if s.watermark is not None and s.watermark >= watermark]
    try:
        found.append(snapshot_at_watermark(table, watermark))
    except NoSuchSnapshotError:
        if not found:
            raise
    return min(found, key=lambda s: s.id)


def _retained_range(table: Table, seen: SnapshotView | None = None) -> str:
    """Describe the retained snapshots, as a part of a message; `seen` saves reading them again."""
    seen = seen or SnapshotView(table.snapshots)
    if (ids := table.snapshots.retained()) is None:
        return "the table has no snapshot yet"
    first, last = seen.get(ids.start), seen.get(ids.stop - 1)
    first_time, last_time = show_instant(first.time_millis), show_instant(last.time_millis)
    return f"retained are {first.id}, of {first_time}, to {last.id}, of {last_time}"


def _check(mode: str, given: list[Option[object]]) -> None:
    keys = [o.key for o in given]
    if len(given) > 1:
        raise InvalidOptionError(
            f"The options {' and '.join(keys)} each name a state to read.",
            key=keys[1],
            remedy=f"Set one of them; RESET `spark.paimon.{keys[1]}` if the session has it.",
        )
    if mode == "latest-delta":
        raise UnsupportedError(
            "scan.mode 'latest-delta' reads changes, not a state.", remedy="Use incremental-between."
        )
    allowed = _MODES.get(mode)
    if allowed is None:
        return
    if not allowed and given:
        raise InvalidOptionError(f"scan.mode '{mode}' reads the newest state and excludes {keys[0]}.", key=keys[0])
    if allowed and not any(o in allowed for o in given):
        wanted = " or ".join(o.key for o in allowed)
        raise InvalidOptionError(f"scan.mode '{mode}' needs {wanted}.", key=scan.SCAN_MODE.key)


def _travelled(snapshot: Snapshot, tag: str | None = None) -> Version:
    return Version(snapshot, snapshot.schema_id, True, tag)


def _named(table: Table, version: str) -> Version:
    """Resolve a version of SQL: a tag takes precedence over the snapshot of the number."""
    tag = table.tags.find(version)
    if tag is not None:
        return _travelled(tag.snapshot, version)
    watermark = version.removeprefix(_WATERMARK_VERSION)
    if watermark != version and watermark.lstrip("-").isdecimal():
        return _travelled(snapshot_at_watermark(table, int(watermark)))
    if version.isascii() and version.isdigit():
        return _travelled(retained_snapshot(table, int(version)))
    raise table.tags.missing(version)


def _compacted(table: Table) -> Snapshot | None:
    """Return the latest snapshot of a compaction, else the latest of all."""
    interval = table.options.get(FULL_COMPACTION_DELTA_COMMITS)
    if interval is None and changelog_producer(table.options).from_full_compactions:
        interval = 1

    def is_wanted(s: Snapshot) -> bool:
        full = interval is None or s.commit_identifier == BATCH_COMMIT_IDENTIFIER or s.commit_identifier % interval == 0
        return s.commit_kind is CommitKind.COMPACT and full

    newest = None
    for snapshot_id in reversed(table.snapshots.retained_ids()):
        if (snapshot := table.snapshots.find(snapshot_id)) is None:
            break
        if is_wanted(snapshot):
            return snapshot
        newest = newest or snapshot
    return table.snapshots.latest(newest)


def _created_from(table: Table, millis: int, *, by_snapshot: bool) -> Version:
    """Return the first snapshot from a time on, else the latest without the files created before."""
    if by_snapshot:
        ids, seen, first = _first_from(table, millis)
        if 0 < first < len(ids):
            return _travelled(seen.get(ids[first]))
    return Version(table.snapshots.latest(), table.schema.id, True, created_from_millis=millis)


def _first_from(table: Table, millis: int) -> tuple[list[int], SnapshotView, int]:
    """Return the retained ids, their snapshots, and the index of the first that was committed at a time or later."""
    ids, seen = table.snapshots.retained_ids(), SnapshotView(table.snapshots)
    return ids, seen, bisect_left(ids, millis, key=lambda i: seen.get(i).time_millis)


def _watermark(seen: SnapshotView, snapshot_id: int) -> int:
    """Return a snapshot's watermark, or that of the nearest one before that has any."""
    for i in range(snapshot_id, 0, -1):
        found = seen.find(i)
        if found is None:
            break
        if found.watermark is not None and found.watermark != _NO_WATERMARK:
            return found.watermark
    return _NO_WATERMARK
