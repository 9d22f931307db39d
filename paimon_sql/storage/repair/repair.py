"""Repair of a table's metadata: unreadable files are quarantined, hint files corrected, other problems reported.

A power loss can leave files empty or torn if their writer did not flush them. Nothing is deleted: a quarantined file is
moved to ``<table>/_unreadable``, under its old name followed by a UUID. Files there are not orphans.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

from paimon_sql import errors
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.metadata.snapshot import FIRST_SNAPSHOT_ID, Snapshot, parse_consumer, parse_snapshot, parse_tag
from paimon_sql.format.schema.schema import parse_schema
from paimon_sql.format.text.instants import current_millis, show_instant
from paimon_sql.storage.data_files.live_files import manifests_of
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.paths import join, name_of
from paimon_sql.storage.iceberg import publish_quietly
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import restore_snapshot
from paimon_sql.storage.metadata.numbered_files import EARLIEST, LATEST, NumberedDirectory
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.retention.retained_references import other_branches
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


_PATIENCE = 1.0
"""Seconds in which a running writer withdraws a late snapshot."""
_ALL = 2**31 - 1
_NOTHING_MORE = Retention(max=_ALL, min=_ALL, older_than_millis=0, limit=1)


@dataclass
class Findings:
    """The findings of a repair, one sentence each.

    Attributes:
        repaired: what was repaired, or would be.
        problems: what only a backup of a file or another statement can repair.
        quarantined: the paths of quarantined files, or those that would be.
    """

    repaired: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    quarantined: set[str] = field(default_factory=set)

    def take(self, other: Findings, label: str = "") -> None:
        """Add the findings of another table or branch, each after the label."""
        self.repaired += [f"{label}{repaired}" for repaired in other.repaired]
        self.problems += [f"{label}{problem}" for problem in other.problems]
        self.quarantined |= other.quarantined


def give_up_before(table: Table, snapshot_id: int, *, dry_run: bool = False) -> tuple[int, int]:
    """Abandon all snapshots before a given one; return the former earliest snapshot, and the number of abandoned ones.

    Args:
        table: the table or branch.
        snapshot_id: the new earliest snapshot, after a gap; none may be missing from there to the latest.
        dry_run: only report what would be done.

    Raises:
        NoSuchSnapshotError: the table has no snapshot.
        InvalidInputError: there is no gap before that snapshot, or there is one after it.
    """
    directory = table.snapshots.directory
    ids, earliest, latest = directory.versions(), directory.earliest(), directory.latest()
    if earliest is None or latest is None:
        raise errors.NoSuchSnapshotError(
            f"{table.name} has no snapshot, so there is no first one.", name=str(snapshot_id)
        )
    if not earliest <= snapshot_id <= latest:
        raise errors.InvalidInputError(
            f"{table.name}: snapshot {snapshot_id} cannot be the first one: retained are {earliest} to {latest}."
        )
    missing = next((i for i in range(snapshot_id, latest + 1) if i not in ids), None)
    if missing is not None:
        raise errors.InvalidInputError(
            f"{table.name}: snapshot {snapshot_id} cannot be the first one: snapshot {missing} does not exist.",
            remedy="Choose the first snapshot after the last gap.",
        )
    if snapshot_id != earliest and snapshot_id - 1 in ids:
        raise errors.InvalidInputError(
            f"{table.name}: there is no gap before snapshot {snapshot_id}: snapshot {snapshot_id - 1} exists.",
            remedy="To expire old snapshots, CALL sys.expire_snapshots.",
        )
    if not dry_run:
        directory.reset_hint(EARLIEST, snapshot_id)
        publish_quietly(table)
    return earliest, sum(earliest <= i < snapshot_id for i in ids)


def repair(table: Table, *, dry_run: bool = False) -> Findings:
    """Check the metadata of a table and of its branches, and repair what can be repaired.

    Unreadable files are quarantined if the table can do without them. Hint files are corrected, and an interrupted
    expiration is finished. All files that snapshots, tags, changelogs and consumers refer to are checked, except data
    files, and manifests are read.

    Args:
        table: the table, opened by any of its branches.
        dry_run: only report what would be done.
    """
    found = Findings()
    for branch in [table, *other_branches(table)]:
        own = Findings(quarantined=found.quarantined)
        for check in (quarantine_unreadable, _late_snapshots, _schemas, _hints, _gaps, _contents, _consumers):
            with _problems(own):
                check(branch, own, dry_run)
        if not found.problems and not own.problems:
            with _problems(own):
                _leftovers(branch, own, dry_run)
        of_branch = "" if branch.branch == MAIN_BRANCH else f", branch '{branch.branch}'"
        found.take(own, f"{branch.name}{of_branch}: ")
    if not dry_run:
        publish_quietly(table)
    return found


def _late_snapshots(branch: Table, found: Findings, dry_run: bool) -> None:
    """Finish an interrupted rollback: restore its target, and withdraw remaining and late snapshots.

    A running writer withdraws its own late snapshot itself, so it gets time for that first.
    """
    if branch.version_management is not None or branch.snapshots.rewinds.read() is None:
        return
    target = branch.snapshots.latest()
    if target is not None and not branch.snapshots.exists(target.id):
        found.repaired.append(f"snapshot {target.id}, the target of a rollback, is restored.")
        if not dry_run:
            restore_snapshot(branch, target)
    if not branch.snapshots.late_snapshots():
        return
    time.sleep(_PATIENCE)
    for number in reversed(branch.snapshots.late_snapshots()):
        path = branch.snapshots.directory.path(number)
        found.repaired.append(f"snapshot {number}, which a rollback has dropped or overtaken, is removed.")
        found.quarantined.add(path)
        if not dry_run:
            branch.file_io.delete_durably(path)


def _versions(directory: NumberedDirectory, found: Findings) -> list[int]:
    """All version numbers, without those of files that were quarantined, or would be."""
    return [i for i in directory.versions() if directory.path(i) not in found.quarantined]


def _schemas(branch: Table, found: Findings, dry_run: bool) -> None:
    if not [branch.schemas.get(i) for i in _versions(branch.schemas.directory, found)]:
        found.problems.append("it has no schema. CALL sys.delete_branch.")


def _hints(branch: Table, found: Findings, dry_run: bool) -> None:
    for directory in (branch.snapshots.directory, branch.changelogs.directory):
        numbers = _versions(directory, found)
        for hint, correct in _correct_hints(directory, numbers):
            current = directory.hint(hint)
            shown = "nothing" if current is None else current
            path = f"{directory.directory}/{hint}"
            if correct is None and branch.file_io.exists(path):
                found.repaired.append(f"{path} contained {shown}, but no version exists; it was removed.")
                if not dry_run:
                    directory.delete_hint(hint)
            elif correct is not None and current != correct:
                lost = " What it named is lost." if current is not None and current > correct else ""
                found.repaired.append(f"{path} contained {shown}; it was set to {correct}.{lost}")
                if not dry_run:
                    directory.reset_hint(hint, correct)


def _correct_hints(directory: NumberedDirectory, numbers: Sequence[int]) -> Iterator[tuple[str, int | None]]:
    """Each hint file with its correct value; None for one that must not exist."""
    yield LATEST, max(numbers, default=None)
    earliest = directory.hint(EARLIEST)
    # If it names an existing version, those before it are left by an interrupted expiration.
    yield EARLIEST, earliest if earliest in numbers else min(numbers, default=None)


def _gaps(branch: Table, found: Findings, dry_run: bool) -> None:
    directory = branch.snapshots.directory
    numbers = _versions(directory, found)
    first = max(directory.earliest() or 0, min(numbers, default=0))
    gaps = [range(a + 1, b) for a, b in pairwise([first - 1, *(i for i in numbers if i >= first)]) if b - a > 1]
    missing = [gap for gap in gaps if directory.path(gap.start) in found.quarantined or not directory.exists(gap.start)]
    if missing:
        first = next(i for i in numbers if i >= missing[-1].stop)
        found.problems.append(
            f"{sum(map(len, missing))} snapshots are missing, including {missing[0].start}."
            f" CALL sys.repair_earliest_snapshot(.., snapshot_id => {first}) gives up those before."
        )


def _contents(branch: Table, found: Findings, dry_run: bool) -> None:
    """Read all metadata files that refer to other files, each one once."""
    earliest = branch.snapshots.earliest_id() or 0
    changelogs = branch.changelogs
    seen: set[str] = set()
    for i in _versions(branch.snapshots.directory, found):
        if i >= earliest:
            with _problems(found, f"snapshot {i}"):
                _read_all(branch, branch.snapshots.get(i), seen)
    for name in branch.tags.names():
        if branch.tags.path(name) not in found.quarantined:
            with _problems(found, f"tag '{name}'"):
                _read_all(branch, branch.tags.get(name).snapshot, seen)
    for i in _versions(changelogs.directory, found):
        with _problems(found, f"changelog {i}"):
            changelogs.find(i)


def _read_all(branch: Table, snapshot: Snapshot, seen: set[str]) -> None:
    branch.schemas.get(snapshot.schema_id)
    _read_manifests(branch, snapshot, seen)


def _read_manifests(branch: Table, snapshot: Snapshot, seen: set[str]) -> None:
    for meta in manifests_of(branch, snapshot):
        if meta.file_name not in seen:
            branch.manifests.read_uncached(meta.file_name)
            seen.add(meta.file_name)
    index_entries(branch, snapshot)


def _consumers(branch: Table, found: Findings, dry_run: bool) -> None:
    for name in branch.consumers.names():
        if branch.consumers.path(name) not in found.quarantined:
            with _problems(found, f"consumer '{name}'"):
                branch.consumers.find(name)


def _leftovers(branch: Table, found: Findings, dry_run: bool) -> None:
    earliest = branch.snapshots.earliest_id() or 0
    remaining = sum(i < earliest for i in branch.snapshots.directory.versions())
    if remaining:
        found.repaired.append(f"an interrupted expiration was completed; {remaining} snapshots expired.")
        if not dry_run:
            expire_snapshots(branch, _NOTHING_MORE)


@contextmanager
def _problems(found: Findings, what: str = "") -> Iterator[None]:
    try:
        yield
    except errors.PaimonError as error:
        found.problems.append(f"{what} cannot be read: {error}" if what else str(error))


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


Unreadable = tuple[list[_Unreadable], str]
"""Files to quarantine, and the resulting state as a sentence, or none."""


def quarantine_unreadable(branch: Table, found: Findings, dry_run: bool) -> None:
    """Quarantine the unreadable files of a branch that it can do without.

    These are torn snapshots and snapshots above the latest one with readable manifests, torn tags, changelogs and
    consumers, and torn schemas above the latest readable one that no snapshot needs. Nothing is done for tables with
    version management by a catalog's server.

    Raises:
        PaimonError: the file system cannot be listed.
    """
    if branch.version_management is not None:
        return
    prefix = "" if branch.branch == MAIN_BRANCH else f"branch-{branch.branch}-"
    for find in (_unreadable_snapshots, _unreadable_refs, _unreadable_schemas):
        files, result = find(branch, found)
        for file in files:
            target = join(branch.path, ASIDE, f"{prefix}{name_of(file.path)}-{uuid.uuid4()}")
            if dry_run or _quarantine(branch, file.path, target):
                found.quarantined.add(file.path)
                found.repaired.append(f"{file.name} cannot be read: {file.why}; it was moved to {target}. {file.lost}")
        found.repaired += [result] if files and result else []


def _unreadable_snapshots(branch: Table, found: Findings) -> Unreadable:
    """Torn snapshots, and those above the latest one with readable manifests."""
    directory = branch.snapshots.directory
    ids = directory.versions()
    torn = {i: d for i in ids if (d := _defect(branch.file_io, directory.path(i), parse_snapshot)) is not None}
    broken, newest = _above_readable(branch, ids, torn)
    unreadable = sorted({**torn, **broken}.items())
    if unreadable and newest is None and (broken or ids != [FIRST_SNAPSHOT_ID]):
        # One lost manifest may make all of them unreadable, and rows of commits with expired snapshots are not lost.
        why = "; ".join(f"{directory.path(i)}: {defect.why}" for i, defect in unreadable)
        found.problems.append(
            f"none of its snapshots can be read, so nothing was moved aside. {why}. Restore a file from a copy,"
            " or CALL sys.rollback to a tag."
        )
        return [], ""
    files = []
    for i, defect in unreadable:
        lost = _lost(branch.file_io, directory.path(i), defect.data)
        files.append(_Unreadable(directory.path(i), f"snapshot {i}", defect.why, lost))
    if newest is None:
        return files, "no snapshot can be read; the table is empty now."
    return files, f"snapshot {newest} is the newest one now." if newest < ids[-1] else ""


def _above_readable(branch: Table, ids: list[int], torn: Collection[int]) -> tuple[dict[int, _Defect], int | None]:
    """The snapshots with unreadable manifests above the latest readable one, and the id of that one."""
    broken: dict[int, _Defect] = {}

    def read(data: bytes, path: str) -> None:
        _read_manifests(branch, parse_snapshot(data, path), set())

    for i in reversed(ids):
        if i not in torn:
            defect = _defect(branch.file_io, branch.snapshots.directory.path(i), read)
            if defect is None:
                return broken, i
            broken[i] = defect
    return broken, None


def _unreadable_refs(branch: Table, found: Findings) -> Unreadable:
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
    return files, ""


def _unreadable_schemas(branch: Table, found: Findings) -> Unreadable:
    """Torn schemas above the latest readable one, unless a readable file needs one of them."""
    directory = branch.schemas.directory
    needed = _needed_schemas(branch, found.quarantined)
    files: list[_Unreadable] = []
    for i in reversed(directory.versions()):
        path = directory.path(i)
        defect = _defect(branch.file_io, path, parse_schema)
        if defect is None:
            return files, f"schema {i} is the newest one now."
        if i in needed:
            break
        files.append(_Unreadable(path, f"schema {i}", defect.why, "That change of the definition is lost."))
    return [], ""  # the check of the snapshots' metadata reports it


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
        except (errors.MissingFileError, errors.CorruptFileError):
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
    except errors.MissingFileError as error:
        return _Defect(error.message.rstrip("."), data) if data else None
    except errors.CorruptFileError as error:
        return _Defect(error.message.removeprefix(f"{path}: ").rstrip("."), data)
    return None


def _quarantine(branch: Table, path: str, target: str) -> bool:
    """Move a file to the quarantine; return whether it existed. The lock keeps writers from creating it again."""
    with branch.lock.acquire(branch.branch) as hold:
        hold.confirm()
        if not branch.file_io.exists(path):
            return False
        if not branch.file_io.rename(path, target):
            raise errors.CommitConflictError(f"{target} exists already.", remedy="Run it again.")
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
