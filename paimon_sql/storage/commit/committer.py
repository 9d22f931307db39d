"""The committer: turns changes into the next snapshot, and says for sure whether that happened.

A commit writes its manifests, then creates the snapshot's file, which only one writer can do for an id. Whoever loses
builds anew on the winner's snapshot; the data files stay as they are. Three outcomes exist: the snapshot was made, a
rival's change makes this one impossible (`CommitConflictError`), or the answer was lost and nobody can tell
(`CommitUnknownError`); only in the second case are the writer's files removed.
"""

from __future__ import annotations

import logging
import random
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from paimon_sql.errors import CommitConflictError, CommitUnknownError, MissingFileError, PaimonError
from paimon_sql.format.manifest import FileKind, ManifestEntry
from paimon_sql.format.options.commit import (
    COMMIT_MAX_RETRIES,
    COMMIT_MAX_RETRY_WAIT,
    COMMIT_MIN_RETRY_WAIT,
    COMMIT_TIMEOUT,
)
from paimon_sql.format.snapshot import (
    BATCH_COMMIT_IDENTIFIER,
    FIRST_SNAPSHOT_ID,
    CommitKind,
    Operation,
    Snapshot,
    parse_snapshot,
)
from paimon_sql.storage.commit.attempt import Attempt, Author
from paimon_sql.storage.commit.conflicts import check_conflicts
from paimon_sql.storage.commit.growth import growth_error
from paimon_sql.storage.commit.indexes import indexes_of_partitions
from paimon_sql.storage.commit.messages import Changes, CommitMessage, append_changes, compact_changes
from paimon_sql.storage.commit.upgrade import upgraded
from paimon_sql.storage.index_files import index_path
from paimon_sql.storage.maintenance import after_commit
from paimon_sql.storage.scan.live_files import live_files
from paimon_sql.storage.table import Table
from paimon_sql.storage.versioned import EARLIEST, LATEST

_LOG = logging.getLogger(__name__)
_MOST_DOUBLINGS = 30


class Committer:
    """Commits for one writer.

    Args:
        table: the table.
        commit_user: the writer's identity; a new one by default.
        operation: the statement behind the commits, kept in the snapshots.
        fresh: whether no message was given to a commit before, so that after any failure that is sure to have changed
            nothing the new files can be removed, even where the table's metadata cannot be read.
    """

    def __init__(
        self,
        table: Table,
        commit_user: str | None = None,
        operation: Operation | None = None,
        *,
        fresh: bool = False,
    ) -> None:
        self.table = table
        self._fresh = fresh
        self.commit_user = commit_user or str(uuid.uuid4())
        self.operation = operation

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
        """
        made = []
        rows, compaction = append_changes(messages), compact_changes(messages)

        def guarded(latest: Snapshot | None) -> Changes:
            if guard is not None:
                guard(latest)
            return rows

        if not rows.is_empty():
            kind = CommitKind.OVERWRITE if rows.takes_away() else CommitKind.APPEND
            made.append(self._commit_or_discard(kind, guarded, identifier, [rows, compaction]))
        made += self._compaction(compaction, identifier, after_rows=bool(made))
        if made:
            after_commit(self.table)
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
        after_commit(self.table)
        return made

    def overwrite(
        self,
        messages: Sequence[CommitMessage],
        removed: Callable[[Snapshot | None], list[ManifestEntry]],
        identifier: int = BATCH_COMMIT_IDENTIFIER,
    ) -> Snapshot | None:
        """Replace files by others, then commit the compactions that came with them; None if nothing changed.

        Without any, the files of a keyed table go to the deepest level where they stand alone. Changelogs that a
        compaction made are left out: an overwrite tells nobody what it does.

        Args:
            messages: the new rows, and compactions of them.
            removed: given the snapshot that is built upon, the DELETE entries of what goes, which are all files of the
                partitions that they are of: their index files go too.
            identifier: the writer's number of the commit.
        """
        compaction = compact_changes(messages)
        untold = replace(compaction, changelog=[])
        added = append_changes(upgraded(self.table, messages) if compaction.is_empty() else messages)

        def changes(latest: Snapshot | None) -> Changes:
            gone = removed(latest)
            indexes = indexes_of_partitions(self.table, latest, frozenset(e.partition for e in gone))
            return Changes([*gone, *added.entries], added.changelog, [*indexes, *added.indexes])

        if changes(self.table.snapshots.latest()).is_empty():
            return None
        made = self._commit_or_discard(CommitKind.OVERWRITE, changes, identifier, [added, compaction])
        self._discard([Changes(changelog=compaction.changelog)])
        self._compaction(untold, identifier, after_rows=True)
        after_commit(self.table)
        return made

    def commit(self, kind: CommitKind, changes: Callable[[Snapshot | None], Changes], identifier: int) -> Snapshot:
        """Make a snapshot of changes that depend on the snapshot they are put on.

        Raises:
            CommitConflictError: the changes cannot be put on the newest snapshot, or rivals won too often.
            CommitUnknownError: whether the snapshot was made cannot be found out.
        """
        author = Author(self.commit_user, identifier, self.operation)
        attempts = self.table.options.get(COMMIT_MAX_RETRIES) + 1
        timeout: timedelta | None = self.table.options.get(COMMIT_TIMEOUT)
        started, tried = time.monotonic(), 0
        while tried < attempts and not (tried and timeout and time.monotonic() - started > timeout.total_seconds()):
            self._wait(tried)
            tried += 1
            self.table.snapshots.forget()
            latest = self.table.snapshots.latest()
            attempt = Attempt(self.table, author)
            try:
                wanted = changes(latest)
                check_conflicts(self.table, latest, wanted)
                snapshot = attempt.prepare(kind, latest, wanted)
            except MissingFileError:
                if latest is None or self.table.snapshots.latest_id() == latest.id:
                    raise
                continue  # rivals went on, and what was built upon has expired meanwhile
            if self._create(snapshot):
                self._write_hints(snapshot)
                return snapshot
            attempt.remove()
        raise CommitConflictError(
            f"{self.table.name}: {tried} rivals committed first, one after the other.",
            remedy="Run the statement again, or raise commit.max-retries.",
        )

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
            if self._fresh or isinstance(error, CommitConflictError):
                self._discard(made)
            raise

    def discard(self, messages: Sequence[CommitMessage]) -> None:
        """Remove the files of messages that are not going to be committed."""
        self._discard([append_changes(messages), compact_changes(messages)])

    def _wait(self, tried: int) -> None:
        """Before another attempt, wait for a time that doubles; by chance, so that rivals do not meet again."""
        if tried:
            options = self.table.options
            least = options.get(COMMIT_MIN_RETRY_WAIT).total_seconds() * 2.0 ** min(tried - 1, _MOST_DOUBLINGS)
            time.sleep(min(options.get(COMMIT_MAX_RETRY_WAIT).total_seconds(), least) * random.random())

    def _create(self, snapshot: Snapshot) -> bool:
        """Whether the snapshot is ours; an answer that was lost is looked for in the file itself."""
        directory = self.table.snapshots.directory
        path = directory.path(snapshot.id)
        lost: PaimonError | OSError | None = None
        try:
            if directory.file_io.try_create_exclusive(path, snapshot.to_json().encode()):
                return True
        except (PaimonError, OSError) as error:
            lost = error
        try:
            return parse_snapshot(directory.read(snapshot.id), path).uuid == snapshot.uuid
        except MissingFileError:
            # An object store may still be at it; where files are created at once, the refusal is the answer.
            if lost is not None and not directory.file_io.is_object_store(path):
                raise lost from None
            raise self._unknown(snapshot) from lost
        except (PaimonError, OSError):
            raise self._unknown(snapshot) from lost

    def _unknown(self, snapshot: Snapshot) -> CommitUnknownError:
        return CommitUnknownError(
            f"{self.table.name}: whether snapshot {snapshot.id} was committed could not be found out.",
            commit_user=snapshot.commit_user,
            commit_identifier=snapshot.commit_identifier,
            remedy=f"Look for commit user {snapshot.commit_user} in $snapshots before you run the statement again.",
        )

    def _write_hints(self, snapshot: Snapshot) -> None:
        # The snapshot stands: a hint that cannot be written is none of the statement's business.
        try:
            self.table.snapshots.directory.write_hint(LATEST, snapshot.id)
            if snapshot.id == FIRST_SNAPSHOT_ID:
                self.table.snapshots.directory.write_hint(EARLIEST, snapshot.id)
        except (PaimonError, OSError):
            return

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
                moved = {e.file.file_name for e in changes.entries if e.kind == FileKind.DELETE}
                added = [e for e in changes.entries if e.kind == FileKind.ADD and e.file.file_name not in moved]
                if not any(e.file.file_name in held for e in added):
                    table.file_io.delete_many(
                        path
                        for e in [*added, *changes.changelog]
                        for path in locations.files_of(e.partition, e.bucket, e.file)
                    )
                    table.file_io.delete_many(index_path(table, e) for e in changes.indexes if e.kind is FileKind.ADD)
        except (PaimonError, OSError) as error:
            _LOG.warning("%s: files of a refused commit could not be removed: %s", table.name, error)
