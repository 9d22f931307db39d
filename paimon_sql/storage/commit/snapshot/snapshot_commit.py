"""Commit of a prepared snapshot as the table's newest one, and verification that it is in the history.

There are three outcomes: the snapshot is in the history, it certainly is not, or it is unknown.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from enum import Enum, auto

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import AnswerLostError, CommitUnknownError, MissingFileError, PaimonError, UnsupportedError
from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry
from paimon_sql.format.metadata.snapshot import FIRST_SNAPSHOT_ID, Snapshot, parse_snapshot
from paimon_sql.storage.data_files.live_files import grouped, live_files
from paimon_sql.storage.metadata.catalog_environment import PartitionChange, VersionManagement
from paimon_sql.storage.metadata.numbered_files import EARLIEST, LATEST
from paimon_sql.storage.metadata.refs.tags import is_same_commit
from paimon_sql.storage.staging.proposal import changed_table, is_same_table
from paimon_sql.storage.table.snapshot_history import is_built_on
from paimon_sql.storage.table.table import Table

_LOOKUPS = 4
_PAUSE = 0.1
"""Max lookups of a snapshot after a lost response, and the pause in seconds before the second one."""


class Published(Enum):
    """The outcome of committing a prepared snapshot."""

    IN_HISTORY = auto()
    NEVER = auto()
    """Another snapshot has its id; it was never visible."""
    WITHDRAWN = auto()
    """It was too late, and this call deleted it. A tag or branch created meanwhile may need its files."""
    TAKEN_AWAY = auto()
    """Others deleted it, as a rollback does: it may have been in the history until then."""


class SnapshotCommit(ABC):
    """Commits prepared snapshots of a table (Paimon: ``SnapshotCommit``)."""

    def __init__(self, table: Table) -> None:
        self.table = table

    @abstractmethod
    def commit(
        self,
        snapshot: Snapshot,
        base: Snapshot | None,
        entries: Iterable[ManifestEntry],
        publishing: Callable[[], None],
    ) -> Published:
        """Make the snapshot the newest one, unless there is a newer one.

        Args:
            snapshot: the snapshot, whose manifests are written.
            base: the snapshot that it was built on, None for the first one.
            entries: its added and deleted data files.
            publishing: called right before the first step that is visible to others. If the call ends after that, the
                outcome is unknown unless it returns or raises a `PaimonError` other than `CommitUnknownError`.

        Raises:
            CommitUnknownError: whether it was committed is unknown.
            PaimonError: it was not committed.
        """

    def _may_have_reached(self, snapshot_id: int) -> bool:
        """Whether the history has, or may have, reached a snapshot id."""
        try:
            return (self.table.snapshots.latest_id() or 0) >= snapshot_id
        except (PaimonError, OSError):
            return True

    def _unknown(self, snapshot: Snapshot) -> CommitUnknownError:
        return CommitUnknownError(
            f"{self.table.name}: whether snapshot {snapshot.id} was committed could not be determined; all its"
            " files are kept.",
            commit_user=snapshot.commit_user,
            commit_identifier=snapshot.commit_identifier,
            remedy=f"Look for commit user {snapshot.commit_user} in $snapshots before you run the statement again.",
        )


class Created(Enum):
    """Whether a snapshot's file was created."""

    YES = auto()
    NO = auto()
    PERHAPS = auto()
    """It does not exist, but may have been created, and have expired since."""


class RenamingSnapshotCommit(SnapshotCommit):
    """Commits by exclusive creation of the snapshot's file, under the table's lock if it has one.

    Paimon: ``RenamingSnapshotCommit``.
    """

    def commit(
        self,
        snapshot: Snapshot,
        base: Snapshot | None,
        entries: Iterable[ManifestEntry],
        publishing: Callable[[], None],
    ) -> Published:
        with ExitStack() as stack:
            hold = stack.enter_context(self.table.lock.acquire(self.table.branch))
            hold.confirm()
            publishing()
            try:
                created = self._created(snapshot, locked=hold.is_locked)
                if created is Created.NO:
                    return Published.NEVER
                published = self._looked_after(snapshot, base, entries, created)
                if published is not Published.IN_HISTORY:
                    return published
            except (PaimonError, OSError):
                raise
            except BaseException:
                self._withdraw_if_overtaken(snapshot, base, entries)
                raise
        self._advance_hints(snapshot)
        return Published.IN_HISTORY

    def _created(self, snapshot: Snapshot, *, locked: bool) -> Created:
        """Create the snapshot's file, and return whether this call did; after a lost response, read the file."""
        directory = self.table.snapshots.directory
        path = directory.path(snapshot.id)
        lost: PaimonError | OSError | None = None
        try:
            if directory.file_io.try_create_exclusive(path, snapshot.to_json().encode(), locked=locked):
                return Created.YES
        except UnsupportedError:
            raise  # nothing was attempted
        except (PaimonError, OSError) as error:
            lost = error
        for lookup in range(_LOOKUPS):
            if lookup:
                time.sleep(_PAUSE * lookup)
            try:
                # If the history has gone on, the file was created after the lookup, or has been deleted since.
                stored = _stored(self.table, snapshot.id)
                if stored is None and self._may_have_reached(snapshot.id):
                    stored = _stored(self.table, snapshot.id)
                    if stored is None:
                        return Created.PERHAPS
            except (PaimonError, OSError) as error:
                lost = lost or error
                continue
            if stored is not None:
                return Created.YES if stored.uuid == snapshot.uuid else Created.NO
            break
        else:
            raise self._unknown(snapshot) from lost
        # After a failed call, a missing file is conclusive only if no other can still execute the request.
        if not directory.file_io.failures_are_final(path):
            raise self._unknown(snapshot) from lost
        if lost is None:
            return Created.NO  # the concurrent snapshot has been deleted since
        if isinstance(lost, PaimonError):
            raise lost from None
        raise PaimonError(f"Cannot create {path}: {lost}.") from None

    def _looked_after(
        self, snapshot: Snapshot, base: Snapshot | None, entries: Iterable[ManifestEntry], created: Created
    ) -> Published:
        """Return the outcome of the created snapshot; withdraw it if it was too late and does not follow its base.

        Raises:
            NoSuchTableError: the table was dropped or replaced; the snapshot is withdrawn.
            CommitUnknownError: the outcome is unknown.
        """
        try:
            was_created = created is Created.YES
            standing = standing_of(self.table, snapshot, base, entries, was_created=was_created)
            is_late = standing in (Standing.OVERTAKEN, Standing.NO_TABLE)
            withdrawn = is_late and self.table.snapshots.remove(snapshot, durable=True)
        except (PaimonError, OSError) as error:
            raise self._unknown(snapshot) from error
        if standing is Standing.UNDECIDED or (created is Created.PERHAPS and standing is not Standing.IN_HISTORY):
            raise self._unknown(snapshot)
        if standing is Standing.NO_TABLE:
            if withdrawn and self.table.file_io.failures_are_final(self.table.path):
                raise changed_table(self.table)
            raise self._unknown(snapshot)  # its directory may have been renamed, with the snapshot in it
        if standing is Standing.IN_HISTORY:
            return Published.IN_HISTORY
        return Published.WITHDRAWN if withdrawn else Published.TAKEN_AWAY

    def _withdraw_if_overtaken(
        self, snapshot: Snapshot, base: Snapshot | None, entries: Iterable[ManifestEntry]
    ) -> None:
        """Withdraw a snapshot that was too late, if an interrupt ended the commit before it was verified.

        Otherwise the history would continue from it as soon as it reaches its id.
        """
        with suppress(PaimonError, OSError):
            self._looked_after(snapshot, base, entries, Created.PERHAPS)

    def _advance_hints(self, snapshot: Snapshot) -> None:
        directory = self.table.snapshots.directory
        with suppress(PaimonError, OSError):  # the snapshot is committed: a missing hint does not fail the statement
            directory.advance_hint(LATEST, snapshot.id)
            if snapshot.id == FIRST_SNAPSHOT_ID:
                directory.advance_hint(EARLIEST, snapshot.id)


class CatalogSnapshotCommit(SnapshotCommit):
    """Commits by the server that manages the table's history; after a lost response, looks up the snapshot there.

    Paimon: ``CatalogSnapshotCommit``.
    """

    def __init__(self, table: Table, authority: VersionManagement) -> None:
        super().__init__(table)
        self._authority = authority

    def commit(
        self,
        snapshot: Snapshot,
        base: Snapshot | None,
        entries: Iterable[ManifestEntry],
        publishing: Callable[[], None],
    ) -> Published:
        lost: AnswerLostError | None = None
        partitions = partition_changes(self.table, entries)
        publishing()
        try:
            if self._authority.commit(self.table.branch, snapshot, base, partitions):
                return Published.IN_HISTORY
        except AnswerLostError as error:
            lost = error
        try:
            found = self._authority.get(self.table.branch, snapshot.id)
        except (PaimonError, OSError):
            raise self._unknown(snapshot) from lost
        if found is not None:
            return Published.IN_HISTORY if is_same_commit(found, snapshot) else Published.NEVER
        # Refused, and no snapshot of that id: either for another reason, such as a rollback, or it was committed and
        # has expired since.
        if lost is None and not self._may_have_reached(snapshot.id):
            return Published.NEVER
        raise self._unknown(snapshot) from lost


def snapshot_commit_of(table: Table) -> SnapshotCommit:
    """Return the snapshot commit of the table's kind of history."""
    if table.version_management is None:
        return RenamingSnapshotCommit(table)
    return CatalogSnapshotCommit(table, table.version_management)


def partition_changes(table: Table, entries: Iterable[ManifestEntry]) -> list[PartitionChange]:
    """Return the statistics that a commit adds to each partition."""
    found, paths = grouped((e.partition, e) for e in entries), PartitionPaths.of(table.schema)
    return [_change(paths.spec(partition), touched) for partition, touched in found.items()]


def _change(values: Mapping[str, str], entries: list[ManifestEntry]) -> PartitionChange:
    signed = [(1 if e.kind == FileKind.ADD else -1, e.file) for e in entries]
    return PartitionChange(
        values=values,
        rows=sum(sign * file.row_count for sign, file in signed),
        size=sum(sign * file.file_size for sign, file in signed),
        files=sum(sign for sign, _ in signed),
        last_file_millis=max(file.creation_epoch_millis() or 0 for _, file in signed),
        buckets=entries[-1].total_buckets,
    )


_ATTEMPTS = 5
_LOOK_PAUSE = 0.05
"""Seconds between two attempts to read a directory that others are changing."""


class Standing(Enum):
    """The standing of a newly created snapshot."""

    IN_HISTORY = auto()
    OVERTAKEN = auto()
    """The table was rolled back, or the history had passed its id: it is not in the history."""
    NO_TABLE = auto()
    """The table was dropped, renamed or replaced."""
    UNDECIDED = auto()


def standing_of(
    table: Table, snapshot: Snapshot, base: Snapshot | None, added: Iterable[ManifestEntry], *, was_created: bool = True
) -> Standing:
    """Determine whether a snapshot that this process created is in the history, after its base.

    A writer prepares snapshot N on top of the newest one, and may be suspended before it creates the file. Meanwhile
    others can expire N, roll the table back to before N, or drop the table: then the name is free, and the creation
    succeeds although the history went another way. So every writer verifies its snapshot after the creation.

    Mostly two small files suffice: the base still exists, and expirations have not passed the snapshot. Expirations
    delete the oldest snapshots first, and a rollback deletes the base before another history can start.

    Args:
        table: the table.
        snapshot: the snapshot.
        base: the snapshot that it was built on, None for the first one.
        added: the changes of its data files.
        was_created: whether its file was certainly created; otherwise the base proves nothing.

    Raises:
        PaimonError: the file system cannot be read.
    """
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_LOOK_PAUSE)
        if not is_same_table(table):
            return Standing.NO_TABLE
        if (rewind := table.snapshots.rewinds.read()) is not None and rewind.is_late(snapshot):
            return Standing.OVERTAKEN
        found = (_check_base(table, snapshot, base) if was_created else None) or _look(
            table, snapshot, base, list(added)
        )
        if found is not None:
            return found
    return Standing.UNDECIDED


def _check_base(table: Table, snapshot: Snapshot, base: Snapshot | None) -> Standing | None:
    if base is None or (table.snapshots.directory.earliest() or 0) > snapshot.id:
        return None
    before = _stored(table, base.id)
    if before is None:
        return None
    return Standing.IN_HISTORY if is_same_commit(before, base) else Standing.OVERTAKEN


def _look(table: Table, snapshot: Snapshot, base: Snapshot | None, added: Sequence[ManifestEntry]) -> Standing | None:
    """Return the result of one attempt; None if concurrent changes require another."""
    directory, number = table.snapshots.directory, snapshot.id
    expired_before = directory.earliest() or 0
    mine = _stored(table, number)
    exists = mine is not None and is_same_commit(mine, snapshot)
    ids = directory.versions()
    if not ids or (mine is not None) != (number in ids):
        return None  # deleted or created in between, or the directory is being renamed
    later = next((i for i in ids if i > number), None)
    if later == number + 1:
        return _precedes(table, snapshot, later, added)
    if later is not None:
        if not exists:
            return _has_live_files(table, later, added)
        # Snapshots expire in the order of their ids: this one was created after later ones had expired, unless all
        # expired while the directory was listed.
        return Standing.OVERTAKEN if directory.exists(number) else None
    if not exists:
        return Standing.OVERTAKEN  # deleted by a rollback
    if expired_before > number:
        return None  # the newest snapshot never expires, so a later one must appear
    if base is None or expired_before == number or not any(i < number for i in ids):
        return Standing.IN_HISTORY  # its base has expired since
    return None if base.id in ids else Standing.OVERTAKEN


def _precedes(table: Table, snapshot: Snapshot, later_id: int, added: Sequence[ManifestEntry]) -> Standing | None:
    """Return whether the next snapshot was built on this one, in which case its base contains this one's files."""
    later = _stored(table, later_id)
    if later is None:
        return None
    names = pa.array(sorted({e.file.file_name for e in added if e.kind is FileKind.ADD}), pa.string())
    try:
        found = is_built_on(table, later, snapshot, lambda: names)
    except MissingFileError:
        return None
    if found is None:
        return Standing.UNDECIDED
    return Standing.IN_HISTORY if found else Standing.OVERTAKEN


def _has_live_files(table: Table, later_id: int, added: Sequence[ManifestEntry]) -> Standing | None:
    """Return whether a deleted snapshot was in the history: files of it are live in a later one."""
    later = _stored(table, later_id)
    if later is None:
        return None
    try:
        live = live_files(table, later).entries["file_name"]
    except MissingFileError:
        return None
    names = pa.array([e.file.file_name for e in added if e.kind is FileKind.ADD], pa.string())
    return Standing.IN_HISTORY if pc.any(pc.is_in(live, value_set=names)).as_py() else Standing.UNDECIDED


def _stored(table: Table, snapshot_id: int) -> Snapshot | None:
    directory = table.snapshots.directory
    try:
        return parse_snapshot(directory.read(snapshot_id), directory.path(snapshot_id))
    except MissingFileError:
        return None
