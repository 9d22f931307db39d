"""Repair of a table's metadata: hint files are corrected, and other problems are reported."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

from paimon_sql.errors import InvalidInputError, NoSuchSnapshotError, PaimonError
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.data_files.live_files import manifests_of
from paimon_sql.storage.iceberg import publish_quietly
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import restore_snapshot
from paimon_sql.storage.metadata.numbered_files import EARLIEST, LATEST, NumberedDirectory
from paimon_sql.storage.repair.unreadable_metadata import quarantine_unreadable
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.retention.retained_references import other_branches
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table

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
        raise NoSuchSnapshotError(f"{table.name} has no snapshot, so there is no first one.", name=str(snapshot_id))
    if not earliest <= snapshot_id <= latest:
        raise InvalidInputError(
            f"{table.name}: snapshot {snapshot_id} cannot be the first one: retained are {earliest} to {latest}."
        )
    missing = next((i for i in range(snapshot_id, latest + 1) if i not in ids), None)
    if missing is not None:
        raise InvalidInputError(
            f"{table.name}: snapshot {snapshot_id} cannot be the first one: snapshot {missing} does not exist.",
            remedy="Choose the first snapshot after the last gap.",
        )
    if snapshot_id != earliest and snapshot_id - 1 in ids:
        raise InvalidInputError(
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
        for check in (_unreadable, _late_snapshots, _schemas, _hints, _gaps, _contents, _consumers):
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


def _unreadable(branch: Table, found: Findings, dry_run: bool) -> None:
    aside = quarantine_unreadable(branch, dry_run=dry_run)
    found.quarantined |= aside.paths
    found.repaired += aside.said
    found.problems += aside.problems


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
    except PaimonError as error:
        found.problems.append(f"{what} cannot be read: {error}" if what else str(error))
