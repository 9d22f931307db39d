"""Commit of a prepared snapshot as the table's newest one, and verification that it is in the history.

There are three outcomes: the snapshot is in the history, it certainly is not, or it is unknown.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import AnswerLostError, CommitUnknownError, MissingFileError, PaimonError, UnsupportedError
from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry
from paimon_sql.format.metadata.snapshot import FIRST_SNAPSHOT_ID, Snapshot
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


@dataclass(frozen=True)
class Prepared:
    """A snapshot to commit, whose manifests are written.

    Attributes:
        snapshot: the snapshot.
        base: the snapshot that it was built on, None for the first one.
        entries: its added and deleted data files.
    """

    snapshot: Snapshot
    base: Snapshot | None
    entries: Sequence[ManifestEntry]

    @property
    def added_names(self) -> pa.Array:
        """The names of the added data files."""
        return pa.array([e.file.file_name for e in self.entries if e.kind is FileKind.ADD], pa.string())


class SnapshotCommit(ABC):
    """Commits prepared snapshots of a table (Paimon: ``SnapshotCommit``)."""

    def __init__(self, table: Table) -> None:
        self.table = table

    @abstractmethod
    def commit(self, prepared: Prepared, publishing: Callable[[], None]) -> Published:
        """Make the snapshot the newest one, unless there is a newer one.

        Args:
            prepared: the snapshot.
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

    def commit(self, prepared: Prepared, publishing: Callable[[], None]) -> Published:
        snapshot = prepared.snapshot
        with self.table.lock.acquire(self.table.branch) as hold:
            hold.confirm()
            publishing()
            try:
                created = self._created(snapshot, locked=hold.is_locked)
                if created is Created.NO:
                    return Published.NEVER
                published = self._looked_after(prepared, created)
                if published is not Published.IN_HISTORY:
                    return published
            except (PaimonError, OSError):
                raise
            except BaseException:
                self._withdraw_if_overtaken(prepared)
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
                stored = self.table.snapshots.find(snapshot.id)
                if stored is None and self._may_have_reached(snapshot.id):
                    stored = self.table.snapshots.find(snapshot.id)
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

    def _looked_after(self, prepared: Prepared, created: Created) -> Published:
        """Return the outcome of the created snapshot; withdraw it if it was too late and does not follow its base.

        Raises:
            NoSuchTableError: the table was dropped or replaced; the snapshot is withdrawn.
            CommitUnknownError: the outcome is unknown.
        """
        snapshot = prepared.snapshot
        try:
            standing = standing_of(self.table, prepared, was_created=created is Created.YES)
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

    def _withdraw_if_overtaken(self, prepared: Prepared) -> None:
        """Withdraw a snapshot that was too late, if an interrupt ended the commit before it was verified.

        Otherwise the history would continue from it as soon as it reaches its id.
        """
        with suppress(PaimonError, OSError):
            self._looked_after(prepared, Created.PERHAPS)

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

    def commit(self, prepared: Prepared, publishing: Callable[[], None]) -> Published:
        lost: AnswerLostError | None = None
        snapshot, partitions = prepared.snapshot, partition_changes(self.table, prepared.entries)
        publishing()
        try:
            if self._authority.commit(self.table.branch, snapshot, prepared.base, partitions):
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


def standing_of(table: Table, prepared: Prepared, *, was_created: bool) -> Standing:
    """Determine whether a snapshot that this process created is in the history, after its base.

    A writer prepares snapshot N on top of the newest one, and may be suspended before it creates the file. Meanwhile
    others can expire N, roll the table back to before N, or drop the table: then the name is free, and the creation
    succeeds although the history went another way. So every writer verifies its snapshot after the creation.

    Mostly two small files suffice: the base still exists, and expirations have not passed the snapshot. Expirations
    delete the oldest snapshots first, and a rollback deletes the base before another history can start.

    Args:
        table: the table.
        prepared: the snapshot.
        was_created: whether its file was certainly created; otherwise the base proves nothing.

    Raises:
        PaimonError: the file system cannot be read.
    """
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_LOOK_PAUSE)
        if not is_same_table(table):
            return Standing.NO_TABLE
        if (rewind := table.snapshots.rewinds.read()) is not None and rewind.is_late(prepared.snapshot):
            return Standing.OVERTAKEN
        found = (_check_base(table, prepared) if was_created else None) or _look(table, prepared)
        if found is not None:
            return found
    return Standing.UNDECIDED


def _check_base(table: Table, prepared: Prepared) -> Standing | None:
    base = prepared.base
    if base is None or (table.snapshots.directory.earliest() or 0) > prepared.snapshot.id:
        return None
    before = table.snapshots.find(base.id)
    if before is None:
        return None
    return Standing.IN_HISTORY if is_same_commit(before, base) else Standing.OVERTAKEN


def _look(table: Table, prepared: Prepared) -> Standing | None:
    """Return the result of one attempt; None if concurrent changes require another."""
    directory, number, base = table.snapshots.directory, prepared.snapshot.id, prepared.base
    expired_before = directory.earliest() or 0
    mine = table.snapshots.find(number)
    exists = mine is not None and is_same_commit(mine, prepared.snapshot)
    ids = directory.versions()
    if not ids or (mine is not None) != (number in ids):
        return None  # deleted or created in between, or the directory is being renamed
    later_id = next((i for i in ids if i > number), None)
    if later_id is not None:
        if later_id > number + 1 and exists:
            # Snapshots expire in the order of their ids: this one was created after later ones had expired, unless all
            # expired while the directory was listed.
            return Standing.OVERTAKEN if directory.exists(number) else None
        later = table.snapshots.find(later_id)
        try:
            return None if later is None else _seen_from(table, prepared, later)
        except MissingFileError:
            return None
    if not exists:
        return Standing.OVERTAKEN  # deleted by a rollback
    if expired_before > number:
        return None  # the newest snapshot never expires, so a later one must appear
    if base is None or expired_before == number or not any(i < number for i in ids):
        return Standing.IN_HISTORY  # its base has expired since
    return None if base.id in ids else Standing.OVERTAKEN


def _seen_from(table: Table, prepared: Prepared, later: Snapshot) -> Standing:
    """Return the standing by a later snapshot: if it is the next one, its base contains this one's files.

    Otherwise this one has been deleted, and was in the history if files of it are live in the later one.
    """
    if later.id > prepared.snapshot.id + 1:
        is_live = pc.is_in(live_files(table, later).entries["file_name"], value_set=prepared.added_names)
        return Standing.IN_HISTORY if pc.any(is_live).as_py() else Standing.UNDECIDED
    found = is_built_on(table, later, prepared.snapshot, lambda: prepared.added_names)
    if found is None:
        return Standing.UNDECIDED
    return Standing.IN_HISTORY if found else Standing.OVERTAKEN
