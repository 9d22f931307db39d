"""A table's snapshots on disk: the latest, the earliest, one by id, one by time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator

from paimon_sql.errors import MissingFileError, NoSuchSnapshotError
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.metadata.snapshot import Snapshot, parse_snapshot
from paimon_sql.storage.execution.threads import spread
from paimon_sql.storage.file_io import FileIO, FileStatus
from paimon_sql.storage.metadata.environment.snapshot_authority import VersionManagement
from paimon_sql.storage.metadata.numbered_files import NumberedDirectory
from paimon_sql.storage.metadata.refs.tags import TagManager
from paimon_sql.storage.metadata.rollback_marks import Rewind, RollbackMark

_REMEMBERED = 64
_THREADS = 16
_PROBED = 16
"""How many numbers of a gap are looked at before the directory is listed."""
_LISTED = 20_000


class ListedSnapshots:
    """Snapshots by what a listing says of their files, bounded by their number; the oldest leave first."""

    def __init__(self, capacity: int = _LISTED) -> None:
        self.capacity = capacity
        self._held: OrderedDict[FileStatus, Snapshot] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, file: FileStatus) -> Snapshot | None:
        """The snapshot that stood in such a file, None if none is held."""
        return self._held.get(file)

    def put(self, file: FileStatus, snapshot: Snapshot) -> None:
        """Hold the snapshot of a file."""
        with self._lock:
            self._held[file] = snapshot
            if len(self._held) > self.capacity:
                self._held.popitem(last=False)


LISTED = ListedSnapshots()


class SnapshotManager:
    """The snapshot files of one table or branch.

    Args:
        file_io: the file system.
        root: the folder of the table or branch.
        authority: who says which snapshot is the newest one; without it the files do.
        branch: the branch that it is asked about.
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
        """The id of the newest snapshot, None for a table that nothing was written to."""
        if self._authority is None:
            return self._without_strays(self.directory.latest())
        found = self.latest()
        return None if found is None else found.id

    def earliest_id(self) -> int | None:
        """The id of the oldest retained snapshot, None for a table that nothing was written to."""
        return self.directory.earliest()

    def latest(self) -> Snapshot | None:
        """The newest snapshot, None for a table that nothing was written to."""
        if self._authority is not None:
            return self._authority.latest(self._branch)
        newest = self.latest_id()
        while newest is not None:
            try:
                return self.get(newest)
            except NoSuchSnapshotError:
                # It expired between the two looks; a rival has made a newer one then.
                if (found := self.latest_id()) != newest:
                    newest = found
                elif tags := self._tags.of_snapshot(newest):
                    return tags[0].snapshot  # a rollback goes back to it, and holds it
                else:
                    raise
        return None

    def _without_strays(self, newest: int | None) -> int | None:
        """The newest snapshot that is no stray, of those up to a number.

        That of a rollback which has not come to its end is its target, though an expiry that had begun before may have
        taken its file, until the rollback brings it back: a tag holds it.
        """
        rewind = self.rewinds.read()
        while newest is not None and rewind is not None and rewind.covers(newest):
            try:
                if not rewind.is_stray(self._read(newest)):
                    break
            except MissingFileError:
                newest = self.directory.latest()
                continue
            later, newest = newest, newest - 1
            if not self.directory.exists(newest):  # a rollback is at work, or was killed: it leaves gaps
                newest = max((i for i in self.directory.versions() if i < later), default=None)
        return newest if newest is not None or rewind is None else rewind.target or None

    def _counts(self, snapshot_id: int) -> bool:
        """Whether a hint may name a snapshot: one that is there, and no stray."""
        rewind = self.rewinds.read()
        if rewind is None or not rewind.covers(snapshot_id):
            return True
        found = self._if_there(snapshot_id)
        return found is not None and not rewind.is_stray(found)

    def stray_behind(self, newest: Snapshot | None, rewind: Rewind) -> int | None:
        """The number of a snapshot that came too late and stands behind the newest one; None if there is none."""
        last = self.directory.latest()
        if last is None or (newest is not None and last <= newest.id):
            return None
        found = self._if_there(last)
        return last if found is not None and rewind.is_stray(found) else None

    def strays(self) -> list[int]:
        """The numbers of all snapshots that a rollback has overtaken and that still stand, in ascending order."""
        rewind = self.rewinds.read() if self._authority is None else None
        covered = [] if rewind is None else [i for i in self.directory.versions() if rewind.covers(i)]
        read = {i: self._if_there(i) for i in covered}
        return [i for i, found in read.items() if found is not None and rewind is not None and rewind.is_stray(found)]

    def exists(self, snapshot_id: int) -> bool:
        """Whether that snapshot is retained."""
        return self.directory.exists(snapshot_id)

    def get(self, snapshot_id: int) -> Snapshot:
        """The snapshot of that id.

        Raises:
            NoSuchSnapshotError: it is not retained; the message says which ids are.
            CorruptFileError: its file is no snapshot.
        """
        if (known := self._known.get(snapshot_id)) is not None:
            return known
        try:
            snapshot = self._read(snapshot_id)
        except MissingFileError:
            raise self._missing(snapshot_id) from None
        if len(self._known) >= _REMEMBERED:
            self._known.pop(next(iter(self._known)), None)
        self._known[snapshot_id] = snapshot
        return snapshot

    def forget(self) -> None:
        """Drop what was read, as after snapshots were removed and their ids may be used anew."""
        self._known.clear()

    def remove(self, snapshot: Snapshot, *, durable: bool = False, unless: Callable[[], bool] = lambda: False) -> bool:
        """Remove a snapshot's file unless another one has come under its number: True if this call did.

        A number comes again after a rollback, while whoever looked at its file before may stand still.

        Args:
            snapshot: the snapshot, as it was read.
            durable: whether it does not come back by a loss of power.
            unless: whether it must stay, asked at the last moment: `is_left` waits for the answer.
        """

        def is_meant(data: bytes) -> bool:
            return parse_snapshot(data, path) == snapshot and not unless()

        path = self.directory.path(snapshot.id)
        return self.directory.file_io.delete_if(path, is_meant, durable=durable)

    def is_left(self, snapshot_id: int) -> bool:
        """Whether a snapshot's file is there when those who were about to remove it have done so.

        Raises:
            CommitConflictError: one of them stands still.
        """
        self.directory.file_io.delete_if(self.directory.path(snapshot_id), lambda data: False)
        return self.directory.exists(snapshot_id)

    def all(self) -> Iterator[Snapshot]:
        """The retained snapshots in order of id; one that expires meanwhile is passed over."""
        for snapshot_id in self.directory.versions():
            try:
                yield self.get(snapshot_id)
            except NoSuchSnapshotError:
                continue

    def listed(self) -> list[Snapshot]:
        """What `all` yields, for those who only show it: a file that looks as when it was last read is not read again.

        A file's size and time of change tell that. Whoever deletes or commits must not rely on them.
        """
        files = self.directory.files()
        known = {number: LISTED.get(status) for number, status in files.items()}
        missing = [number for number, snapshot in known.items() if snapshot is None]
        threads = self.directory.file_io.threads_for(self.directory.directory, len(missing), _THREADS)
        for number, snapshot in zip(missing, spread(self._if_there, missing, threads), strict=True):
            known[number] = snapshot
            if snapshot is not None:
                LISTED.put(files[number], snapshot)
        return [snapshot for snapshot in known.values() if snapshot is not None]

    def _if_there(self, snapshot_id: int) -> Snapshot | None:
        try:
            return self._read(snapshot_id)
        except MissingFileError:
            return None

    def _read(self, snapshot_id: int) -> Snapshot:
        return parse_snapshot(self.directory.read(snapshot_id), self.directory.path(snapshot_id))

    def at_time(self, millis: int) -> Snapshot:
        """The last snapshot that was committed at or before a time.

        Args:
            millis: milliseconds since the epoch.

        Raises:
            NoSuchSnapshotError: the time lies before the first retained snapshot, or nothing was written yet.
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
        for snapshot_id in range(start, min(start + _PROBED, end + 1)):
            if self.exists(snapshot_id):
                return self.get(snapshot_id)
        later = (i for i in self.directory.versions() if start + _PROBED <= i <= end)
        return next((self.get(i) for i in later), None)

    def _missing(self, snapshot_id: int) -> NoSuchSnapshotError:
        earliest, latest = self.earliest_id(), self.latest_id()
        held = "the table has no snapshot yet" if latest is None else f"retained are {earliest} to {latest}"
        if snapshot_id == latest:
            held = "a rollback to it has not come to its end; run it again"
        return NoSuchSnapshotError(f"Snapshot {snapshot_id} does not exist: {held}.", name=str(snapshot_id))
