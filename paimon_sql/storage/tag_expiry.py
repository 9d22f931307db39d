"""Tags whose time is over: by the length of life that they bear, or as older than a time that somebody names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from paimon_sql.format.durations import format_duration
from paimon_sql.format.snapshot import Tag
from paimon_sql.storage.file_io import FileStatus
from paimon_sql.storage.table import Table

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
        now: the wall clock of this machine, which tags tell their creation by; the present one by default.
        older_than: tags made before it count too, however long they may live. One that does not tell when it was made
            or how long it lives is as old as its file.

    Raises:
        CorruptFileError: a tag cannot be read.
    """
    now = now or datetime.now()
    found = []
    for status in table.tags.files():
        if older_than is None and status in _endless:
            continue
        name = table.tags.name_of(status)
        tag = table.tags.find(name)
        if tag is None:
            continue
        made, life = tag.create_time, tag.time_retained
        if made is None or life is None:
            _remember(status)
            made, life = datetime.fromtimestamp(status.mtime_millis / 1000), None
        if life is not None and now - made > life:
            found.append(ExpiredTag(name, tag, f"it was to live {format_duration(life)}"))
        elif older_than is not None and made < older_than:
            found.append(ExpiredTag(name, tag, f"it was made at {made.isoformat(' ', 'milliseconds')}"))
    return found


def _remember(status: FileStatus) -> None:
    if len(_endless) >= _MOST_REMEMBERED:
        _endless.clear()
    _endless.add(status)
