"""Snapshots of a table, changelogs of expired ones, and rollback marks.

A rollback mark identifies late snapshots, whose base snapshot was rolled back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from paimon_sql.cache import Cache
from paimon_sql.errors import CommitConflictError, CorruptFileError, NoSuchSnapshotError
from paimon_sql.format.layout.paths import MAIN_BRANCH, is_branch_root
from paimon_sql.format.metadata.snapshot import Changelog, Snapshot, parse_snapshot
from paimon_sql.process import share
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.file_io import FileIO, FileStatus
from paimon_sql.storage.metadata.catalog_environment import VersionManagement
from paimon_sql.storage.metadata.numbered_files import EARLIEST, LATEST, NumberedDirectory
from paimon_sql.storage.metadata.refs.tags import TagManager

_THREADS = 16
_MAX_PROBED = 16
"""Maximum number of ids of a gap that are checked before the directory is listed."""
_MAX_LISTED = 20_000

_listed = share(lambda: Cache[FileStatus, Snapshot](_MAX_LISTED))
"""Snapshots by the listed status of their files."""


class SnapshotManager:
    """The snapshot files of one table or branch; each call reads their current state (Paimon: `SnapshotManager`).

    Args:
        file_io: the file system.
        root: the directory of the table or branch.
        authority: the server that determines the latest snapshot; without it, the files do.
        branch: the branch.
    """

    def __init__(
        self, file_io: FileIO, root: str, authority: VersionManagement | None = None, branch: str = MAIN_BRANCH
    ) -> None:
        self.rewinds = RollbackMark(file_io, root)
        self.directory = NumberedDirectory(
            file_io, f"{root}/snapshot", "snapshot-", self._counts, self.rewinds.note_expired
        )
        self._tags = TagManager(file_io, root)
        self._authority = authority
        self._branch = branch

    def latest_id(self) -> int | None:
        """Return the id of the latest snapshot; None for a table without snapshots."""
        if self._authority is None:
            return self._without_strays(self.directory.latest())
        found = self.latest()
        return None if found is None else found.id

    def earliest_id(self) -> int | None:
        """Return the id of the earliest retained snapshot; None for a table without snapshots."""
        return self.directory.earliest()

    def end_of_expired(self) -> int:
        """Return the number before which snapshots have expired, or had until a rollback lowered the EARLIEST hint.

        Files of a later snapshot have not been deleted.
        """
        hinted = self.directory.hint(EARLIEST) or 0  # read first: whoever lowers it notes its number before
        rewind = self.rewinds.read()
        return max(hinted, 0 if rewind is None else rewind.expired)

    def retained(self) -> range | None:
        """Return the ids from the earliest to the latest retained snapshot; None for a table without snapshots."""
        earliest, latest = self.earliest_id(), self.latest_id()
        return None if earliest is None or latest is None else range(earliest, latest + 1)

    def retained_ids(self) -> list[int]:
        """Return the ids of the existing snapshots from the earliest retained one on, ascending."""
        earliest = self.earliest_id()
        return [] if earliest is None else [i for i in self.directory.versions() if i >= earliest]

    def latest(self, known: Snapshot | None = None) -> Snapshot | None:
        """Return the latest snapshot; None for a table without snapshots.

        Args:
            known: a snapshot that was read before: if the latest one has its id, it is not read again. Only for plans
                that are checked when they are committed, since a rollback lets ids be reused.
        """
        if self._authority is not None:
            return self._authority.latest(self._branch)
        newest = self.latest_id()
        while newest is not None:
            if known is not None and known.id == newest:
                return known
            try:
                return self.get(newest)
            except NoSuchSnapshotError:
                # It expired between the two reads; then a concurrent commit has created a newer one.
                if (found := self.latest_id()) != newest:
                    newest = found
                elif tags := self._tags.of_snapshot(newest):
                    return tags[0].snapshot  # the target of a running rollback, retained by its guard tag
                else:
                    raise
        return None

    def _without_strays(self, newest: int | None) -> int | None:
        """Return the latest snapshot up to a number that is not a stray.

        During a rollback it is the rollback's target, even if an expiration that started before has deleted its file:
        the rollback restores it from its guard tag.
        """
        rewind = self.rewinds.read()
        while newest is not None and rewind is not None and rewind.covers(newest):
            if (found := self.find(newest)) is None:
                newest = self.directory.latest()
                continue
            if not rewind.is_late(found):
                break
            later, newest = newest, newest - 1
            if not self.directory.exists(newest):  # a running or killed rollback leaves gaps
                newest = max((i for i in self.directory.versions() if i < later), default=None)
        return newest if newest is not None or rewind is None else rewind.target or None

    def _counts(self, snapshot_id: int) -> bool:
        """Whether a hint may name a snapshot: it exists and is not a stray."""
        rewind = self.rewinds.read()
        if rewind is None or not rewind.covers(snapshot_id):
            return True
        found = self.find(snapshot_id)
        return found is not None and not rewind.is_late(found)

    def stray_behind(self, newest: Snapshot | None, rewind: Rollback) -> int | None:
        """Return the number of a stray after the latest snapshot; None without one."""
        last = self.directory.latest()
        if last is None or (newest is not None and last <= newest.id):
            return None
        found = self.find(last)
        return last if found is not None and rewind.is_late(found) else None

    def late_snapshots(self) -> list[int]:
        """Return the numbers of all existing strays, ascending."""
        rewind = self.rewinds.read() if self._authority is None else None
        covered = [] if rewind is None else [i for i in self.directory.versions() if rewind.covers(i)]
        return [i for i in covered if (found := self.find(i)) and rewind and rewind.is_late(found)]

    def exists(self, snapshot_id: int) -> bool:
        """Whether the snapshot is retained."""
        return self.directory.exists(snapshot_id)

    def get(self, snapshot_id: int) -> Snapshot:
        """Return the snapshot of an id.

        Raises:
            NoSuchSnapshotError: it is not retained; the message contains the retained ids.
            CorruptFileError: its file is invalid.
        """
        found = self.find(snapshot_id)
        if found is None:
            raise self._missing(snapshot_id)
        return found

    def find(self, snapshot_id: int) -> Snapshot | None:
        """Return the snapshot of an id; None if it is not retained.

        Raises:
            CorruptFileError: its file is invalid.
        """
        data = self.directory.find(snapshot_id)
        return None if data is None else parse_snapshot(data, self.directory.path(snapshot_id))

    def remove(self, snapshot: Snapshot, *, durable: bool = False, unless: Callable[[], bool] = lambda: False) -> bool:
        """Delete a snapshot's file unless another snapshot has reused its number: True if this call deleted it.

        A number is reused after a rollback, while a process that read the old file may be paused.

        Args:
            snapshot: the snapshot, as it was read.
            durable: whether the deletion must survive a loss of power.
            unless: whether to retain it, called at the last moment: `is_left` waits for the deletion.
        """

        def is_meant(data: bytes) -> bool:
            return parse_snapshot(data, path) == snapshot and not unless()

        path = self.directory.path(snapshot.id)
        return self.directory.file_io.delete_if(path, is_meant, durable=durable)

    def is_left(self, snapshot_id: int) -> bool:
        """Whether a snapshot's file exists after all running deletions of it.

        Raises:
            CommitConflictError: a deletion does not proceed.
        """
        self.directory.file_io.delete_if(self.directory.path(snapshot_id), lambda data: False)
        return self.directory.exists(snapshot_id)

    def all(self) -> Iterator[Snapshot]:
        """Yield the retained snapshots in order of id; one that expires concurrently is skipped."""
        return (found for i in self.directory.versions() if (found := self.find(i)) is not None)

    def listed(self) -> list[Snapshot]:
        """Return what `all` yields, for display only: a file with unchanged status is not read again.

        The status is the file's size and modification time. Deletions and commits must not rely on them.
        """
        files, cache = self.directory.files(), _listed()
        snapshots = {number: cache.get(status) for number, status in files.items()}
        missing = [number for number, snapshot in snapshots.items() if snapshot is None]
        threads = self.directory.file_io.threads_for(self.directory.directory, len(missing), _THREADS)
        for number, snapshot in zip(missing, map_in_threads(self.find, missing, threads), strict=True):
            snapshots[number] = snapshot
            if snapshot is not None:
                cache.put(files[number], snapshot)
        return [snapshot for snapshot in snapshots.values() if snapshot is not None]

    def _missing(self, snapshot_id: int) -> NoSuchSnapshotError:
        earliest, latest = self.earliest_id(), self.latest_id()
        retained = "the table has no snapshot yet" if latest is None else f"retained are {earliest} to {latest}"
        if snapshot_id == latest:
            retained = "a rollback to it was not completed; run it again"
        return NoSuchSnapshotError(f"Snapshot {snapshot_id} does not exist: {retained}.", name=str(snapshot_id))


class ChangelogManager:
    """The changelog files of one table or branch (Paimon: `ChangelogManager`)."""

    def __init__(self, file_io: FileIO, root: str) -> None:
        self.directory = NumberedDirectory(file_io, f"{root}/changelog", "changelog-")

    def ids(self) -> list[int]:
        """Return the ids of all changelogs, ascending."""
        return self.directory.versions()

    def find(self, snapshot_id: int) -> Changelog | None:
        """Return the changelog of an id, None if it does not exist; CorruptFileError if its file is invalid."""
        data, path = self.directory.find(snapshot_id), self.directory.path(snapshot_id)
        return None if data is None else parse_snapshot(data, path)

    def all(self) -> list[Changelog]:
        """Return all changelogs in order of id; one that is deleted concurrently is skipped."""
        return [c for i in self.ids() if (c := self.find(i)) is not None]

    def keep(self, snapshot: Snapshot) -> None:
        """Write a snapshot that is about to expire as a changelog."""
        self.directory.file_io.write_durably(self.directory.path(snapshot.id), snapshot.to_json().encode())
        self.directory.advance_hint(LATEST, snapshot.id)

    def remove(self, snapshot_id: int) -> bool:
        """Delete a changelog's file and nothing else: True if it existed."""
        return self.directory.file_io.delete(self.directory.path(snapshot_id))


class SnapshotView:
    """The snapshots as one operation sees them: each is read once, and then stays as it was, whatever others do.

    Args:
        snapshots: the snapshots.
        known: snapshots that the operation has read already.
    """

    def __init__(self, snapshots: SnapshotManager, known: Iterable[Snapshot] = ()) -> None:
        self._snapshots = snapshots
        self._seen = {s.id: s for s in known}

    def get(self, snapshot_id: int) -> Snapshot:
        """Return the snapshot of an id; errors as in `SnapshotManager.get`."""
        found = self._seen.get(snapshot_id)
        if found is None:
            found = self._seen[snapshot_id] = self._snapshots.get(snapshot_id)
        return found

    def find(self, snapshot_id: int) -> Snapshot | None:
        """Return the snapshot of an id; None if it is not retained."""
        found = self._seen.get(snapshot_id) or self._snapshots.find(snapshot_id)
        if found is not None:
            self._seen[snapshot_id] = found
        return found

    def at_time(self, millis: int) -> Snapshot | None:
        """Return the last snapshot that was committed at or before a time; None if all are later.

        Args:
            millis: milliseconds since the epoch.
        """
        found = None
        low, high = self._snapshots.earliest_id(), self._snapshots.latest_id()
        while low is not None and high is not None and low <= high:
            middle = (low + high) // 2
            if (snapshot := self._nearest(middle, high)) is None:
                high = middle - 1
            elif snapshot.time_millis <= millis:
                found, low = snapshot, snapshot.id + 1
            else:
                high = middle - 1
        return found

    def _nearest(self, start: int, end: int) -> Snapshot | None:
        def candidates() -> Iterator[int]:
            yield from range(start, min(start + _MAX_PROBED, end + 1))
            yield from (i for i in self._snapshots.directory.versions() if start + _MAX_PROBED <= i <= end)

        return next((found for i in candidates() if (found := self.find(i)) is not None), None)


WRITER_VERSION = "paimon-sql"
"""The writer version in our snapshots."""
GENERATION = "paimon-sql.generation"
"""Snapshot property: the number of rollbacks of the history that its writer knew."""
MADE_ON = "paimon-sql.branch"
"""Snapshot property: the branch that the snapshot was created on."""
_ATTEMPTS = 10


@dataclass(frozen=True)
class Rollback:
    """The last rollback of a history.

    Attributes:
        generation: number of rollbacks so far, from 1.
        target: the snapshot that was rolled back to, 0 for none.
        until: the maximum number of a snapshot that a writer with a dropped base can create.
        of_main: whether it is the table's own, not a branch's.
        expired: the maximum number that the EARLIEST hint had before it was lowered, 0 if it never was.
    """

    generation: int
    target: int
    until: int
    of_main: bool = True
    expired: int = 0

    def covers(self, snapshot_id: int) -> bool:
        """Whether a snapshot of the number may be a stray."""
        return self.target < snapshot_id <= self.until

    def judges(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot records the rollbacks that its writer knew; all others are valid."""
        is_from_branch = self.of_main and MADE_ON in (snapshot.properties or {})
        return snapshot.writer_version == WRITER_VERSION and not is_from_branch

    def is_late(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot was dropped, or built on a dropped one."""
        if not self.covers(snapshot.id) or not self.judges(snapshot):
            return False
        generation = (snapshot.properties or {}).get(GENERATION, "0")
        return int(generation) < self.generation if generation.isdecimal() else True


class RollbackMark:
    """The file that records the last rollback of a table or branch.

    A rollback frees the numbers of the snapshots that it drops. A writer that built on a dropped snapshot and was
    paused meanwhile can create its snapshot under a number that the history reaches again: a late snapshot, called a
    stray, which the writer withdraws after its next check (`commit/snapshot/snapshot_commit.py`). Until then no commit
    may build on it.

    So a rollback first writes a mark: its generation, its target snapshot, and the maximum number of a stray. Our
    snapshots in that range record the generation that their writer knew. One of an earlier generation is a stray: no
    reader takes it for the latest, and writers wait until it is deleted. Snapshots of other engines are always valid,
    as are those of a branch that another engine fast-forwarded, whose writers knew only their branch's mark.

    It is in a directory where other engines do not look for orphan files.

    Args:
        file_io: the file system.
        root: the directory of the table or branch.
    """

    def __init__(self, file_io: FileIO, root: str) -> None:
        self._file_io = file_io
        self._of_main = not is_branch_root(root)
        self.path = f"{root}/REWIND"

    def read(self) -> Rollback | None:
        """Read the mark; None without a rollback so far.

        Raises:
            CorruptFileError: the file is invalid.
        """
        stored = self._file_io.read_if_exists(self.path)
        return None if stored is None else self._parse(stored)

    def write(self, target: Snapshot | None, until: int) -> Rollback:
        """Begin a new generation, durably, before anything is dropped.

        Args:
            target: the target snapshot, None for the state before the first one.
            until: the maximum number that a writer without knowledge of the rollback can create.

        Raises:
            NoSuchSnapshotError: another rollback dropped the target; the mark is not changed.
            CommitConflictError: concurrent rollbacks.
        """

        def next_generation(old: Rollback) -> Rollback:
            if target is not None and old.is_late(target):
                raise NoSuchSnapshotError(
                    f"Snapshot {target.id} is not in the history any more: another job concurrently rolled back"
                    f" to snapshot {old.target}.",
                    name=str(target.id),
                    remedy="Check $snapshots before you roll back again.",
                )
            base = 0 if target is None else target.id
            return replace(old, generation=old.generation + 1, target=base, until=max(old.until, until))

        return self._change(next_generation)

    def extend(self, until: int) -> Rollback:
        """Increase the maximum number of strays, because writers continued before they read the mark."""
        return self._change(lambda old: replace(old, until=max(old.until, until)))

    def note_expired(self, earliest: int) -> None:
        """Record, durably, the EARLIEST hint before it is lowered: files of earlier snapshots may have been deleted."""
        last = self.read()
        if last is None or last.expired < earliest:
            self._change(lambda old: replace(old, expired=max(old.expired, earliest)))

    def take_back(self, rewind: Rollback) -> None:
        """Delete a mark that was written into the directory of another table."""
        self._file_io.delete_if(self.path, _serialize(rewind).__eq__, durable=True)

    def _change(self, change: Callable[[Rollback], Rollback]) -> Rollback:
        for _ in range(_ATTEMPTS):
            stored = self._file_io.read_if_exists(self.path)
            old = Rollback(0, 0, 0, self._of_main) if stored is None else self._parse(stored)
            new = change(old)
            if self._file_io.replace_if(self.path, stored, _serialize(new), durable=True):
                return new
        raise CommitConflictError(
            f"{self.path}: other jobs are rolling the table back concurrently.", remedy="Run it again."
        )

    def _parse(self, stored: bytes) -> Rollback:
        try:
            found = json.loads(stored)
            generation, target, until = int(found["generation"]), int(found["target"]), int(found["until"])
            # A mark without that number was written before it was recorded.
            return Rollback(generation, target, until, self._of_main, int(found.get("expired", until)))
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptFileError("it is not a rollback mark", path=self.path) from error


def _serialize(rewind: Rollback) -> bytes:
    members = ("generation", "target", "until", "expired")
    stored = {name: getattr(rewind, name) for name in members}
    return json.dumps(stored).encode()


def with_generation(
    properties: Mapping[str, str], snapshot_id: int, rewind: Rollback | None, branch: str
) -> dict[str, str]:
    """Return the properties of a snapshot of the number, with its branch, and the generation if covered by the mark."""
    result = {key: value for key, value in properties.items() if key not in (GENERATION, MADE_ON)}
    if rewind is not None and rewind.covers(snapshot_id):
        result[GENERATION] = str(rewind.generation)
    if branch != MAIN_BRANCH:
        result[MADE_ON] = branch
    return result
