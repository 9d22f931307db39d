"""Expiration of tags, by their retention time or by a given age."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from paimon_sql.format.metadata.snapshot import Tag
from paimon_sql.format.text.durations import MILLISECOND, format_duration
from paimon_sql.format.text.instants import current_millis, show_instant
from paimon_sql.format.text.wall_clock import epoch_millis
from paimon_sql.storage.file_io import FileStatus
from paimon_sql.storage.table.table import Table

_EPOCH = datetime(1970, 1, 1)
_WEST, _EAST = timedelta(hours=12, minutes=15) // MILLISECOND, timedelta(hours=14, minutes=15) // MILLISECOND
"""Max offsets of zones behind and ahead of UTC, plus some minutes for writing a file."""
_MAX_CACHED = 4096
_endless: set[FileStatus] = set()
"""Files of tags that never expire, so that commits need not read them again; a replaced tag has another status."""


@dataclass(frozen=True)
class ExpiredTag:
    """An expired tag, and why."""

    name: str
    tag: Tag
    reason: str


def expired_tags(table: Table, now: datetime | None = None, older_than: datetime | None = None) -> list[ExpiredTag]:
    """Return the expired tags, sorted by name.

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
        if before is None and status in _endless:
            continue
        name = table.tags.name_of(status)
        tag = table.tags.find(name)
        if tag is None:
            continue
        time_retained = tag.time_retained
        if tag.create_time is None or time_retained is None:
            _cache(status)
            created, time_retained = status.mtime_millis, None
        else:
            created = _creation_millis(tag.create_time, status)
        if time_retained is not None and current - created > time_retained // MILLISECOND:
            found.append(ExpiredTag(name, tag, f"it was to live {format_duration(time_retained)}"))
        elif before is not None and created < before:
            found.append(ExpiredTag(name, tag, f"it was made at {show_instant(created)}"))
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


def _cache(status: FileStatus) -> None:
    if len(_endless) >= _MAX_CACHED:
        _endless.clear()
    _endless.add(status)
