"""Snapshots of a table: the latest, the earliest, by id, by time (spec: Snapshot)."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator

from paimon_sql.errors import MissingFileError, NoSuchSnapshotError
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.metadata.snapshot import Snapshot, parse_snapshot
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.file_io import FileIO, FileStatus
from paimon_sql.storage.metadata.environment.version_management import VersionManagement
from paimon_sql.storage.metadata.numbered_files import NumberedDirectory
from paimon_sql.storage.metadata.refs.tags import TagManager
from paimon_sql.storage.metadata.rollback_marks import Rollback, RollbackMark

_CACHED = 64
_THREADS = 16
_MAX_PROBED = 16
"""Maximum number of ids of a gap that are checked before the directory is listed."""
_CACHED_LISTED = 20_000


class ListedSnapshots:
    """Cache of snapshots by the listed status of their files, bounded in number; first in, first out."""

    def __init__(self, capacity: int = _CACHED_LISTED) -> None:
        self.capacity = capacity
        self._snapshots: OrderedDict[FileStatus, Snapshot] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, file: FileStatus) -> Snapshot | None:
        """Return the snapshot of a file; None if not cached."""
        return self._snapshots.get(file)

    def put(self, file: FileStatus, snapshot: Snapshot) -> None:
        """Cache the snapshot of a file."""
        with self._lock:
            self._snapshots[file] = snapshot
            if len(self._snapshots) > self.capacity:
                self._snapshots.popitem(last=False)


LISTED = ListedSnapshots()


class SnapshotManager:
    """The snapshot files of one table or branch.

    Args:
        file_io: the file system.
        root: the directory of the table or branch.
        authority: the server that determines the latest snapshot; without it, the files do.
        branch: the branch.
    """

    def __init__(
        self, file_io: FileIO, root: str, authority: VersionManagement | None = None, branch: str = MAIN_BRANCH
    ) -> None:
        self.directory = NumberedDirectory(file_io, f"{root}/snapshot", "snapshot-", self._counts)
        self.rewinds = RollbackMark(file_io, root)
        self._tags = TagManager(file_io, root)
        self._authority = authority
        self._branch = branch
        self._known: dict[int, Snapshot] = {}

    def latest_id(self) -> int | None:
        """Return the id of the latest snapshot; None for a table without snapshots."""
        if self._authority is None:
            return self._without_strays(self.directory.latest())
        found = self.latest()
        return None if found is None else found.id

    def earliest_id(self) -> int | None:
        """Return the id of the earliest retained snapshot; None for a table without snapshots."""
        return self.directory.earliest()

    def latest(self) -> Snapshot | None:
        """Return the latest snapshot; None for a table without snapshots."""
        if self._authority is not None:
            return self._authority.latest(self._branch)
        newest = self.latest_id()
        while newest is not None:
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
            try:
                if not rewind.is_late(self._read(newest)):
                    break
            except MissingFileError:
                newest = self.directory.latest()
                continue
            later, newest = newest, newest - 1
            if not self.directory.exists(newest):  # a running or killed rollback leaves gaps
                newest = max((i for i in self.directory.versions() if i < later), default=None)
        return newest if newest is not None or rewind is None else rewind.target or None

    def _counts(self, snapshot_id: int) -> bool:
        """Whether a hint may name a snapshot: it exists and is not a stray."""
        rewind = self.rewinds.read()
        if rewind is None or not rewind.covers(snapshot_id):
            return True
        found = self._if_there(snapshot_id)
        return found is not None and not rewind.is_late(found)

    def stray_behind(self, newest: Snapshot | None, rewind: Rollback) -> int | None:
        """Return the number of a stray after the latest snapshot; None without one."""
        last = self.directory.latest()
        if last is None or (newest is not None and last <= newest.id):
            return None
        found = self._if_there(last)
        return last if found is not None and rewind.is_late(found) else None

    def late_snapshots(self) -> list[int]:
        """Return the numbers of all existing strays, ascending."""
        rewind = self.rewinds.read() if self._authority is None else None
        covered = [] if rewind is None else [i for i in self.directory.versions() if rewind.covers(i)]
        read = {i: self._if_there(i) for i in covered}
        return [i for i, found in read.items() if found is not None and rewind is not None and rewind.is_late(found)]

    def exists(self, snapshot_id: int) -> bool:
        """Whether the snapshot is retained."""
        return self.directory.exists(snapshot_id)

    def get(self, snapshot_id: int) -> Snapshot:
        """Return the snapshot of an id.

        Raises:
            NoSuchSnapshotError: it is not retained; the message contains the retained ids.
            CorruptFileError: its file is invalid.
        """
        if (known := self._known.get(snapshot_id)) is not None:
            return known
        try:
            snapshot = self._read(snapshot_id)
        except MissingFileError:
            raise self._missing(snapshot_id) from None
        if len(self._known) >= _CACHED:
            self._known.pop(next(iter(self._known)), None)
        self._known[snapshot_id] = snapshot
        return snapshot

    def forget(self) -> None:
        """Clear the cache, such as after snapshots were deleted and their ids may be reused."""
        self._known.clear()

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
        for snapshot_id in self.directory.versions():
            try:
                yield self.get(snapshot_id)
            except NoSuchSnapshotError:
                continue

    def listed(self) -> list[Snapshot]:
        """Return what `all` yields, for display only: a file with unchanged status is not read again.

        The status is the file's size and modification time. Deletions and commits must not rely on them.
        """
        files = self.directory.files()
        snapshots = {number: LISTED.get(status) for number, status in files.items()}
        missing = [number for number, snapshot in snapshots.items() if snapshot is None]
        threads = self.directory.file_io.threads_for(self.directory.directory, len(missing), _THREADS)
        for number, snapshot in zip(missing, map_in_threads(self._if_there, missing, threads), strict=True):
            snapshots[number] = snapshot
            if snapshot is not None:
                LISTED.put(files[number], snapshot)
        return [snapshot for snapshot in snapshots.values() if snapshot is not None]

    def _if_there(self, snapshot_id: int) -> Snapshot | None:
        try:
            return self._read(snapshot_id)
        except MissingFileError:
            return None

    def _read(self, snapshot_id: int) -> Snapshot:
        return parse_snapshot(self.directory.read(snapshot_id), self.directory.path(snapshot_id))

    def at_time(self, millis: int) -> Snapshot:
        """Return the last snapshot that was committed at or before a time.

        Args:
            millis: milliseconds since the epoch.

        Raises:
            NoSuchSnapshotError: the time is before the first retained snapshot, or there is none.
        """
        found = None
        low, high = self.earliest_id(), self.latest_id()
        while low is not None and high is not None and low <= high:
            middle = (low + high) // 2
            if (snapshot := self._nearest(middle, high)) is None:
                high = middle - 1
            elif snapshot.time_millis <= millis:
                found, low = snapshot, snapshot.id + 1
            else:
                high = middle - 1
        if found is None:
            earliest = self.earliest_id()
            first = (
                "nothing was written yet"
                if earliest is None
                else (f"the first retained snapshot is {earliest}, of {self.get(earliest).time_millis}")
            )
            raise NoSuchSnapshotError(
                f"No snapshot was committed at or before {millis} ms since the epoch: {first}.", name=str(millis)
            )
        return found

    def _nearest(self, start: int, end: int) -> Snapshot | None:
        for snapshot_id in range(start, min(start + _MAX_PROBED, end + 1)):
            if self.exists(snapshot_id):
                return self.get(snapshot_id)
        later = (i for i in self.directory.versions() if start + _MAX_PROBED <= i <= end)
        return next((self.get(i) for i in later), None)

    def _missing(self, snapshot_id: int) -> NoSuchSnapshotError:
        earliest, latest = self.earliest_id(), self.latest_id()
        retained = "the table has no snapshot yet" if latest is None else f"retained are {earliest} to {latest}"
        if snapshot_id == latest:
            retained = "a rollback to it has not come to its end; run it again"
        return NoSuchSnapshotError(f"Snapshot {snapshot_id} does not exist: {retained}.", name=str(snapshot_id))
