"""Snapshots made of changes, one rival or none: the part of a commit that says for sure whether it happened."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import timedelta

from paimon_sql.errors import CommitConflictError, MissingFileError
from paimon_sql.format.options.commit import (
    COMMIT_MAX_RETRIES,
    COMMIT_MAX_RETRY_WAIT,
    COMMIT_MIN_RETRY_WAIT,
    COMMIT_TIMEOUT,
)
from paimon_sql.format.snapshot import CommitKind, Operation, Snapshot
from paimon_sql.storage.commit.account import give_account
from paimon_sql.storage.commit.attempt import Attempt, Author
from paimon_sql.storage.commit.conflicts import check_conflicts
from paimon_sql.storage.commit.messages import Changes
from paimon_sql.storage.commit.publication import publication_of
from paimon_sql.storage.listed_partitions import tell_of_commit
from paimon_sql.storage.table import Table

_MOST_DOUBLINGS = 30


class SnapshotMaker:
    """Makes the next snapshots of a table for one writer, and does nothing else after that.

    Args:
        table: the table.
        commit_user: the writer's identity; a new one by default.
        operation: the statement behind the commits, kept in the snapshots.
        properties: what the snapshots keep beside.
    """

    def __init__(
        self,
        table: Table,
        commit_user: str | None = None,
        operation: Operation | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self.table = table
        self.commit_user = commit_user or str(uuid.uuid4())
        self.operation = operation
        self.properties = properties or {}

    def commit(self, kind: CommitKind, changes: Callable[[Snapshot | None], Changes], identifier: int) -> Snapshot:
        """Make a snapshot of changes that depend on the snapshot they are put on.

        Raises:
            CommitConflictError: the changes cannot be put on the newest snapshot, or rivals won too often.
            CommitUnknownError: whether the snapshot was made cannot be found out.
        """
        author = Author(self.commit_user, identifier, self.operation, self.properties)
        publication = publication_of(self.table)
        attempts = self.table.options.get(COMMIT_MAX_RETRIES) + 1
        timeout: timedelta | None = self.table.options.get(COMMIT_TIMEOUT)
        started, tried = time.monotonic(), 0
        while tried < attempts and not (tried and timeout and time.monotonic() - started > timeout.total_seconds()):
            self._wait(tried)
            tried += 1
            self.table.snapshots.forget()
            latest = self.table.snapshots.latest()
            attempt = self._attempt(author)
            try:
                wanted = changes(latest)
                check_conflicts(self.table, latest, wanted)
                snapshot = attempt.prepare(kind, latest, wanted)
            except MissingFileError:
                if latest is None or self.table.snapshots.latest_id() == latest.id:
                    raise
                continue  # rivals went on, and what was built upon has expired meanwhile
            if publication.made(snapshot, latest, wanted.entries, attempt.remove):
                give_account(self.table, snapshot, wanted, tried, time.monotonic() - started)
                tell_of_commit(self.table, kind, wanted)
                return snapshot
            attempt.remove()
        raise CommitConflictError(
            f"{self.table.name}: {tried} rivals committed first, one after the other.",
            remedy="Run the statement again, or raise commit.max-retries.",
        )

    def _attempt(self, author: Author) -> Attempt:
        """One try at a commit."""
        return Attempt(self.table, author)

    def _wait(self, tried: int) -> None:
        """Before another attempt, wait for a time that doubles; by chance, so that rivals do not meet again."""
        if tried:
            options = self.table.options
            least = options.get(COMMIT_MIN_RETRY_WAIT).total_seconds() * 2.0 ** min(tried - 1, _MOST_DOUBLINGS)
            time.sleep(min(options.get(COMMIT_MAX_RETRY_WAIT).total_seconds(), least) * random.random())
