"""Creation, replacement, renaming, deletion and expiration of tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from paimon_sql.cache import Cache
from paimon_sql.errors import InvalidInputError, NoSuchSnapshotError
from paimon_sql.format.metadata.snapshot import Snapshot, Tag
from paimon_sql.format.options.operations.snapshot import TAG_CREATE_SUCCESS_FILE, TAG_DEFAULT_TIME_RETAINED
from paimon_sql.format.text.durations import MILLISECOND, format_duration
from paimon_sql.format.text.instants import current_millis, epoch_millis, show_instant
from paimon_sql.process import share
from paimon_sql.storage.commit.partition_registration import register_tags
from paimon_sql.storage.file_io import FileStatus
from paimon_sql.storage.iceberg import publish_quietly
from paimon_sql.storage.metadata.partial_changes import unknown_unless_final
from paimon_sql.storage.metadata.refs.tags import check_tag_name, write_success_file
from paimon_sql.storage.retention.files_to_delete import FilesToDelete
from paimon_sql.storage.retention.tags import files_of_tag, free_tagged, guard_tag, is_referenced, withdrawn
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import referenced_snapshot


@dataclass
class DeletedTags:
    """The result of deleting tags, in a dry run the plan.

    Attributes:
        deleted: the deleted tags.
        unknown: names without a tag.
        freed: for each deleted tag the files that nothing else retained.
    """

    deleted: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    freed: dict[str, FilesToDelete] = field(default_factory=dict)

    @property
    def files(self) -> FilesToDelete:
        """The deleted files of all tags."""
        all_files = FilesToDelete()
        for files in self.freed.values():
            all_files.add(files)
        return all_files


def create_tag(
    table: Table,
    name: str,
    snapshot_id: int | None = None,
    time_retained: timedelta | None = None,
    *,
    ignore_if_exists: bool = False,
    dry_run: bool = False,
) -> Tag:
    """Create a tag of a snapshot.

    Args:
        table: the table or branch.
        name: the tag's name.
        snapshot_id: the snapshot, possibly one that only a tag retains; the newest by default.
        time_retained: the retention time; by default ``tag.default-time-retained``, or forever.
        ignore_if_exists: return an existing tag of that name unchanged.
        dry_run: only return the tag.

    Raises:
        AlreadyExistsError: a tag of that name exists.
        NoSuchSnapshotError: the snapshot does not exist, or there is none.
        InvalidInputError: the name or the retention time is invalid.
    """
    check_tag_name(name)
    if ignore_if_exists and (existing := table.tags.find(name)) is not None:
        return existing
    snapshot, retained = _snapshot(table, snapshot_id), _retained(table, time_retained)
    if dry_run:
        if table.tags.exists(name):
            raise table.tags.taken(name)
        return Tag(snapshot, None, retained)
    tag = _create(table, name, snapshot, retained)
    _announce(table, name)
    publish_quietly(table)
    return tag


def replace_tag(
    table: Table,
    name: str,
    snapshot_id: int | None = None,
    time_retained: timedelta | None = None,
    *,
    dry_run: bool = False,
) -> tuple[Tag, FilesToDelete]:
    """Move an existing tag to another snapshot; the arguments are those of `create_tag`.

    Returns:
        The tag, and the files that only the old tag retained.

    Raises:
        NoSuchSnapshotError: the tag or the snapshot does not exist.
        InvalidInputError: as `create_tag`.
    """
    before = table.tags.get(name)
    snapshot, retained = _snapshot(table, snapshot_id), _retained(table, time_retained)
    if dry_run:
        is_same = before.snapshot.id == snapshot.id
        freed = FilesToDelete() if is_same else files_of_tag(table, before.snapshot, frozenset({name}))
        return Tag(snapshot, None, retained), freed
    # A guard tag retains the new snapshot while the old one is still tagged: there is no way back later.
    with guard_tag(table, snapshot, f"{name}-replaced"):
        table.tags.replace(name, snapshot, retained)
    _announce(table, name)
    publish_quietly(table)
    return table.tags.get(name), free_tagged(table, before.snapshot)


def rename_tag(table: Table, name: str, target: str, *, dry_run: bool = False) -> Tag:
    """Rename a tag; return it.

    Raises:
        NoSuchSnapshotError: the tag does not exist.
        AlreadyExistsError: a tag of the new name exists.
    """
    tag = table.tags.get(name)
    check_tag_name(target)
    if not dry_run:
        _unregister(table, name)
        table.tags.rename(name, target)
        _announce(table, target)
        publish_quietly(table)
    elif table.tags.exists(target):
        raise table.tags.taken(target)
    return tag


def delete_tags(table: Table, names: Sequence[str], *, dry_run: bool = False) -> DeletedTags:
    """Delete tags, and the files that only they retained; unknown names are ignored.

    Tags are deleted first: files that a crash leaves are found by the removal of orphan files.

    Raises:
        PaimonError: the tag is deleted, but not its files, as another reference that may need them cannot be read.
    """
    result = DeletedTags()
    for name in dict.fromkeys(names):
        tag = table.tags.find(name)
        if tag is not None and not dry_run:
            _unregister(table, name)
        if tag is None or not (dry_run or table.tags.remove(name)):
            result.unknown.append(name)
            continue
        result.deleted.append(name)
        if not dry_run:
            publish_quietly(table)  # otherwise Iceberg readers would still look for the snapshot's files
            result.freed[name] = free_tagged(table, tag.snapshot)
            continue
        files = files_of_tag(table, tag.snapshot, frozenset(result.deleted))
        files.remove(result.files)
        result.freed[name] = files
    return result


def _create(table: Table, name: str, snapshot: Snapshot, time_retained: timedelta | None) -> Tag:
    """Create a tag while a guard tag retains the snapshot: whatever happens to this call, a created tag is readable."""
    with guard_tag(table, snapshot, f"{name}-made") as guard:
        with unknown_unless_final(f"{table.name}: tag '{name}'", table.file_io, table.tags.path(name)):
            tag = table.tags.create(name, snapshot, time_retained)
        is_retained = is_referenced(table, snapshot, name, guard)
    if not is_retained:
        raise withdrawn(table, name, snapshot)
    return tag


def _announce(table: Table, name: str) -> None:
    """Register a tag and write its success file, by the table's options."""
    register_tags(table, made=[name])
    if table.options.get(TAG_CREATE_SUCCESS_FILE):
        write_success_file(table.file_io, table.tags.success_path(name))


def _unregister(table: Table, name: str) -> None:
    """Undo `_announce` before a tag is deleted."""
    register_tags(table, gone=[name])
    if table.options.get(TAG_CREATE_SUCCESS_FILE):
        table.file_io.delete(table.tags.success_path(name))


def _snapshot(table: Table, snapshot_id: int | None) -> Snapshot:
    if snapshot_id is None:
        latest = table.snapshots.latest()
        if latest is None:
            raise NoSuchSnapshotError(
                f"{table.name} has no snapshot yet to tag.", name="latest", remedy="Write rows first."
            )
        return latest
    return referenced_snapshot(table, snapshot_id)


def _retained(table: Table, given: timedelta | None) -> timedelta | None:
    if given is not None and given <= timedelta():
        raise InvalidInputError(
            "The retention time of a tag must be positive.", remedy="Use a duration such as '7 d' or '36 h'."
        )
    default: timedelta | None = table.options.get(TAG_DEFAULT_TIME_RETAINED)
    return default if given is None else given


_EPOCH = datetime(1970, 1, 1)
_WEST, _EAST = timedelta(hours=12, minutes=15) // MILLISECOND, timedelta(hours=14, minutes=15) // MILLISECOND
"""Max offsets of zones behind and ahead of UTC, plus some minutes for writing a file."""
_MAX_CACHED = 4096
_endless = share(lambda: Cache[FileStatus, bool](_MAX_CACHED))
"""Files of tags that never expire, so that commits need not read them again; a replaced tag has another status."""


@dataclass(frozen=True)
class ExpiredTag:
    """An expired tag, and why."""

    name: str
    tag: Tag
    reason: str


def expired_tags(table: Table, now: datetime | None = None, older_than: datetime | None = None) -> list[ExpiredTag]:
    """Return the expired tags, sorted by name (Paimon: `TagTimeExpire`).

    Args:
        table: the table or branch.
        now: a point in time, by default the current time; without a zone in that of this machine.
        older_than: tags created before it count too, whatever their retention time. The creation time of one without
            creation time or retention time is that of its file.

    Raises:
        CorruptFileError: a tag cannot be read.
    """
    current = current_millis() if now is None else _millis(now)
    before = None if older_than is None else _millis(older_than)
    found = []
    for status in table.tags.files():
        if before is None and _endless().get(status):
            continue
        name = table.tags.name_of(status)
        tag = table.tags.find(name)
        if tag is None:
            continue
        time_retained = tag.time_retained
        if tag.create_time is None or time_retained is None:
            _endless().put(status, True)
            created, time_retained = status.mtime_millis, None
        else:
            created = _creation_millis(tag.create_time, status)
        if time_retained is not None and current - created > time_retained // MILLISECOND:
            found.append(ExpiredTag(name, tag, f"its retention time was {format_duration(time_retained)}"))
        elif before is not None and created < before:
            found.append(ExpiredTag(name, tag, f"it was created at {show_instant(created)}"))
    return found


def _creation_millis(create_time: datetime, status: FileStatus) -> int:
    """Return the creation time of a tag, in milliseconds since the epoch.

    ``tagCreateTime`` is the wall clock of the machine that created the tag, in an unknown zone (Paimon's ``Tag``, a
    ``LocalDateTime``). If the clock of some zone showed that time when the file was written, the file's time is used.
    Otherwise the file is a later copy, and the zone of this machine is assumed.
    """
    wall = (create_time - _EPOCH) // MILLISECOND
    if -_WEST <= wall - status.mtime_millis <= _EAST:
        return status.mtime_millis
    return epoch_millis(wall)


def _millis(moment: datetime) -> int:
    if moment.tzinfo is None:
        return epoch_millis((moment - _EPOCH) // MILLISECOND)
    return int(moment.timestamp() * 1000)
