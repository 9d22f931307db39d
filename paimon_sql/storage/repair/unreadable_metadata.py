"""Quarantine: unreadable metadata files are moved aside, so that a table continues with the readable ones.

A power loss can leave files empty or torn if their writer did not flush them. Nothing is deleted: a quarantined file is
moved to ``<table>/_unreadable``, under its old name followed by a UUID. Files there are not orphans.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from paimon_sql.errors import CommitConflictError, CorruptFileError, MissingFileError
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.metadata.snapshot import FIRST_SNAPSHOT_ID, Snapshot, parse_consumer, parse_snapshot, parse_tag
from paimon_sql.format.schema.schema import parse_schema
from paimon_sql.format.text.instants import current_millis, show_instant
from paimon_sql.storage.data_files.live_files import manifests_of
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.paths import join, name_of
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table

ASIDE = "_unreadable"
"""The quarantine directory of a table."""
_PAUSE = 0.05
"""Seconds between two reads of a file: a file that is being written has changed by then, or does not exist any more."""
_GROWING_MILLIS = 10 * 60 * 1000
"""The min age of a file on file systems where incomplete files are visible."""
_MEMBERS = {
    "user": re.compile(rb'"commitUser"\s*:\s*"([^"]{1,200})"'),
    "time": re.compile(rb'"timeMillis"\s*:\s*(\d{1,15})\b'),
    "rows": re.compile(rb'"deltaRecordCount"\s*:\s*(-?\d{1,18})\s*[,}]'),
    "id": re.compile(rb'"id"\s*:\s*(\d{1,18})\s*,'),
}
"""Fields of a snapshot that may be readable in a torn one."""

Parse = Callable[[bytes, str], object]


@dataclass
class Quarantined:
    """The quarantined files of a branch, or those that would be.

    Attributes:
        paths: the original paths of the files.
        said: what was done, one sentence each, in order.
        problems: what was not changed, and why.
    """

    paths: set[str] = field(default_factory=set)
    said: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Defect:
    """Why a file is unreadable, and its content."""

    why: str
    data: bytes


@dataclass(frozen=True)
class _Unreadable:
    """A file to quarantine: path, name for messages, why it is unreadable, and what is lost with it."""

    path: str
    name: str
    why: str
    lost: str


@dataclass(frozen=True)
class _Found:
    """Files to quarantine, and the resulting state as a sentence."""

    files: list[_Unreadable]
    result: str = ""


def quarantine_unreadable(branch: Table, *, dry_run: bool = False) -> Quarantined:
    """Quarantine the unreadable files of a branch that it can do without.

    These are torn snapshots and snapshots above the latest one with readable manifests, torn tags, changelogs and
    consumers, and torn schemas above the latest readable one that no snapshot needs. Nothing is done for tables with
    version management by a catalog's server.

    Args:
        branch: the table or branch.
        dry_run: only report what would be done.

    Raises:
        PaimonError: the file system cannot be listed.
    """
    aside = Quarantined()
    prefix = "" if branch.branch == MAIN_BRANCH else f"branch-{branch.branch}-"
    if branch.version_management is not None:
        return aside
    for find in (_snapshots, _named_files, _schemas):
        found = find(branch, aside)
        for file in found.files:
            target = join(branch.path, ASIDE, f"{prefix}{name_of(file.path)}-{uuid.uuid4()}")
            if dry_run or _quarantine(branch, file.path, target):
                aside.paths.add(file.path)
                aside.said.append(f"{file.name} cannot be read: {file.why}; it was moved to {target}. {file.lost}")
        aside.said += [found.result] if found.files and found.result else []
    return aside


def _snapshots(branch: Table, aside: Quarantined) -> _Found:
    """Torn snapshots, and those above the latest one with readable manifests."""
    directory = branch.snapshots.directory
    ids = directory.versions()
    torn = {i: d for i in ids if (d := _defect(branch.file_io, directory.path(i), parse_snapshot)) is not None}
    broken, newest = _above_readable(branch, ids, torn)
    unreadable = sorted({**torn, **broken}.items())
    if unreadable and newest is None and (broken or ids != [FIRST_SNAPSHOT_ID]):
        # One lost manifest may make all of them unreadable, and rows of commits with expired snapshots are not lost.
        why = "; ".join(f"{directory.path(i)}: {defect.why}" for i, defect in unreadable)
        aside.problems.append(
            f"none of its snapshots can be read, so nothing was moved aside. {why}. Restore a file from a copy,"
            " or CALL sys.rollback to a tag."
        )
        return _Found([])
    files = [
        _Unreadable(path, f"snapshot {i}", defect.why, _lost(branch.file_io, path, defect.data))
        for i, defect in unreadable
        for path in [directory.path(i)]
    ]
    if newest is None:
        return _Found(files, "no snapshot can be read; the table is empty now.")
    return _Found(files, f"snapshot {newest} is the newest one now." if newest < ids[-1] else "")


def _above_readable(branch: Table, ids: list[int], torn: Collection[int]) -> tuple[dict[int, _Defect], int | None]:
    """The snapshots with unreadable manifests above the latest readable one, and the id of that one."""
    broken: dict[int, _Defect] = {}
    for i in reversed(ids):
        if i not in torn:
            defect = _defect(branch.file_io, branch.snapshots.directory.path(i), _manifests_of(branch))
            if defect is None:
                return broken, i
            broken[i] = defect
    return broken, None


def _manifests_of(branch: Table) -> Parse:
    def read(data: bytes, path: str) -> Snapshot:
        snapshot = parse_snapshot(data, path)
        for meta in manifests_of(branch, snapshot):
            branch.manifests.read_uncached(meta.file_name)
        index_entries(branch, snapshot)
        return snapshot

    return read


def _named_files(branch: Table, aside: Quarantined) -> _Found:
    """Torn tags, changelogs and consumers."""
    changelogs = branch.changelogs
    tags, consumers = branch.tags, branch.consumers
    tag_lost, changes_lost = "The tag is lost; files that only it kept are orphan files.", "Its changes are lost."
    candidates: list[tuple[str, str, Parse, str]] = [
        *((tags.path(n), f"tag '{n}'", parse_tag, tag_lost) for n in tags.names()),
        *((changelogs.directory.path(i), f"changelog {i}", parse_snapshot, changes_lost) for i in changelogs.ids()),
        *((consumers.path(n), f"consumer '{n}'", parse_consumer, "Its progress is lost.") for n in consumers.names()),
    ]
    files = []
    for path, name, parse, lost in candidates:
        defect = _defect(branch.file_io, path, parse)
        if defect is not None:
            number = _member(defect.data, "id")
            files.append(_Unreadable(path, f"{name} of snapshot {number}" if number else name, defect.why, lost))
    return _Found(files)


def _schemas(branch: Table, aside: Quarantined) -> _Found:
    """Torn schemas above the latest readable one, unless a readable file needs one of them."""
    directory = branch.schemas.directory
    needed = _needed_schemas(branch, aside.paths)
    files: list[_Unreadable] = []
    for i in reversed(directory.versions()):
        path = directory.path(i)
        defect = _defect(branch.file_io, path, parse_schema)
        if defect is None:
            return _Found(files, f"schema {i} is the newest one now.")
        if i in needed:
            break
        files.append(_Unreadable(path, f"schema {i}", defect.why, "That change of the definition is lost."))
    return _Found([])  # the check of the snapshots' metadata reports it


def _needed_schemas(branch: Table, quarantined: Collection[str]) -> set[int]:
    """The schemas that readable snapshots, tags and changelogs name."""
    changelogs = branch.changelogs
    found = [branch.snapshots.directory.path(i) for i in branch.snapshots.directory.versions()]
    found += [branch.tags.path(name) for name in branch.tags.names()]
    found += [changelogs.directory.path(i) for i in changelogs.ids()]
    needed = set()
    for path in set(found) - set(quarantined):
        try:
            needed.add(parse_snapshot(branch.file_io.read_bytes(path), path).schema_id)
        except (MissingFileError, CorruptFileError):
            continue
    return needed


def _defect(file_io: FileIO, path: str, parse: Parse) -> _Defect | None:
    """Return the defect of a file; None if it is readable, does not exist, or may still be growing.

    A file counts as defective only if a second read gives the same content.
    """
    first = _read_defect(file_io, path, parse)
    if first is None:
        return None
    if not file_io.can_create_exclusively(path):
        status = file_io.status(path)
        if status is None or status.mtime_millis > current_millis() - _GROWING_MILLIS:
            return None
    time.sleep(_PAUSE)
    second = _read_defect(file_io, path, parse)
    return second if second is not None and second.data == first.data else None


def _read_defect(file_io: FileIO, path: str, parse: Parse) -> _Defect | None:
    data = b""
    try:
        data = file_io.read_bytes(path)
        parse(data, path)
    except MissingFileError as error:
        return _Defect(error.message.rstrip("."), data) if data else None
    except CorruptFileError as error:
        return _Defect(error.message.removeprefix(f"{path}: ").rstrip("."), data)
    return None


def _quarantine(branch: Table, path: str, target: str) -> bool:
    """Move a file to the quarantine; return whether it existed. The lock keeps writers from creating it again."""
    with branch.lock.acquire(branch.branch) as hold:
        hold.confirm()
        if not branch.file_io.exists(path):
            return False
        if not branch.file_io.rename(path, target):
            raise CommitConflictError(f"{target} exists already.", remedy="Run it again.")
        return True


def _lost(file_io: FileIO, path: str, data: bytes) -> str:
    """Describe what is lost with a snapshot, by the readable fields of its file."""
    user, millis, rows = (_member(data, name) for name in ("user", "time", "rows"))
    status = file_io.status(path)
    when = f"of {show_instant(int(millis))}" if millis else ""
    if not when and status is not None:
        when = f"written at {show_instant(status.mtime_millis)}"
    by = f"of user {user}" if user else "of an unknown user"
    row_count = "an unknown number of rows" if rows is None else f"{rows} rows"
    return f"The commit {by}, {when}, with {row_count}, is lost."


def _member(data: bytes, name: str) -> str | None:
    found = _MEMBERS[name].search(data)
    return found[1].decode(errors="replace") if found else None
