"""Snapshot files and their kin: what a commit left behind, tags that keep it, consumers that read on (spec: Snapshot).

A snapshot is one JSON file, ``snapshot/snapshot-<id>``; it names the manifest lists that make up the table at that
commit. A changelog file has the same form and outlives its snapshot; a tag is a snapshot with a life of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, TypeGuard

from paimon_sql.errors import SET_ASIDE, CorruptFileError
from paimon_sql.format.bytes.bounded import decoding, load_json
from paimon_sql.format.layout.file_names import is_file_name, unsafe_name
from paimon_sql.format.text.durations import parse_duration

_SHOWN = 80
SNAPSHOT_VERSION = 3
FIRST_SNAPSHOT_ID = 1
BATCH_COMMIT_IDENTIFIER = 2**63 - 1
"""The commit identifier of batch writes, which do not count their commits."""


class CommitKind(str, Enum):
    """What a commit did to the table's files."""

    APPEND = "APPEND"
    """Files were added, none removed."""
    COMPACT = "COMPACT"
    """Files were replaced by others that hold the same rows."""
    OVERWRITE = "OVERWRITE"
    """Files were removed, and perhaps others added in their place."""
    ANALYZE = "ANALYZE"
    """Table statistics were computed; no data changed."""


class Operation(str, Enum):
    """The statement behind a commit, as far as its writer said so."""

    WRITE = "WRITE"
    OVERWRITE = "OVERWRITE"
    DELETE = "DELETE"
    TRUNCATE = "TRUNCATE"
    UPDATE = "UPDATE"
    MERGE = "MERGE"
    CREATE_TABLE_AS_SELECT = "CREATE_TABLE_AS_SELECT"
    REPLACE_TABLE_AS_SELECT = "REPLACE_TABLE_AS_SELECT"
    CREATE_OR_REPLACE_TABLE_AS_SELECT = "CREATE_OR_REPLACE_TABLE_AS_SELECT"


@dataclass(frozen=True)
class Snapshot:
    """The table as one commit left it.

    ``base_manifest_list`` names the files before the commit, ``delta_manifest_list`` what it changed,
    ``changelog_manifest_list`` the changelog that it made. Sizes are bytes, times milliseconds since the epoch.
    ``total_record_count`` counts the rows of all files before they are merged; old versions may lack it.
    ``next_row_id`` is the first row id that is still free, ``properties`` what the committer wrote beside.
    Fields that may be None are absent from the file when they are.
    """

    id: int
    schema_id: int
    base_manifest_list: str
    delta_manifest_list: str
    commit_user: str
    commit_identifier: int
    commit_kind: CommitKind
    time_millis: int
    total_record_count: int | None
    delta_record_count: int | None
    version: int = SNAPSHOT_VERSION
    uuid: str | None = None
    base_manifest_list_size: int | None = None
    delta_manifest_list_size: int | None = None
    changelog_manifest_list: str | None = None
    changelog_manifest_list_size: int | None = None
    index_manifest: str | None = None
    writer_version: str | None = None
    log_offsets: Mapping[str, int] | None = field(default=None, hash=False)
    changelog_record_count: int | None = None
    watermark: int | None = None
    statistics: str | None = None
    properties: Mapping[str, str] | None = field(default=None, hash=False)
    next_row_id: int | None = None
    operation: str | None = None

    def to_json(self) -> str:
        """The text of the snapshot file."""
        return _text(self.members())

    def members(self) -> dict[str, Any]:
        """The members of the JSON object in the order of the file."""
        values = ((name, getattr(self, attribute)) for name, attribute in _MEMBERS.items())
        return {name: value for name, value in values if value is not None}


Changelog = Snapshot
"""A changelog file holds what its expired snapshot held."""

_MEMBERS = {
    "version": "version",
    "uuid": "uuid",
    "id": "id",
    "schemaId": "schema_id",
    "baseManifestList": "base_manifest_list",
    "baseManifestListSize": "base_manifest_list_size",
    "deltaManifestList": "delta_manifest_list",
    "deltaManifestListSize": "delta_manifest_list_size",
    "changelogManifestList": "changelog_manifest_list",
    "changelogManifestListSize": "changelog_manifest_list_size",
    "indexManifest": "index_manifest",
    "commitUser": "commit_user",
    "writerVersion": "writer_version",
    "commitIdentifier": "commit_identifier",
    "commitKind": "commit_kind",
    "timeMillis": "time_millis",
    "logOffsets": "log_offsets",
    "totalRecordCount": "total_record_count",
    "deltaRecordCount": "delta_record_count",
    "changelogRecordCount": "changelog_record_count",
    "watermark": "watermark",
    "statistics": "statistics",
    "properties": "properties",
    "nextRowId": "next_row_id",
    "operation": "operation",
}
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
"""The members that name files, by what they name."""
_LONG = range(-(2**63), 2**63)
_TEXTS = _MEMBERS.keys() - _NUMBERS - _OBJECTS


@dataclass(frozen=True)
class Tag:
    """A snapshot that is kept until its tag is deleted or expires.

    ``create_time`` is the wall clock of the writer, without a zone; ``time_retained`` is how long the tag lives from
    then on, for ever when it is None. Both are cut to microseconds.
    """

    snapshot: Snapshot
    create_time: datetime | None = None
    time_retained: timedelta | None = None

    def to_json(self) -> str:
        """The text of the tag file."""
        body = self.snapshot.members()
        if (at := self.create_time) is not None:
            body["tagCreateTime"] = [*at.timetuple()[:6], at.microsecond * 1000]
        if self.time_retained is not None:
            body["tagTimeRetained"] = self.time_retained.total_seconds()
        return _text(body)


@dataclass(frozen=True)
class Consumer:
    """How far a reader has come: ``next_snapshot`` and all later ones are kept for it."""

    next_snapshot: int

    def to_json(self) -> str:
        """The text of the consumer file."""
        return _text({"nextSnapshot": self.next_snapshot})


def parse_snapshot(text: str | bytes, path: str) -> Snapshot:
    """Read a snapshot or changelog file of any version; members that are not known are passed over.

    Args:
        text: the file's content.
        path: the file's path, named in errors.

    Raises:
        CorruptFileError: the text is no JSON object, lacks a member or holds one of a wrong type.
        UnsafePathError: it names a file outside of its folder.
    """
    return _snapshot(_members(text, path, "snapshot"), path)


def parse_tag(text: str | bytes, path: str) -> Tag:
    """Read a tag file; one of an old version holds a snapshot only.

    Raises:
        CorruptFileError: as for `parse_snapshot`, or a time that cannot be read.
    """
    body = _members(text, path, "tag")
    snapshot = _snapshot(body, path)
    with decoding("a tag file", path, SET_ASIDE):
        return Tag(snapshot, _local_time(body.get("tagCreateTime")), _duration(body.get("tagTimeRetained")))


def parse_consumer(text: str | bytes, path: str) -> Consumer:
    """Read a consumer file.

    Raises:
        CorruptFileError: the text is no JSON object with a number ``nextSnapshot``.
    """
    body = _members(text, path, "consumer")
    following = body.get("nextSnapshot")
    if _is_int(following):
        return Consumer(following)
    defect = "not a consumer file: nextSnapshot is missing or no number"
    raise CorruptFileError(defect, path=path, remedy=SET_ASIDE)


def _text(body: Mapping[str, Any]) -> str:
    return json.dumps(body, indent=2, ensure_ascii=False)


def _members(text: str | bytes, path: str, what: str) -> dict[str, Any]:
    with decoding(f"a {what} file", path, SET_ASIDE):
        body = load_json(text, parse_float=Decimal)
        if not isinstance(body, dict):
            raise ValueError("it holds no JSON object")
    return body


def _is_int(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number of 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and value in _LONG


def _snapshot(body: dict[str, Any], path: str) -> Snapshot:
    def fail(defect: str) -> CorruptFileError:
        return CorruptFileError(f"not a snapshot file: {defect}", path=path, remedy=SET_ASIDE)

    for name in _REQUIRED:
        if body.get(name) is None:
            raise fail(f"member {name} is missing")
    present = {name: body[name] for name in _MEMBERS if body.get(name) is not None}
    for name, value in present.items():
        if name in _NUMBERS and not _is_int(value):
            raise fail(f"member {name} is {_shown(value)} and no whole number")
        if name in _TEXTS and not isinstance(value, str):
            raise fail(f"member {name} is {_shown(value)} and no text")
        if name in _OBJECTS and not isinstance(value, dict):
            raise fail(f"member {name} is {_shown(value)} and no object")
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
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


_DEFAULTS: dict[str, Any] = {"version": 1, "total_record_count": None, "delta_record_count": None}
"""What a file of the first versions may lack."""


def _local_time(value: Any) -> datetime | None:
    """A wall-clock time: a list ``[year, month, day, hour, minute, second, nanosecond]`` or ISO text."""
    if value is None:
        return None
    if isinstance(value, str):
        whole, _, fraction = value.partition(".")
        return datetime.fromisoformat(f"{whole}.{fraction[:6]:0<6}" if fraction else whole)
    if not isinstance(value, list) or not 5 <= len(value) <= 7 or not all(map(_is_int, value)):
        raise ValueError(f"tagCreateTime is {_shown(value)}")
    year, month, day, hour, minute, second, nanos = [*value, 0, 0][:7]
    return datetime(year, month, day, hour, minute, second, nanos // 1000)


_LONGEST = timedelta.max.days * 86_400


def _duration(value: Any) -> timedelta | None:
    """A length of time: a number of seconds or ISO text such as ``PT24H``; longer than a timedelta is cut to it."""
    if value is None:
        return None
    if isinstance(value, str):
        return parse_duration(value)
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise ValueError(f"tagTimeRetained is {_shown(value)}")
    if value < -_LONGEST:
        raise ValueError("tagTimeRetained is too short")
    return timedelta.max if value > _LONGEST else timedelta(microseconds=int(value * 1_000_000))
