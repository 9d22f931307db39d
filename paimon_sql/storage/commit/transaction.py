"""Transactions: the only way to change a table, from staged files to the snapshot that refers to them.

A commit writes its manifests, then creates the snapshot, which for each id only one writer can do. A writer that loses
retries on top of the winner's snapshot, with the same data files. A transaction has exactly one of three outcomes:
committed; certainly not committed, then its files are deleted; or unknown, then all of them are retained
(`CommitUnknownError`). Files are released before a snapshot that refers to them may exist, so that no failure, abort or
interrupt can delete a file of a snapshot. This includes a snapshot that existed until a rollback dropped it: a tag or
branch may need its files.
"""

from __future__ import annotations

import logging
import random
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from enum import Enum, auto
from itertools import count

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql import errors
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry
from paimon_sql.format.metadata.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind, Operation, Snapshot
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations import commit as commit_options
from paimon_sql.storage.commit.checks.conflicts import CommitLayout
from paimon_sql.storage.commit.checks.history import strict_mode
from paimon_sql.storage.commit.checks.rolled_back import require_files_of
from paimon_sql.storage.commit.partition_registration import register_commit
from paimon_sql.storage.commit.snapshot.manifests import Attempt, Merge, merge_manifests
from paimon_sql.storage.commit.snapshot.snapshot_commit import Prepared, Published, snapshot_commit_of
from paimon_sql.storage.execution.metrics import COMMIT, DURATIONS, FAILED_COMMIT, process_metrics
from paimon_sql.storage.iceberg import publish_quietly
from paimon_sql.storage.staging.commit_messages import Changes, StagedFiles, new_files
from paimon_sql.storage.staging.proposal import SAME_DEFINITION, SAME_TABLE, Proposal, Validation
from paimon_sql.storage.table.table import Table

LOG = logging.getLogger("paimon_sql.commits")
"""Logs one line per commit on level INFO."""
_MAX_DOUBLINGS = 30


def attempts_of(options: TableOptions) -> Iterator[int]:
    """Yield the numbers of the attempts of a commit, from 1, with a pause before each but the first.

    Args:
        options: the table's options ``commit.max-retries``, ``commit.timeout``, ``commit.min-retry-wait`` and
            ``commit.max-retry-wait``.
    """
    started, timeout = time.monotonic(), options.get(commit_options.COMMIT_TIMEOUT)
    min_wait, max_wait = (
        options.get(o).total_seconds()
        for o in (commit_options.COMMIT_MIN_RETRY_WAIT, commit_options.COMMIT_MAX_RETRY_WAIT)
    )
    for attempt in range(1, options.get(commit_options.COMMIT_MAX_RETRIES) + 2):
        if attempt > 1:
            if timeout and time.monotonic() - started > timeout.total_seconds():
                return
            # Exponential backoff, randomized so that concurrent writers do not collide again.
            wait = min_wait * 2.0 ** min(attempt - 2, _MAX_DOUBLINGS)
            time.sleep(min(max_wait, wait) * random.random())
        yield attempt


def new_user(table: Table) -> str:
    """Return a unique commit user, with the prefix ``commit.user-prefix``."""
    prefix = table.options.get(commit_options.COMMIT_USER_PREFIX)
    return str(uuid.uuid4()) if prefix is None else f"{prefix}_{uuid.uuid4()}"


def validations_of(table: Table) -> tuple[Validation, ...]:
    """Return the conditions of every commit to a table."""
    return (SAME_TABLE, SAME_DEFINITION, *CommitLayout.of(table).validations)


class Outcome(Enum):
    """The outcome of a transaction."""

    OPEN = auto()
    """Nothing is committed yet."""
    COMMITTED = auto()
    NOT_COMMITTED = auto()
    """Nothing was committed, and the staged files were deleted."""
    UNKNOWN = auto()
    """The snapshot may exist, or be created later; its files are retained."""


class NoChangesError(Exception):
    """There is nothing to commit; raised by changes of `Transaction.commit_unless_empty`."""


class Transaction(AbstractContextManager["Transaction"]):
    """One change of a table, committed as one snapshot or not at all.

    As a context manager, it deletes on exit the staged files that no snapshot refers to, or may refer to.

    Args:
        table: the table, opened for this statement: a table of the same name that is created meanwhile is another one.
        operation: the operation to record in the snapshot.
        base: the snapshot that the changes are computed from, for validations.
        user: the commit user; by default a new one with the prefix ``commit.user-prefix``.
        identifier: the commit identifier.
        properties: further properties of the snapshot.
        validations: conditions beyond those of every commit.
        staged: the files to own; new ones by default.
    """

    def __init__(
        self,
        table: Table,
        operation: Operation | None = None,
        *,
        base: Snapshot | None = None,
        user: str | None = None,
        identifier: int = BATCH_COMMIT_IDENTIFIER,
        properties: Mapping[str, str] | None = None,
        validations: Iterable[Validation] = (),
        staged: StagedFiles | None = None,
    ) -> None:
        self.table = table
        self.operation = operation
        self.base = base
        self.user = user or new_user(table)
        self.identifier = identifier
        self.properties = dict(properties or {})
        self.validations = [*validations_of(table), *strict_mode(table, user), *validations]
        self.staged = StagedFiles(table) if staged is None else staged
        self.outcome = Outcome.OPEN
        self._attached: list[str] = []
        self._was_published = False
        self._taken_away: int | None = None
        self._rolled_back: Snapshot | None = None
        _ = table.created_millis  # cached for comparison, before others may create another branch of its name

    def __exit__(self, *failure: object) -> None:
        self.close()

    def require(self, *validations: Validation) -> None:
        """Add conditions for the commit."""
        self.validations.extend(validations)

    def attach(self, path: str) -> None:
        """Own a file that the snapshot's properties refer to, which is deleted unless the snapshot exists, or may."""
        self.staged.add_paths([path])
        self._attached.append(path)

    def close(self) -> None:
        """End the transaction: delete the staged files that no snapshot refers to, or may refer to."""
        self.staged.remove()
        if self.outcome is Outcome.OPEN:
            self.outcome = Outcome.NOT_COMMITTED

    def commit(
        self, kind: CommitKind, changes: Callable[[Snapshot | None], Changes], *, merge: Merge = merge_manifests
    ) -> Snapshot:
        """Commit changes, which may depend on the snapshot that they are committed on.

        Args:
            kind: the kind of the commit.
            changes: returns the changes, given the newest snapshot; called in every attempt.
            merge: merges the manifests of the newest snapshot.

        Raises:
            CommitConflictError: the changes conflict with the newest snapshot, or concurrent commits won every attempt.
            NoSuchTableError: the table was dropped or replaced.
            CommitUnknownError: whether the snapshot was created is unknown; or it was, and a rollback has dropped it
                meanwhile, after which the changes could not be committed again.
        """
        assert self.outcome is Outcome.OPEN, "a transaction commits once"
        try:
            with failure_reported(self.table):
                return self._commit(kind, changes, merge)
        except errors.CommitUnknownError:
            self.outcome = Outcome.UNKNOWN
            raise
        except errors.PaimonError as error:
            if self._taken_away is None:
                raise
            self.outcome = Outcome.UNKNOWN
            raise errors.CommitUnknownError(
                f"{self.table.name}: snapshot {self._taken_away} was committed, but another job rolled the table"
                f" back to an earlier one; it could not be committed again: {error.message}",
                commit_user=self.user,
                commit_identifier=self.identifier,
                remedy="A tag or branch that was created concurrently may keep it. Check this before you run the"
                " statement again.",
            ) from error

    def commit_unless_empty(self, kind: CommitKind, changes: Callable[[Snapshot | None], Changes]) -> Snapshot | None:
        """Commit changes as `commit` does; return None if there are none at the first attempt, or none are left."""
        attempts = count()

        def some(latest: Snapshot | None) -> Changes:
            found = changes(latest)
            if not next(attempts) and found.is_empty():
                raise NoChangesError
            return found

        try:
            return self.commit(kind, some)
        except NoChangesError:
            return None

    def _commit(self, kind: CommitKind, changes: Callable[[Snapshot | None], Changes], merge: Merge) -> Snapshot:
        started, attempts, stray = time.monotonic(), 0, None
        for attempts in attempts_of(self.table.options):
            # Read the mark first: a snapshot built on one that a rollback drops must not claim to know of the rollback.
            rewind = self.table.snapshots.rewinds.read() if self.table.version_management is None else None
            latest = self.table.snapshots.latest()
            stray = None if rewind is None else self.table.snapshots.stray_behind(latest, rewind)
            if self._rolled_back is not None and stray is None:
                stray = next(iter(self.table.snapshots.late_snapshots()), None)
            if stray is not None:
                continue  # its writer will withdraw it, or the rollback will drop it
            attempt = Attempt(self.table, self.user, self.identifier, self.operation, self.properties, merge, rewind)
            try:
                proposal = Proposal(self.table, self.base, latest, kind, changes(latest))
                self._validate(proposal)
                proposed = CommitLayout.of(self.table).in_commit_order(proposal)
                if self._rolled_back is not None:
                    require_files_of(self.table, self._rolled_back, proposed)
                owned = self.staged.owned([*new_files(self.table, proposed), *self._attached])
                prepared = attempt.prepare(kind, latest, proposed, owned)
            except errors.MissingFileError:
                if latest is None or self.table.snapshots.latest_id() == latest.id:
                    raise
                continue  # concurrent commits, after which the base has expired
            if self._publish(prepared, attempt, owned):
                snapshot = prepared.snapshot
                report_commit(self.table, snapshot, proposed, attempts, time.monotonic() - started)
                register_commit(self.table, kind, proposed)
                publish_quietly(self.table)
                return snapshot
        if stray is not None:
            raise errors.CommitConflictError(
                f"{self.table.name}: snapshot {stray} blocks the commit: its writer was overtaken by a rollback,"
                " and has not removed it yet.",
                remedy="Run the statement again. If the writer is dead, CALL sys.repair first.",
            )
        raise errors.CommitConflictError(
            f"{self.table.name}: commit failed after {attempts} attempts: concurrent commits.",
            remedy=f"Run the statement again, or raise {commit_options.COMMIT_MAX_RETRIES.key}.",
        )

    def _validate(self, proposal: Proposal) -> None:
        try:
            for validation in self.validations:
                validation.check(proposal)
        except errors.PaimonError as error:
            # Changes whose response was lost may already be committed.
            if isinstance(error, errors.AlreadyCommittedError) or self._may_be_live(proposal):
                self.staged.release_all()
            raise

    def _may_be_live(self, proposal: Proposal) -> bool:
        """Whether an added file is live in the newest snapshot, or may be."""
        added = [e.file.file_name for e in proposal.changes.entries if e.kind is FileKind.ADD]
        moved = {e.file.file_name for e in proposal.changes.entries if e.kind is FileKind.DELETE}
        new = pa.array([name for name in added if name not in moved], pa.string())
        try:
            return bool(len(new)) and bool(pc.any(pc.is_in(proposal.live["file_name"], value_set=new)).as_py())
        except (errors.PaimonError, OSError):
            return self._was_published

    def _publish(self, prepared: Prepared, attempt: Attempt, owned: list[str]) -> bool:
        """Publish the snapshot; return whether it is in the history. Unless it certainly is not, keep its files."""

        def publishing() -> None:
            self.outcome = Outcome.UNKNOWN
            self._was_published = True
            self.staged.release(owned)

        try:
            published = snapshot_commit_of(self.table).commit(prepared, publishing)
        except BaseException as error:
            if self.outcome is Outcome.OPEN:
                attempt.remove()
            elif isinstance(error, errors.PaimonError) and not isinstance(error, errors.CommitUnknownError):
                self._reopen(attempt, owned)
            raise
        match published:
            case Published.IN_HISTORY:
                self.outcome = Outcome.COMMITTED
            case Published.NEVER:
                self._reopen(attempt, owned)
            case Published.WITHDRAWN:
                self.outcome = Outcome.OPEN  # the files are retained in any case
            case Published.TAKEN_AWAY:
                self.outcome, self._taken_away = Outcome.OPEN, prepared.snapshot.id
        if published in (Published.WITHDRAWN, Published.TAKEN_AWAY):
            self._note_rollback(prepared.snapshot)
        return published is Published.IN_HISTORY

    def _note_rollback(self, snapshot: Snapshot) -> None:
        """Remember the first snapshot that may have been in the history before a rollback."""
        if self._rolled_back is None or snapshot.id < self._rolled_back.id:
            rewind = self.table.snapshots.rewinds.read()
            if self._taken_away == snapshot.id or (rewind is not None and rewind.is_late(snapshot)):
                self._rolled_back = snapshot

    def _reopen(self, attempt: Attempt, owned: list[str]) -> None:
        """Own the files again, as certainly nothing was committed."""
        self.outcome = Outcome.OPEN
        self.staged.add_paths(owned)
        attempt.remove()


@contextmanager
def failure_reported(table: Table) -> Iterator[None]:
    """Report a commit that fails in the block to the metrics; the statement may make another one."""
    started = time.monotonic()
    try:
        yield
    except errors.AlreadyCommittedError:
        raise
    except (errors.PaimonError, OSError):
        millis = round((time.monotonic() - started) * 1000)
        process_metrics().note(table.metric_key, FAILED_COMMIT, {DURATIONS[FAILED_COMMIT]: millis})
        raise


def report_commit(table: Table, snapshot: Snapshot, changes: Changes, attempts: int, seconds: float) -> None:
    """Report a commit to the log and the metrics.

    Args:
        table: the table.
        snapshot: the committed snapshot.
        changes: its changes.
        attempts: the number of attempts.
        seconds: their total duration.
    """
    added, added_bytes = _counted(changes.entries, FileKind.ADD)
    removed, removed_bytes = _counted(changes.entries, FileKind.DELETE)
    changelog_files, _ = _counted(changes.changelog, FileKind.ADD)
    measured: dict[str, float] = {
        "commitDuration": round(seconds * 1000),
        "commitAttempts": attempts,
        "committedSnapshotId": snapshot.id,
        "tableFilesAdded": added,
        "tableFilesDeleted": removed,
        "changelogFilesAppended": changelog_files,
        "partitionsWritten": len({e.partition for e in changes.entries}),
        "bucketsWritten": len({(e.partition, e.bucket) for e in changes.entries}),
    }
    if snapshot.commit_kind is CommitKind.COMPACT:
        measured |= {"compactionInputFileSize": removed_bytes, "compactionOutputFileSize": added_bytes}
    elif snapshot.delta_record_count is not None:
        measured["deltaRecordsAppended"] = snapshot.delta_record_count
    process_metrics().note(table.metric_key, COMMIT, measured)
    if LOG.isEnabledFor(logging.INFO):
        name = table.name_of_branch(table.branch)
        records = "unknown" if snapshot.delta_record_count is None else f"{snapshot.delta_record_count:+d}"
        LOG.info(
            f"{name}: snapshot {snapshot.id}, {snapshot.commit_kind.value} of {records} records,"
            f" {added} files of {added_bytes} bytes added, {removed} of {removed_bytes} bytes removed,"
            f" {changelog_files} changelog files, {measured['commitDuration']} ms, attempt {attempts},"
            f" user {snapshot.commit_user}",
            extra={
                "fields": {
                    "table": name,
                    "snapshot": snapshot.id,
                    "kind": snapshot.commit_kind.value,
                    "records": snapshot.delta_record_count,
                    "files_added": added,
                    "bytes_added": added_bytes,
                    "files_removed": removed,
                    "bytes_removed": removed_bytes,
                    "changelog_files": changelog_files,
                    "duration_ms": measured["commitDuration"],
                    "attempts": attempts,
                    "commit_user": snapshot.commit_user,
                }
            },
        )


def _counted(entries: Iterable[ManifestEntry], kind: FileKind) -> tuple[int, int]:
    sizes = [e.file.file_size for e in entries if e.kind == kind]
    return len(sizes), sum(sizes)
