"""Rollback of a table to an earlier snapshot, dropping later ones.

Data files are not deleted: a writer that built on a later snapshot may still be running. They are left to the removal
of orphan files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from paimon_sql.errors import CommitConflictError, CorruptFileError, MissingFileError, NoSuchSnapshotError
from paimon_sql.format.metadata.snapshot import Snapshot, parse_snapshot
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.iceberg import publish_quietly
from paimon_sql.storage.metadata.catalog_environment import VersionManagement
from paimon_sql.storage.metadata.directories import remove_if_dropped
from paimon_sql.storage.metadata.numbered_files import LATEST
from paimon_sql.storage.metadata.partial_changes import begun
from paimon_sql.storage.metadata.refs.tags import NamedTag, is_same_commit
from paimon_sql.storage.metadata.snapshots import Rollback
from paimon_sql.storage.retention.tags import guard_tag
from paimon_sql.storage.staging.proposal import changed_table, is_same_table, require_same_table
from paimon_sql.storage.table.snapshot_history import without_lost_changelog
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import referenced_snapshot, snapshot_at_time, snapshot_at_watermark

_ATTEMPTS = 5
_BATCH_SIZE = 64
_THREADS = 8


@dataclass
class RollbackResult:
    """The result of a rollback.

    Attributes:
        previous: the newest snapshot before.
        current: the newest snapshot after.
        snapshots: the number of dropped snapshots.
        tags: the names of deleted tags, which retained later snapshots.
        changelogs: the number of dropped changelogs.
    """

    previous: int
    current: int
    snapshots: int = 0
    tags: list[str] = field(default_factory=list)
    changelogs: int = 0


def rollback_to_snapshot(table: Table, snapshot_id: int, *, dry_run: bool = False) -> RollbackResult:
    """Roll back to a snapshot; an expired one is restored if a tag retains it.

    Args:
        table: the table.
        snapshot_id: the snapshot.
        dry_run: only return the result.

    Raises:
        NoSuchSnapshotError: neither the snapshot nor a tag of it exists.
    """
    return _roll_back(table, referenced_snapshot(table, snapshot_id), dry_run=dry_run)


def rollback_to_tag(table: Table, name: str, *, dry_run: bool = False) -> RollbackResult:
    """Roll back to a tag; an expired snapshot is restored. A dry run changes nothing.

    Raises:
        NoSuchSnapshotError: the tag does not exist.
    """
    return _roll_back(table, table.tags.get(name).snapshot, dry_run=dry_run)


def rollback_to_time(table: Table, millis: int, *, dry_run: bool = False) -> RollbackResult:
    """Roll back to the last snapshot at or before a time, in milliseconds since the epoch. A dry run changes nothing.

    Raises:
        NoSuchSnapshotError: all retained snapshots are later.
    """
    return _roll_back(table, snapshot_at_time(table, millis), dry_run=dry_run)


def rollback_to_watermark(table: Table, watermark: int, *, dry_run: bool = False) -> RollbackResult:
    """Roll back to the first snapshot with at least this watermark. A dry run changes nothing.

    Raises:
        NoSuchSnapshotError: no retained snapshot has it.
    """
    return _roll_back(table, snapshot_at_watermark(table, watermark), dry_run=dry_run)


def _roll_back(table: Table, target: Snapshot, *, dry_run: bool) -> RollbackResult:
    """Drop what is later than a snapshot.

    At any time the newest existing snapshot is readable, so that a crash leaves a partial rollback, which the same call
    completes. Tags are deleted first: one on a dropped snapshot would outlive its history.
    """
    snapshots = table.snapshots
    latest = snapshots.latest_id()
    if latest is None or target.id > latest:
        raise NoSuchSnapshotError(
            f"{table.name}: there is no snapshot {target.id} to roll back to.", name=str(target.id)
        )
    existing = snapshots.find(target.id)
    if existing is not None and not is_same_commit(existing, target):
        raise CommitConflictError(
            f"{table.name}: the snapshot {target.id} of that tag is not the one of the table's history.",
            remedy="The tag was created while the table was being rolled back: delete it.",
        )
    tags = [tag.name for tag in table.tags.all() if tag.snapshot.id > target.id]
    if dry_run or table.version_management is not None:
        later, changelogs = _later(table, target), [i for i in table.changelogs.ids() if i > target.id]
        if table.version_management is not None and not dry_run:
            _roll_back_by_server(table.version_management, table, target, latest)
        return RollbackResult(latest, target.id, len(later), tags, len(changelogs))
    result = RollbackResult(latest, target.id)
    with guard_tag(table, target, f"rollback-to-{target.id}"):
        result.tags += [name for name in tags if table.tags.remove(name)]
        restore_snapshot(table, target)
        with begun(f"{table.name}: the rollback to snapshot {target.id}"):
            rewind = mark_rollback(table, target)
            snapshots.directory.reset_hint(LATEST, target.id)
            result.snapshots = _drop_later(table, target, rewind)
            # Creators of a tag check the snapshot afterwards: they find it missing, or the tag is seen here.
            result.tags += [
                tag.name for tag in table.tags.all() if _was_dropped(table, target, tag) and table.tags.remove(tag.name)
            ]
            # An earlier expiration may have deleted its file; or a later one, if others have committed since.
            restore_snapshot(table, target, is_passed=lambda: _is_passed(table, target, rewind))
            snapshots.directory.settle_latest()  # a dropped commit may have written the hint late
            result.changelogs = drop_changelogs(table, target.id)
            with suppress(MissingFileError):  # it may have expired again
                table.file_io.sync([snapshots.directory.path(target.id)], snapshots.directory.directory)
    publish_quietly(table)
    return result


def mark_rollback(table: Table, target: Snapshot | None) -> Rollback:
    """Write the rollback mark: later snapshots, and those built on them, are no longer part of the history.

    Args:
        table: the table.
        target: the snapshot to roll back to, None for before the first one.

    Raises:
        NoSuchSnapshotError: another rollback has dropped the target meanwhile.
        NoSuchTableError: the table was dropped or replaced; the mark is withdrawn.
    """
    rewinds, directory = table.snapshots.rewinds, table.snapshots.directory
    base = 0 if target is None else target.id
    newest = max(directory.versions(), default=base)
    rewind = rewinds.write(target, newest + 1)
    later = max(directory.versions(), default=base)
    if later > newest:  # a commit was faster than the mark
        rewind = rewinds.extend(later + 1)
    if not is_same_table(table):
        rewinds.take_back(rewind)
        remove_if_dropped(table.file_io, table.path)
        raise changed_table(table)
    return rewind


def _was_dropped(table: Table, target: Snapshot, tag: NamedTag) -> bool:
    """Whether a tag retains a snapshot after the target that is not in the history any longer."""
    if tag.snapshot.id <= target.id:
        return False
    if (found := table.snapshots.find(tag.snapshot.id)) is not None:
        return not is_same_commit(found, tag.snapshot)
    return (table.snapshots.latest_id() or 0) < tag.snapshot.id


def _drop_later(table: Table, target: Snapshot, rewind: Rollback) -> int:
    """Drop all later snapshots that the mark excludes from the history; return their number."""
    dropped = 0
    for _ in range(_ATTEMPTS):
        later = overtaken(table, _later(table, target), rewind)
        if not later:
            return dropped
        dropped += drop_newest_first(table, later)
    raise CommitConflictError(
        f"{table.name}: other jobs keep committing while it is rolled back to snapshot {target.id}.",
        remedy="Stop the writers and roll back again.",
    )


def _roll_back_by_server(authority: VersionManagement, table: Table, target: Snapshot, latest: int) -> None:
    """Let the server that manages the table's snapshots drop later ones; an expired target is referred to by tag."""
    if table.snapshots.exists(target.id):
        authority.roll_back(table.branch, latest, snapshot_id=target.id)
    else:
        authority.roll_back(table.branch, latest, tag=next(t.name for t in table.tags.of_snapshot(target.id)))
    publish_quietly(table)


def _later(table: Table, target: Snapshot) -> list[int]:
    return [i for i in table.snapshots.directory.versions() if i > target.id]


def _is_passed(table: Table, target: Snapshot, rewind: Rollback) -> bool:
    """Whether others have built on the target since the mark, so that it may expire."""
    later = _later(table, target)
    return len(overtaken(table, later, rewind)) < len(later)


def restore_snapshot(table: Table, target: Snapshot, is_passed: Callable[[], bool] = lambda: False) -> None:
    """Ensure that the snapshot's file exists and is not taken for an expired one.

    Args:
        table: the table.
        target: the snapshot.
        is_passed: whether the history has gone on after it, so that it must not be restored if it has expired.

    Raises:
        CommitConflictError: another rollback, to an earlier snapshot, has dropped it.
        NoSuchTableError: the table was dropped or replaced; nothing is left in its directory.
    """
    directory = table.snapshots.directory
    if not is_passed() and not table.snapshots.is_left(target.id):
        # Snapshots expire in id order: before an expired one there is none.
        if any(i < target.id for i in directory.versions()) and not directory.exists(target.id):
            raise CommitConflictError(
                f"{table.name}: another job is concurrently rolling back to a snapshot before {target.id}.",
                remedy="Check $snapshots before you roll back again.",
            )
        data = without_lost_changelog(table, target).to_json().encode()
        with table.lock.acquire(table.branch) as hold:
            hold.confirm()
            directory.file_io.try_create_exclusive(directory.path(target.id), data, locked=hold.is_locked)
        if not is_same_table(table):
            withdraw(table, target.id, data)
            raise changed_table(table)
        if is_passed():
            withdraw(table, target.id, data)
    earliest = max(directory.versions(), default=target.id) if is_passed() else target.id
    try:
        directory.settle_earliest(earliest)
    except CommitConflictError:
        require_same_table(table)
        raise


def withdraw(table: Table, snapshot_id: int, data: bytes) -> None:
    """Delete a snapshot's file, which is not in the history, if it is the one that this call wrote."""
    directory = table.snapshots.directory
    directory.file_io.delete_if(directory.path(snapshot_id), data.__eq__, durable=True)
    remove_if_dropped(table.file_io, table.path)


def overtaken(table: Table, ids: Sequence[int], rewind: Rollback) -> dict[int, bytes]:
    """Return those of the snapshots that a mark excludes from the history, with the contents of their files.

    A writer of the mark's generation knew of it and built on the remaining history: its snapshot stays, as others may
    have built on it since. Snapshots of other engines have no generation and are dropped.
    """
    directory = table.snapshots.directory
    found = {}
    for i in ids:
        try:
            data = directory.read(i)
            snapshot = parse_snapshot(data, directory.path(i))
        except MissingFileError:
            continue
        except CorruptFileError:
            found[i] = data
            continue
        if not rewind.judges(snapshot) or rewind.is_late(snapshot):
            found[i] = data
    return found


def drop_newest_first(table: Table, found: Mapping[int, bytes]) -> int:
    """Delete snapshot files from the newest on, given in ascending order with their contents; return their number.

    On a file system with directories each deletion is durable before the next: after a power loss, none may reappear
    without its predecessor, as it would become the newest again once others have filled the gap.

    Raises:
        NoSuchTableError: the table was dropped or replaced; the rest belongs to another table.
    """
    directory, dropped, ids = table.snapshots.directory, 0, list(found)
    at_once = _BATCH_SIZE if directory.file_io.is_object_store(directory.directory) else 1

    def drop(i: int) -> bool:
        return directory.file_io.delete_if(directory.path(i), found[i].__eq__, durable=True)

    while ids:
        require_same_table(table)
        ids, batch = ids[:-at_once], ids[-at_once:]
        dropped += sum(map_in_threads(drop, batch[::-1], _THREADS))
    return dropped


def drop_changelogs(table: Table, target_id: int) -> int:
    """Delete the changelogs after a snapshot; return their number."""
    manager = table.changelogs
    later = [i for i in manager.ids() if i > target_id]
    if later:
        manager.directory.delete_hint(LATEST)
    dropped = sum([manager.remove(i) for i in reversed(later)])
    manager.directory.file_io.sync_directory(manager.directory.directory)
    return dropped
