"""Tags whose time is over: by the length of life that they bear, or as older than a time that somebody names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from paimon_sql.format.metadata.snapshot import Tag
from paimon_sql.format.text.durations import MILLISECOND, format_duration
from paimon_sql.format.text.instants import present_millis, show_instant
from paimon_sql.format.text.wall_clock import epoch_millis
from paimon_sql.storage.file_io import FileStatus
from paimon_sql.storage.table.table import Table

_EPOCH = datetime(1970, 1, 1)
_WEST, _EAST = timedelta(hours=12, minutes=15) // MILLISECOND, timedelta(hours=14, minutes=15) // MILLISECOND
"""How far clocks of zones are behind and before UTC, with some minutes for the writing of a file."""
_MOST_REMEMBERED = 4096
_endless: set[FileStatus] = set()
"""Files of tags that live for ever, so that commits need not read them again; a replaced tag has another status."""


@dataclass(frozen=True)
class ExpiredTag:
    """A tag whose time is over, and why."""

    name: str
    tag: Tag
    reason: str


def expired_tags(table: Table, now: datetime | None = None, older_than: datetime | None = None) -> list[ExpiredTag]:
    """The tags whose time is over, sorted by name.

    Args:
        table: the table or branch.
        now: a point in time, without a zone in that of this machine; the present time by default.
        older_than: tags made before it count too, however long they may live. One that does not tell when it was made
            or how long it lives is as old as its file.

    Raises:
        CorruptFileError: a tag cannot be read.
    """
    present = present_millis() if now is None else _millis(now)
    before = None if older_than is None else _millis(older_than)
    found = []
    for status in table.tags.files():
        if before is None and status in _endless:
            continue
        name = table.tags.name_of(status)
        tag = table.tags.find(name)
        if tag is None:
            continue
        life = tag.time_retained
        if tag.create_time is None or life is None:
            _remember(status)
            made, life = status.mtime_millis, None
        else:
            made = _made(tag.create_time, status)
        if life is not None and present - made > life // MILLISECOND:
            found.append(ExpiredTag(name, tag, f"it was to live {format_duration(life)}"))
        elif before is not None and made < before:
            found.append(ExpiredTag(name, tag, f"it was made at {show_instant(made)}"))
    return found


def _made(create_time: datetime, status: FileStatus) -> int:
    """When a tag was made, in milliseconds since the epoch.

    ``tagCreateTime`` is the wall clock of the machine that made the tag, in a zone that it does not name (Paimon's
    ``Tag``, a ``LocalDateTime``). If some zone's clock showed that time when the file was written, the file tells the
    point in time. Otherwise the file is a later copy, and the zone of this machine is taken.
    """
    wall = (create_time - _EPOCH) // MILLISECOND
    if -_WEST <= wall - status.mtime_millis <= _EAST:
        return status.mtime_millis
    return epoch_millis(wall)


def _millis(moment: datetime) -> int:
    if moment.tzinfo is None:
        return epoch_millis((moment - _EPOCH) // MILLISECOND)
    return int(moment.timestamp() * 1000)


def _remember(status: FileStatus) -> None:
    if len(_endless) >= _MOST_REMEMBERED:
        _endless.clear()
    _endless.add(status)
