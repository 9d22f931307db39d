"""The step that makes a prepared snapshot a table's newest one: one class for each kind of table history.

Each tells three outcomes apart: the snapshot is in the history, it certainly is not, or the answer was lost.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from enum import Enum, auto

from paimon_sql.errors import AnswerLostError, CommitUnknownError, MissingFileError, PaimonError, UnsupportedError
from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry
from paimon_sql.format.metadata.snapshot import FIRST_SNAPSHOT_ID, Snapshot, parse_snapshot
from paimon_sql.storage.commit.snapshot.standing import Standing, standing_of
from paimon_sql.storage.metadata.environment.snapshot_authority import PartitionChange, VersionManagement
from paimon_sql.storage.metadata.numbered_files import EARLIEST, LATEST
from paimon_sql.storage.metadata.refs.tags import is_same_commit
from paimon_sql.storage.staging.table_identity import changed_table
from paimon_sql.storage.table.table import Table

_QUESTIONS = 4
_PAUSE = 0.1
"""How often a store is asked for the snapshot whose answer was lost, and the seconds before it is asked again."""


class Published(Enum):
    """What became of a prepared snapshot."""

    IN_HISTORY = auto()
    NEVER = auto()
    """Another one has its place; nobody saw it."""
    WITHDRAWN = auto()
    """It came too late, and this call has removed it. A tag or branch made meanwhile may need its files."""
    TAKEN_AWAY = auto()
    """Others have removed it, as a rollback does: it may have been in the history until then."""


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
        """Make the snapshot the newest one, unless the history has gone on without it.

        Args:
            snapshot: the snapshot, its manifests written.
            base: what it was built on, None for the first one.
            entries: the data files that come and go with it.
            publishing: called right before the first step that others may see. Whatever ends the call from then on,
                but for an answer or a `PaimonError` other than `CommitUnknownError`, leaves the outcome open.

        Raises:
            CommitUnknownError: whether it was committed cannot be found out.
            PaimonError: it was not committed.
        """

    def _went_on(self, snapshot_id: int) -> bool:
        """Whether the table has, or may have, come as far as a snapshot."""
        try:
            return (self.table.snapshots.latest_id() or 0) >= snapshot_id
        except (PaimonError, OSError):
            return True

    def _unknown(self, snapshot: Snapshot) -> CommitUnknownError:
        return CommitUnknownError(
            f"{self.table.name}: whether snapshot {snapshot.id} was committed could not be found out; all its files"
            " are kept.",
            commit_user=snapshot.commit_user,
            commit_identifier=snapshot.commit_identifier,
            remedy=f"Look for commit user {snapshot.commit_user} in $snapshots before you run the statement again.",
        )


class Created(Enum):
    """Whether a snapshot's file was created."""

    YES = auto()
    NO = auto()
    PERHAPS = auto()
    """It is not there, but may have been, and have expired since."""


class RenamingSnapshotCommit(SnapshotCommit):
    """The snapshot's file decides, which is created once, under the table's lock if it has one.

    Paimon: ``RenamingSnapshotCommit``.
    """

    def commit(
        self,
        snapshot: Snapshot,
        base: Snapshot | None,
        entries: Iterable[ManifestEntry],
        publishing: Callable[[], None],
    ) -> Published:
        with ExitStack() as held:
            hold = held.enter_context(self.table.lock.held(self.table.branch))
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
        """Whether this call created the snapshot's file; where the answer was lost, the file itself tells."""
        directory = self.table.snapshots.directory
        path = directory.path(snapshot.id)
        lost: PaimonError | OSError | None = None
        try:
            if directory.file_io.try_create_exclusive(path, snapshot.to_json().encode(), locked=locked):
                return Created.YES
        except UnsupportedError:
            raise  # nothing was tried
        except (PaimonError, OSError) as error:
            lost = error
        for question in range(_QUESTIONS):
            if question:
                time.sleep(_PAUSE * question)
            try:
                # Where others have gone on, the file has come since it was looked for, or has gone.
                stored = self._stored(snapshot.id)
                if stored is None and self._went_on(snapshot.id):
                    stored = self._stored(snapshot.id)
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
        # A missing file is an answer only where a call that failed is over. Others may still carry it out.
        if not directory.file_io.answers_are_final(path):
            raise self._unknown(snapshot) from lost
        if lost is None:
            return Created.NO  # the rival's snapshot has gone meanwhile
        raise _certain(lost, path) from None

    def _looked_after(
        self, snapshot: Snapshot, base: Snapshot | None, entries: Iterable[ManifestEntry], created: Created
    ) -> Published:
        """What became of the created snapshot; one that came too late, and does not follow its base, is withdrawn.

        Raises:
            NoSuchTableError: the table was dropped or replaced; the snapshot is withdrawn.
            CommitUnknownError: nothing tells.
        """
        try:
            was_created = created is Created.YES
            standing = standing_of(self.table, snapshot, base, entries, was_created=was_created)
            gone = standing in (Standing.OVERTAKEN, Standing.NO_TABLE) and self._withdraw(snapshot)
        except (PaimonError, OSError) as error:
            raise self._unknown(snapshot) from error
        if standing is Standing.UNDECIDED or (created is Created.PERHAPS and standing is not Standing.IN_HISTORY):
            raise self._unknown(snapshot)
        if standing is Standing.NO_TABLE:
            if gone and self.table.file_io.answers_are_final(self.table.path):
                raise changed_table(self.table)
            raise self._unknown(snapshot)  # its directory may have got another name, and the snapshot with it
        if standing is Standing.IN_HISTORY:
            return Published.IN_HISTORY
        return Published.WITHDRAWN if gone else Published.TAKEN_AWAY

    def _withdraw_if_overtaken(
        self, snapshot: Snapshot, base: Snapshot | None, entries: Iterable[ManifestEntry]
    ) -> None:
        """Leave no snapshot behind that came too late, when an interrupt ends the statement before it has looked.

        The history would go on from it as soon as it comes to its number.
        """
        with suppress(PaimonError, OSError):
            self._looked_after(snapshot, base, entries, Created.PERHAPS)

    def _withdraw(self, snapshot: Snapshot) -> bool:
        """Whether this call deleted the snapshot's file, for it was this one's."""
        return self.table.snapshots.remove(snapshot, durable=True)

    def _stored(self, snapshot_id: int) -> Snapshot | None:
        directory = self.table.snapshots.directory
        try:
            return parse_snapshot(directory.read(snapshot_id), directory.path(snapshot_id))
        except MissingFileError:
            return None

    def _advance_hints(self, snapshot: Snapshot) -> None:
        # The snapshot stands: a hint that cannot be written is no failure of the statement.
        directory = self.table.snapshots.directory
        try:
            directory.advance_hint(LATEST, snapshot.id)
            if snapshot.id == FIRST_SNAPSHOT_ID:
                directory.advance_hint(EARLIEST, snapshot.id)
        except (PaimonError, OSError):
            return


class CatalogSnapshotCommit(SnapshotCommit):
    """The server that keeps the table's history decides; a lost answer is looked for there.

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
        # "No" without a snapshot of that id: it was refused for another reason, such as a table that was rolled back
        # meanwhile, unless it had been made, and has expired since.
        if lost is None and not self._went_on(snapshot.id):
            return Published.NEVER
        raise self._unknown(snapshot) from lost


def snapshot_commit_of(table: Table) -> SnapshotCommit:
    """How snapshots of a table are committed."""
    if table.authority is None:
        return RenamingSnapshotCommit(table)
    return CatalogSnapshotCommit(table, table.authority)


def _certain(error: PaimonError | OSError, path: str) -> PaimonError:
    """The error of a file system that certainly created nothing."""
    if isinstance(error, PaimonError):
        return error
    return PaimonError(f"Cannot create {path}: {error}.")


def partition_changes(table: Table, entries: Iterable[ManifestEntry]) -> list[PartitionChange]:
    """How a commit changes each partition that it touches."""
    found: dict[bytes, list[ManifestEntry]] = {}
    for entry in entries:
        found.setdefault(entry.partition, []).append(entry)
    paths = PartitionPaths.of(table.schema)
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
