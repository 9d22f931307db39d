"""Snapshot, changelog, tag and consumer files (spec: Snapshot).

A snapshot is a JSON file, ``snapshot/snapshot-<id>``, that names the manifest lists of the table after a commit. A
changelog file is the copy of an expired snapshot; a tag is a copy of a snapshot with its own retention.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, TypeGuard

from paimon_sql.errors import REPAIR_REMEDY, CorruptFileError
from paimon_sql.format.bytes.bounded import decoding, load_json
from paimon_sql.format.layout.paths import is_file_name, unsafe_name
from paimon_sql.format.text.durations import parse_duration

_MAX_SHOWN = 80
SNAPSHOT_VERSION = 3
FIRST_SNAPSHOT_ID = 1
BATCH_COMMIT_IDENTIFIER = 2**63 - 1
"""Commit identifier of batch writes, which do not number their commits."""


class CommitKind(str, Enum):
    """How a commit changed the table's files (Paimon: `Snapshot.CommitKind`)."""

    APPEND = "APPEND"
    """Files were added, none removed."""
    COMPACT = "COMPACT"
    """Files were replaced by others with the same rows."""
    OVERWRITE = "OVERWRITE"
    """Files were removed, and perhaps others added in their place."""
    ANALYZE = "ANALYZE"
    """Table statistics were computed; no data changed."""


class Operation(str, Enum):
    """The statement that made a commit, if its writer recorded it."""

    WRITE = "WRITE"
    OVERWRITE = "OVERWRITE"
    DELETE = "DELETE"
    TRUNCATE = "TRUNCATE"
    UPDATE = "UPDATE"
    MERGE = "MERGE"
    CREATE_TABLE_AS_SELECT = "CREATE_TABLE_AS_SELECT"
    REPLACE_TABLE_AS_SELECT = "REPLACE_TABLE_AS_SELECT"
    CREATE_OR_REPLACE_TABLE_AS_SELECT = "CREATE_OR_REPLACE_TABLE_AS_SELECT"


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """State of a table, created by a commit (Paimon: `Snapshot`); its members are in the order of the file.

    ``base_manifest_list`` lists the files before the commit, ``delta_manifest_list`` its changes,
    ``changelog_manifest_list`` its changelog. Sizes are bytes, times milliseconds since the epoch.
    ``total_record_count`` is the number of rows of all files before merging; old versions may lack it.
    ``next_row_id`` is the first free row id, ``properties`` are additional data of the committer.
    Fields that are None are absent from the file.
    """

    version: int = SNAPSHOT_VERSION
    uuid: str | None = None
    id: int
    schema_id: int
    base_manifest_list: str
    base_manifest_list_size: int | None = None
    delta_manifest_list: str
    delta_manifest_list_size: int | None = None
    changelog_manifest_list: str | None = None
    changelog_manifest_list_size: int | None = None
    index_manifest: str | None = None
    commit_user: str
    writer_version: str | None = None
    commit_identifier: int
    commit_kind: CommitKind
    time_millis: int
    log_offsets: Mapping[str, int] | None = field(default=None, hash=False)
    total_record_count: int | None
    delta_record_count: int | None
    changelog_record_count: int | None = None
    watermark: int | None = None
    statistics: str | None = None
    properties: Mapping[str, str] | None = field(default=None, hash=False)
    next_row_id: int | None = None
    operation: str | None = None

    def to_json(self) -> str:
        """The JSON of the snapshot file."""
        return _text(self.members())

    def members(self) -> dict[str, object]:
        """The members of the JSON object in the order of the file."""
        values = ((name, getattr(self, attribute)) for name, attribute in _MEMBERS.items())
        return {name: value for name, value in values if value is not None}


Changelog = Snapshot
"""A changelog file has the content of its expired snapshot."""

_MEMBERS = {re.sub("_(.)", lambda match: match[1].upper(), f.name): f.name for f in fields(Snapshot)}
"""The attributes by member of the JSON object."""
_REQUIRED = ("id", "schemaId", "baseManifestList", "deltaManifestList", "commitUser", "commitIdentifier", "timeMillis")
_COUNTS = {name for name, attribute in _MEMBERS.items() if attribute.endswith(("_size", "_count", "_id", "_millis"))}
_NUMBERS = _COUNTS | {"version", "id", "commitIdentifier", "watermark"}
_OBJECTS = {"logOffsets", "properties"}
_FILES = {
    "baseManifestList": "the manifest list",
    "deltaManifestList": "the manifest list",
    "changelogManifestList": "the manifest list",
    "indexManifest": "the index manifest",
    "statistics": "the statistics file",
}
"""The members that name files, and what each names."""
_LONG = range(-(2**63), 2**63)
_STRINGS = _MEMBERS.keys() - _NUMBERS - _OBJECTS


@dataclass(frozen=True)
class Tag:
    """A snapshot that is retained until its tag is deleted or expires (Paimon: `Tag`).

    ``create_time`` is the writer's wall clock, without a zone; ``time_retained`` is the tag's time to live from then
    on, or None for forever. Both are truncated to microseconds.
    """

    snapshot: Snapshot
    create_time: datetime | None = None
    time_retained: timedelta | None = None

    def to_json(self) -> str:
        """The JSON of the tag file."""
        body = self.snapshot.members()
        if (at := self.create_time) is not None:
            body["tagCreateTime"] = [*at.timetuple()[:6], at.microsecond * 1000]
        if self.time_retained is not None:
            body["tagTimeRetained"] = self.time_retained.total_seconds()
        return _text(body)


@dataclass(frozen=True)
class Consumer:
    """Progress of a reader: ``next_snapshot`` and all later ones are retained for it."""

    next_snapshot: int

    def to_json(self) -> str:
        """The JSON of the consumer file."""
        return _text({"nextSnapshot": self.next_snapshot})


def parse_snapshot(text: str | bytes, path: str) -> Snapshot:
    """Parse a snapshot or changelog file of any version; unknown members are ignored.

    Args:
        text: the file's content.
        path: the file's path, for error messages.

    Raises:
        CorruptFileError: the text is not a JSON object, lacks a member or has one of a wrong type.
        UnsafePathError: it names a file outside of its directory.
    """
    return _snapshot(_members(text, path, "snapshot"), path)


def parse_tag(text: str | bytes, path: str) -> Tag:
    """Parse a tag file; one of an old version is only a snapshot.

    Raises:
        CorruptFileError: as in `parse_snapshot`, or a time is invalid.
    """
    body = _members(text, path, "tag")
    snapshot = _snapshot(body, path)
    with decoding("a tag file", path, REPAIR_REMEDY):
        return Tag(snapshot, _local_time(body.get("tagCreateTime")), _duration(body.get("tagTimeRetained")))


def parse_consumer(text: str | bytes, path: str) -> Consumer:
    """Parse a consumer file.

    Raises:
        CorruptFileError: the text is not a JSON object with a number ``nextSnapshot``.
    """
    body = _members(text, path, "consumer")
    following = body.get("nextSnapshot")
    if _is_int(following):
        return Consumer(following)
    defect = "not a consumer file: nextSnapshot is missing or not a number"
    raise CorruptFileError(defect, path=path, remedy=REPAIR_REMEDY)


def _text(body: Mapping[str, object]) -> str:
    return json.dumps(body, indent=2, ensure_ascii=False)


def _members(text: str | bytes, path: str, what: str) -> dict[str, Any]:
    with decoding(f"a {what} file", path, REPAIR_REMEDY):
        body = load_json(text, parse_float=Decimal)
        if not isinstance(body, dict):
            raise ValueError("it holds no JSON object")
    return body


def _is_int(value: object) -> TypeGuard[int]:
    """Whether a value is an integer of 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and value in _LONG


def _snapshot(body: dict[str, Any], path: str) -> Snapshot:
    def fail(defect: str) -> CorruptFileError:
        return CorruptFileError(f"not a snapshot file: {defect}", path=path, remedy=REPAIR_REMEDY)

    for name in _REQUIRED:
        if body.get(name) is None:
            raise fail(f"member {name} is missing")
    present = {name: body[name] for name in _MEMBERS if body.get(name) is not None}
    for name, value in present.items():
        if name in _NUMBERS and not _is_int(value):
            raise fail(f"member {name} is {_shown(value)} and not an integer")
        if name in _STRINGS and not isinstance(value, str):
            raise fail(f"member {name} is {_shown(value)} and not a string")
        if name in _OBJECTS and not isinstance(value, dict):
            raise fail(f"member {name} is {_shown(value)} and not an object")
        if name in _FILES and not is_file_name(value):
            raise unsafe_name(value, _FILES[name], path)
    try:
        kind = CommitKind(body.get("commitKind"))
    except ValueError as error:
        raise fail(f"commitKind is {_shown(body.get('commitKind'))}") from error
    values = {_MEMBERS[name]: value for name, value in present.items()}
    values["commit_kind"] = kind
    return Snapshot(**{**_DEFAULTS, **values})


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


_DEFAULTS = {"version": 1, "total_record_count": None, "delta_record_count": None}
"""Members that files of the first versions may lack."""


def _local_time(value: object) -> datetime | None:
    """Parse a wall-clock time: ``[year, month, day, hour, minute, second, nanosecond]``, or an ISO string."""
    if value is None:
        return None
    if isinstance(value, str):
        seconds, _, fraction = value.partition(".")
        return datetime.fromisoformat(f"{seconds}.{fraction[:6]:0<6}" if fraction else seconds)
    if not isinstance(value, list) or not 5 <= len(value) <= 7 or not all(map(_is_int, value)):
        raise ValueError(f"tagCreateTime is {_shown(value)}")
    year, month, day, hour, minute, second, nanos = [*value, 0, 0][:7]
    return datetime(year, month, day, hour, minute, second, nanos // 1000)


_MAX_SECONDS = timedelta.max.days * 86_400


def _duration(value: object) -> timedelta | None:
    """Parse a duration: seconds, or an ISO string such as ``PT24H``; clamped to the max timedelta."""
    if value is None:
        return None
    if isinstance(value, str):
        return parse_duration(value)
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise ValueError(f"tagTimeRetained is {_shown(value)}")
    if value < -_MAX_SECONDS:
        raise ValueError("tagTimeRetained is too short")
    return timedelta.max if value > _MAX_SECONDS else timedelta(microseconds=int(value * 1_000_000))
