"""The committer: turns changes into the next snapshot, and says for sure whether that happened.

A commit writes its manifests, then creates the snapshot's file, which only one writer can do for an id. Whoever loses
builds anew on the winner's snapshot; the data files stay as they are. Three outcomes exist: the snapshot was made, a
rival's change makes this one impossible (`CommitConflictError`), or the answer was lost and nobody can tell
(`CommitUnknownError`); only in the second case are the writer's files removed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from paimon_sql.errors import CommitConflictError, CommitUnknownError, ConstraintViolationError, PaimonError
from paimon_sql.format.manifest import FileKind, ManifestEntry, entries
from paimon_sql.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind, Operation, Snapshot
from paimon_sql.format.table_statistics import TableStatistics
from paimon_sql.storage.commit.chain_rules import check_append, check_overwrite, overtaken
from paimon_sql.storage.commit.growth import growth_error
from paimon_sql.storage.commit.indexes import indexes_of_partitions
from paimon_sql.storage.commit.messages import Changes, CommitMessage, append_changes, compact_changes
from paimon_sql.storage.commit.snapshot_maker import SnapshotMaker
from paimon_sql.storage.commit.upgrade import upgraded
from paimon_sql.storage.index_files import index_path
from paimon_sql.storage.maintenance import after_batch, after_commit
from paimon_sql.storage.scan.live_files import live_files
from paimon_sql.storage.table import Table
from paimon_sql.storage.table_statistics import written_statistics

_LOG = logging.getLogger(__name__)


class Committer(SnapshotMaker):
    """Commits for one writer, and lets the table see to itself afterwards.

    Args:
        table: the table.
        commit_user: the writer's identity; a new one by default.
        operation: the statement behind the commits, kept in the snapshots.
        fresh: whether no message was given to a commit before, so that after any failure that is sure to have changed
            nothing the new files can be removed, even where the table's metadata cannot be read.
        properties: what the snapshots keep beside.
    """

    def __init__(
        self,
        table: Table,
        commit_user: str | None = None,
        operation: Operation | None = None,
        *,
        fresh: bool = False,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(table, commit_user, operation, properties)
        self._fresh = fresh

    def append(
        self,
        messages: Sequence[CommitMessage],
        identifier: int = BATCH_COMMIT_IDENTIFIER,
        guard: Callable[[Snapshot | None], None] | None = None,
    ) -> list[Snapshot]:
        """Commit new rows, then, as a snapshot of its own, the compactions that came with them.

        Args:
            messages: what was written.
            identifier: the writer's number of the commit.
            guard: raises a conflict if the rows must not be put on that snapshot.

        Returns:
            The snapshots made: none if nothing changed. Once the rows are committed nothing that befalls a compaction
            is an error: it is given up.

        Raises:
            CommitConflictError: a rival removed files that the new rows replace; all new files were removed.
            ConstraintViolationError: the rows would hide others of a chain table.
        """
        made = []
        rows, compaction = append_changes(messages), compact_changes(messages)

        def guarded(latest: Snapshot | None) -> Changes:
            if guard is not None:
                guard(latest)
            check_append(self.table, latest, rows)
            return rows

        if not rows.is_empty():
            kind = CommitKind.OVERWRITE if rows.takes_away() else CommitKind.APPEND
            made.append(self._commit_or_discard(kind, guarded, identifier, [rows, compaction]))
        made += self._compaction(compaction, identifier, after_rows=bool(made))
        if made:
            after_commit(self.table, made)
            self._end_of_batch(messages, identifier)
        return made

    def _compaction(self, changes: Changes, identifier: int, *, after_rows: bool) -> list[Snapshot]:
        """Commit the compaction that came with new rows; once those are committed it may fail."""
        if changes.is_empty():
            return []
        try:
            return [self._commit_or_discard(CommitKind.COMPACT, lambda latest: changes, identifier, [changes])]
        except CommitConflictError:
            return []
        except (PaimonError, OSError) as error:
            if not after_rows:
                raise
            _LOG.warning("%s: rows were committed, their compaction was not: %s", self.table.name, error)
            return []

    def compact(self, messages: Sequence[CommitMessage], identifier: int = BATCH_COMMIT_IDENTIFIER) -> Snapshot | None:
        """Commit a compaction; None if nothing changed.

        Raises:
            CommitConflictError: a rival was quicker; the new files were removed.
        """
        changes = compact_changes(messages)
        if changes.is_empty():
            return None
        made = self._commit_or_discard(CommitKind.COMPACT, lambda latest: changes, identifier, [changes])
        after_commit(self.table, [made])
        return made

    def index(self, messages: Sequence[CommitMessage], identifier: int = BATCH_COMMIT_IDENTIFIER) -> Snapshot | None:
        """Commit index files that come and go while all rows stay; None if nothing changed.

        Raises:
            CommitConflictError: a rival has changed these indexes; the new files were removed.
        """
        changes = append_changes(messages)
        if changes.is_empty():
            return None
        made = self._commit_or_discard(CommitKind.APPEND, lambda latest: changes, identifier, [changes])
        after_commit(self.table, [made])
        return made

    def overwrite(
        self,
        messages: Sequence[CommitMessage],
        removed: Callable[[Snapshot | None], list[ManifestEntry]],
        identifier: int = BATCH_COMMIT_IDENTIFIER,
        *,
        same_rows: bool = False,
    ) -> Snapshot | None:
        """Replace files by others, then commit the compactions that came with them; None if nothing changed.

        Without any, the files of a keyed table go to the deepest level where they stand alone. Changelogs that a
        compaction made are left out: an overwrite tells nobody what it does.

        Args:
            messages: the new rows, and compactions of them.
            removed: given the snapshot that is built upon, the DELETE entries of what goes, which are all files of the
                partitions that they are of: their index files go too.
            identifier: the writer's number of the commit.
            same_rows: whether the new rows are those that go, so that nothing but their files is new.

        Raises:
            ConstraintViolationError: a whole partition of a chain table would be dropped that others need.
        """
        compaction = compact_changes(messages)
        untold = replace(compaction, changelog=[])
        added = append_changes(upgraded(self.table, messages) if compaction.is_empty() else messages)

        replaced: set[bytes] = set()

        def changes(latest: Snapshot | None) -> Changes:
            gone = removed(latest)
            indexes = indexes_of_partitions(self.table, latest, frozenset(e.partition for e in gone))
            return Changes([*gone, *added.entries], added.changelog, [*indexes, *added.indexes])

        def checked(latest: Snapshot | None) -> Changes:
            wanted = changes(latest)
            if not same_rows:
                check_overwrite(self.table, latest, wanted)
            replaced.clear()
            replaced.update(e.partition for e in wanted.entries)
            return wanted

        if changes(self.table.snapshots.latest()).is_empty():
            return None
        made = self._commit_or_discard(CommitKind.OVERWRITE, checked, identifier, [added, compaction])
        self._discard([Changes(changelog=compaction.changelog)])
        compacted = self._compaction(untold, identifier, after_rows=True)
        after_commit(self.table, [made, *compacted])
        self._end_of_batch(messages, identifier)
        if not same_rows:
            self._drop_overtaken(replaced)
        return made

    def analyze(self, statistics: TableStatistics, identifier: int = BATCH_COMMIT_IDENTIFIER) -> Snapshot:
        """Make a snapshot of the same rows that names these statistics."""
        name = written_statistics(self.table, statistics)
        try:
            made = self.commit(CommitKind.ANALYZE, lambda latest: Changes(statistics=name), identifier)
        except CommitUnknownError:
            raise
        except (PaimonError, OSError):
            self.table.file_io.delete_many([self.table.paths.statistics(name)])
            raise
        after_commit(self.table, [made])
        return made

    def note(self, guard: Callable[[Snapshot | None], None], identifier: int = BATCH_COMMIT_IDENTIFIER) -> Snapshot:
        """Make a snapshot of the same rows, for what the committer's snapshots keep beside.

        Args:
            guard: raises a conflict if that must not be said of a snapshot.
            identifier: the writer's number of the commit.
        """

        def nothing(latest: Snapshot | None) -> Changes:
            guard(latest)
            return Changes()

        made = self.commit(CommitKind.ANALYZE, nothing, identifier)
        after_commit(self.table, [made])
        return made

    def _drop_overtaken(self, partitions: set[bytes]) -> None:
        """Drop the whole partitions of a chain table whose changes were overwritten."""
        found = overtaken(self.table, partitions)
        if found is None:
            return
        table, whole = found

        def removed(latest: Snapshot | None) -> list[ManifestEntry]:
            gone = live_files(table, latest, partitions=whole).entries
            return [replace(e, kind=FileKind.DELETE) for e in entries(gone)]

        Committer(table, operation=Operation.TRUNCATE).overwrite([], removed)

    def _commit_or_discard(
        self,
        kind: CommitKind,
        changes: Callable[[Snapshot | None], Changes],
        identifier: int,
        made: Sequence[Changes],
    ) -> Snapshot:
        if (refusal := growth_error(self.table, kind)) is not None:
            self._discard(made)
            raise refusal
        try:
            return self.commit(kind, changes, identifier)
        except CommitUnknownError:
            raise
        except (PaimonError, OSError) as error:
            if self._fresh or isinstance(error, CommitConflictError | ConstraintViolationError):
                self._discard(made)
            raise

    def _end_of_batch(self, messages: Sequence[CommitMessage], identifier: int) -> None:
        if messages and identifier == BATCH_COMMIT_IDENTIFIER:
            after_batch(self.table, frozenset(m.partition for m in messages))

    def discard(self, messages: Sequence[CommitMessage]) -> None:
        """Remove the files of messages that are not going to be committed."""
        self._discard([append_changes(messages), compact_changes(messages)])

    def _discard(self, made: Iterable[Changes]) -> None:
        """Remove the new files of changes that were refused, unless the table holds them all the same.

        It may when messages whose answer was lost had been committed, and are then committed once more.
        """
        table, locations = self.table, self.table.locations
        try:
            held: set[str] = set()
            if not self._fresh:
                table.snapshots.forget()
                held.update(live_files(table, table.snapshots.latest()).entries["file_name"].to_pylist())
            for changes in made:
                moved = {e.file.file_name: e.file for e in changes.entries if e.kind == FileKind.DELETE}
                added = [e for e in changes.entries if e.kind == FileKind.ADD and e.file.file_name not in moved]
                extended = [e for e in changes.entries if e.kind == FileKind.ADD and e.file.file_name in moved]
                if not any(e.file.file_name in held for e in added):
                    table.file_io.delete_many(
                        path
                        for e in [*added, *changes.changelog]
                        for path in locations.files_of(e.partition, e.bucket, e.file)
                    )
                    table.file_io.delete_many(index_path(table, e) for e in changes.indexes if e.kind is FileKind.ADD)
                if not held:
                    table.file_io.delete_many(
                        path
                        for e in extended
                        for path in locations.extra_files_of(e.partition, e.bucket, e.file)
                        if path not in locations.files_of(e.partition, e.bucket, moved[e.file.file_name])
                    )
        except (PaimonError, OSError) as error:
            _LOG.warning("%s: files of a refused commit could not be removed: %s", table.name, error)
