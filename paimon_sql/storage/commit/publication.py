"""How a snapshot that is written down becomes a table's newest one: one class for each who decides it.

Every way tells three outcomes apart: the snapshot is ours, a rival's has its place, or nobody can tell.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack

from paimon_sql.errors import AnswerLostError, CommitUnknownError, MissingFileError, PaimonError, UnsupportedError
from paimon_sql.format.manifest import FileKind, ManifestEntry
from paimon_sql.format.partition import PartitionPaths
from paimon_sql.format.snapshot import FIRST_SNAPSHOT_ID, Snapshot, parse_snapshot
from paimon_sql.storage.authority import PartitionChange, VersionAuthority
from paimon_sql.storage.table import Table
from paimon_sql.storage.tags import is_same_commit
from paimon_sql.storage.versioned import EARLIEST, LATEST


class Publication(ABC):
    """A way to make snapshots of a table."""

    def __init__(self, table: Table) -> None:
        self.table = table

    @abstractmethod
    def made(
        self,
        snapshot: Snapshot,
        base: Snapshot | None,
        entries: Iterable[ManifestEntry],
        undo: Callable[[], None],
    ) -> bool:
        """Whether the snapshot is ours; False if a rival's has its id.

        Args:
            snapshot: the snapshot.
            base: what it was built on, None for the first one.
            entries: the data files that come and go with it.
            undo: removes what was written for it; called before an error that says that nothing happened.

        Raises:
            CommitUnknownError: whether it was made cannot be found out.
        """

    def _went_on(self, snapshot_id: int) -> bool:
        """Whether the table has come as far as a snapshot, or nobody can tell."""
        try:
            return (self.table.snapshots.latest_id() or 0) >= snapshot_id
        except (PaimonError, OSError):
            return True

    def _unknown(self, snapshot: Snapshot) -> CommitUnknownError:
        return CommitUnknownError(
            f"{self.table.name}: whether snapshot {snapshot.id} was committed could not be found out.",
            commit_user=snapshot.commit_user,
            commit_identifier=snapshot.commit_identifier,
            remedy=f"Look for commit user {snapshot.commit_user} in $snapshots before you run the statement again.",
        )


class ByFile(Publication):
    """The snapshot's file decides, which can be created once; under the table's lock if it has one."""

    def made(
        self,
        snapshot: Snapshot,
        base: Snapshot | None,
        entries: Iterable[ManifestEntry],
        undo: Callable[[], None],
    ) -> bool:
        with ExitStack() as held:
            try:
                locked = held.enter_context(self.table.lock.held(self.table.branch))
            except BaseException:
                undo()  # nothing can have happened yet
                raise
            is_ours = self._create(snapshot, locked=locked)
        if is_ours:
            self._write_hints(snapshot)
        return is_ours

    def _create(self, snapshot: Snapshot, *, locked: bool) -> bool:
        """Whether the snapshot is ours; an answer that was lost is looked for in the file itself."""
        directory = self.table.snapshots.directory
        path = directory.path(snapshot.id)
        lost: PaimonError | OSError | None = None
        try:
            if directory.file_io.try_create_exclusive(path, snapshot.to_json().encode(), locked=locked):
                return True
        except UnsupportedError:
            raise  # nothing was tried
        except (PaimonError, OSError) as error:
            lost = error
        try:
            return parse_snapshot(directory.read(snapshot.id), path).uuid == snapshot.uuid
        except MissingFileError:
            # An object store may still be at it; where files are created at once, the refusal is the answer, unless
            # others have gone on since: then the snapshot may have been there, and have expired.
            if lost is not None and not directory.file_io.is_object_store(path) and not self._went_on(snapshot.id):
                raise lost from None
            raise self._unknown(snapshot) from lost
        except (PaimonError, OSError):
            raise self._unknown(snapshot) from lost

    def _write_hints(self, snapshot: Snapshot) -> None:
        # The snapshot stands: a hint that cannot be written is none of the statement's business.
        try:
            self.table.snapshots.directory.write_hint(LATEST, snapshot.id)
            if snapshot.id == FIRST_SNAPSHOT_ID:
                self.table.snapshots.directory.write_hint(EARLIEST, snapshot.id)
        except (PaimonError, OSError):
            return


class ByAuthority(Publication):
    """Whoever keeps the table's versions decides; an answer that was lost is looked for there."""

    def __init__(self, table: Table, authority: VersionAuthority) -> None:
        super().__init__(table)
        self._authority = authority

    def made(
        self,
        snapshot: Snapshot,
        base: Snapshot | None,
        entries: Iterable[ManifestEntry],
        undo: Callable[[], None],
    ) -> bool:
        lost: AnswerLostError | None = None
        try:
            partitions = partition_changes(self.table, entries)
            if self._authority.commit(self.table.branch, snapshot, base, partitions):
                return True
        except AnswerLostError as error:
            lost = error
        except PaimonError:
            undo()
            raise
        try:
            found = self._authority.get(self.table.branch, snapshot.id)
        except (PaimonError, OSError):
            raise self._unknown(snapshot) from lost
        if found is not None:
            return is_same_commit(found, snapshot)
        # "No" without a snapshot of that id: it was refused for another reason, such as a table that was rolled back
        # meanwhile, unless it had been made, and has expired since.
        if lost is None and not self._went_on(snapshot.id):
            return False
        raise self._unknown(snapshot) from lost


def publication_of(table: Table) -> Publication:
    """The way of a table."""
    return ByFile(table) if table.authority is None else ByAuthority(table, table.authority)


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
