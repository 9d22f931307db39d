"""Metadata files that cannot be read are set aside, so that a table goes on from what can be read.

A loss of power can leave files empty or torn where their writer did not flush them. Nothing is deleted: a file that is
set aside stands in ``<table>/_unreadable`` under its old name with a UUID behind it. Nothing there is an orphan.
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
from paimon_sql.format.text.instants import present_millis, show_instant
from paimon_sql.storage.data_files.live_files import manifests_of
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.paths import join, name_of
from paimon_sql.storage.table.changelogs import ChangelogManager
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table

ASIDE = "_unreadable"
"""The directory of a table that takes them."""
_PAUSE = 0.05
"""Seconds between two looks at a file: what a writer is at is another file by then, or gone."""
_GROWING_MILLIS = 10 * 60 * 1000
"""How old a file must be where files do not come into being whole."""
_MEMBERS = {
    "user": re.compile(rb'"commitUser"\s*:\s*"([^"]{1,200})"'),
    "time": re.compile(rb'"timeMillis"\s*:\s*(\d{1,15})\b'),
    "rows": re.compile(rb'"deltaRecordCount"\s*:\s*(-?\d{1,18})\s*[,}]'),
    "id": re.compile(rb'"id"\s*:\s*(\d{1,18})\s*,'),
}
"""Members of a snapshot that may be left in a torn one."""

Parse = Callable[[bytes, str], object]


@dataclass
class Quarantined:
    """What was set aside of a branch, or would be.

    Attributes:
        paths: where the files stood.
        said: what was done, a sentence each, in the order of doing.
        problems: what was left as it is, and why.
    """

    paths: set[str] = field(default_factory=set)
    said: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Defect:
    """Why a file cannot be read, and what it holds."""

    why: str
    data: bytes


@dataclass(frozen=True)
class _Unreadable:
    """A file to be set aside: where it stands, what it is, why it cannot be read, and what is lost with it."""

    path: str
    name: str
    why: str
    lost: str


@dataclass(frozen=True)
class _Found:
    """Files to be set aside, and what holds without them."""

    files: list[_Unreadable]
    result: str = ""


def quarantine_unreadable(branch: Table, *, dry_run: bool = False) -> Quarantined:
    """Set the files of a branch aside that cannot be read, where it can go on without them.

    Those are torn snapshots and those above the newest one whose manifests can all be read, torn tags, changelogs and
    consumers, and torn schemas above the newest readable one that no snapshot needs. Where a catalog's server keeps the
    history nothing is done.

    Args:
        branch: the table or branch.
        dry_run: only say what would be done.

    Raises:
        PaimonError: the file system does not say what is there.
    """
    aside = Quarantined()
    if branch.authority is not None:
        return aside
    for find in (_snapshots, _named_files, _schemas):
        found = find(branch, aside)
        for one in found.files:
            target = join(branch.path, ASIDE, f"{_prefix(branch)}{name_of(one.path)}-{uuid.uuid4()}")
            if dry_run or _moved(branch, one.path, target):
                aside.paths.add(one.path)
                aside.said.append(f"{one.name} cannot be read: {one.why}; it was set aside as {target}. {one.lost}")
        aside.said += [found.result] if found.files and found.result else []
    branch.snapshots.forget()
    return aside


def _snapshots(branch: Table, aside: Quarantined) -> _Found:
    """Torn snapshots, and those above the newest of which everything can be read."""
    directory = branch.snapshots.directory
    ids = directory.versions()
    torn = {i: d for i in ids if (d := _defect(branch.file_io, directory.path(i), parse_snapshot)) is not None}
    broken, newest = _above_readable(branch, ids, torn)
    unreadable = sorted({**torn, **broken}.items())
    if unreadable and newest is None and (broken or ids != [FIRST_SNAPSHOT_ID]):
        # One lost manifest may make all of them unreadable, and what expired before them is not lost by this.
        why = "; ".join(f"{directory.path(i)}: {defect.why}" for i, defect in unreadable)
        aside.problems.append(
            f"none of its snapshots can be read, so that nothing was set aside. {why}. Restore a file from a copy, or"
            " CALL sys.rollback to a tag."
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
    """The snapshots above the newest readable one whose manifests cannot be read, and that one."""
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
    changelogs = ChangelogManager(branch.file_io, branch.paths.branch_root)
    found: list[tuple[str, str, Parse, str]] = [
        *(
            (branch.tags.path(n), f"tag '{n}'", parse_tag, "Lost is the tag; what only it kept is an orphan.")
            for n in branch.tags.names()
        ),
        *(
            (changelogs.directory.path(i), f"changelog {i}", parse_snapshot, "Lost is what it told.")
            for i in changelogs.ids()
        ),
        *(
            (branch.consumers.path(n), f"consumer '{n}'", parse_consumer, "Lost is how far it had come.")
            for n in branch.consumers.names()
        ),
    ]
    files = []
    for path, name, parse, lost in found:
        defect = _defect(branch.file_io, path, parse)
        if defect is not None:
            kept = _member(defect.data, "id")
            files.append(_Unreadable(path, f"{name} of snapshot {kept}" if kept else name, defect.why, lost))
    return _Found(files)


def _schemas(branch: Table, aside: Quarantined) -> _Found:
    """Torn schemas above the newest that can be read, unless something that can be read needs one of them."""
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
        files.append(_Unreadable(path, f"schema {i}", defect.why, "Lost is that change of the definition."))
    return _Found([])  # the look through what snapshots need says so


def _needed_schemas(branch: Table, gone: Collection[str]) -> set[int]:
    """The schemas that readable snapshots, tags and changelogs name."""
    changelogs = ChangelogManager(branch.file_io, branch.paths.branch_root)
    found = [branch.snapshots.directory.path(i) for i in branch.snapshots.directory.versions()]
    found += [branch.tags.path(name) for name in branch.tags.names()]
    found += [changelogs.directory.path(i) for i in changelogs.ids()]
    needed = set()
    for path in set(found) - set(gone):
        try:
            needed.add(parse_snapshot(branch.file_io.read_bytes(path), path).schema_id)
        except (MissingFileError, CorruptFileError):
            continue
    return needed


def _defect(file_io: FileIO, path: str, parse: Parse) -> _Defect | None:
    """What is wrong with a file; None if it can be read, is not there, or may still be growing.

    A file counts only if it is the same at a second look.
    """
    first = _look(file_io, path, parse)
    if first is None:
        return None
    if not file_io.can_create_exclusively(path):
        status = file_io.status(path)
        if status is None or status.mtime_millis > present_millis() - _GROWING_MILLIS:
            return None
    time.sleep(_PAUSE)
    second = _look(file_io, path, parse)
    return second if second is not None and second.data == first.data else None


def _look(file_io: FileIO, path: str, parse: Parse) -> _Defect | None:
    data = b""
    try:
        data = file_io.read_bytes(path)
        parse(data, path)
    except MissingFileError as error:
        return _Defect(error.message.rstrip("."), data) if data else None
    except CorruptFileError as error:
        return _Defect(error.message.removeprefix(f"{path}: ").rstrip("."), data)
    return None


def _moved(branch: Table, path: str, target: str) -> bool:
    """Whether this call set a file aside; while the table's lock is held no writer makes one of that name."""
    with branch.lock.held(branch.branch) as hold:
        hold.confirm()
        if not branch.file_io.exists(path):
            return False
        if not branch.file_io.rename(path, target):
            raise CommitConflictError(f"{target} exists already.", remedy="Run it again.")
        return True


def _lost(file_io: FileIO, path: str, data: bytes) -> str:
    """What is lost with a snapshot, as far as its file still tells."""
    user, millis, rows = (_member(data, name) for name in ("user", "time", "rows"))
    status = file_io.status(path)
    when = f"of {show_instant(int(millis))}" if millis else ""
    if not when and status is not None:
        when = f"written at {show_instant(status.mtime_millis)}"
    by = f"of user {user}" if user else "of an unknown user"
    many = "an unknown number of rows" if rows is None else f"{rows} rows"
    return f"Lost is the commit {by}, {when}, with {many}."


def _member(data: bytes, name: str) -> str | None:
    found = _MEMBERS[name].search(data)
    return found[1].decode(errors="replace") if found else None


def _prefix(branch: Table) -> str:
    return "" if branch.branch == MAIN_BRANCH else f"branch-{branch.branch}-"
