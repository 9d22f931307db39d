"""Operations of transactions: append, overwrite, compact, change indexes; each with the maintenance that follows it.

Maintenance after a commit creates and expires tags, and expires partitions, consumers and snapshots. The order is that
of Apache Paimon: tags are created before anything expires, partitions expire before snapshots, so that the snapshot
without them counts, and so do consumers, which retain snapshots.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TypeVar

from paimon_sql.errors import CommitConflictError, PaimonError
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind, Operation, Snapshot
from paimon_sql.format.options.operations import commit as commit_options
from paimon_sql.format.options.operations import snapshot as snapshot_options
from paimon_sql.format.options.operations.compaction import WRITE_ONLY
from paimon_sql.format.options.table.partition import PARTITION_EXPIRATION_CHECK_INTERVAL, PARTITION_EXPIRATION_TIME
from paimon_sql.format.statistics.table_statistics import TableStatistics
from paimon_sql.format.text.durations import MILLISECOND
from paimon_sql.format.text.instants import current_millis
from paimon_sql.process import share
from paimon_sql.storage.commit.checks.conflicts import STAGED_FILES_EXIST, CommitLayout
from paimon_sql.storage.commit.snapshot.manifests import indexes_of_partitions
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.data_files.live_files import grouped, live_files
from paimon_sql.storage.data_files.lsm_tree import max_level, sections_of
from paimon_sql.storage.maintenance.partitions.expiration import expire_partitions, plan_partition_expiry
from paimon_sql.storage.maintenance.partitions.mark_done import mark_written_partitions
from paimon_sql.storage.maintenance.snapshots.expiration import ExpirationResult, expire_snapshots
from paimon_sql.storage.maintenance.tags.automatic_creation import execute_plan, plan_automatic_tags, tag_batch
from paimon_sql.storage.maintenance.tags.management import delete_tags, expired_tags
from paimon_sql.storage.metadata.catalog_environment import MaintenanceRun
from paimon_sql.storage.retention.policy import retention_of
from paimon_sql.storage.staging.commit_messages import Changes, CommitMessage, append_changes, compact_changes
from paimon_sql.storage.table.statistics import written_statistics
from paimon_sql.storage.table.table import Table

_LOG = logging.getLogger(__name__)

T = TypeVar("T")
Counts = dict[str, int]
_background = share(lambda: ThreadPoolExecutor(1, thread_name_prefix="paimon-maintenance"))


def upgraded(
    table: Table, messages: Sequence[CommitMessage], replaced: Collection[bytes] | None = None
) -> list[CommitMessage]:
    """The messages of an overwrite, with files moved to the max level where they share no key and hold no deletes.

    Buckets with overlapping files stay unchanged. So does everything in tables without a primary key, in postponed
    buckets, or if a file is not on level 0.

    Args:
        table: the table.
        messages: the new files.
        replaced: the partitions whose buckets hold no other files; None for all of them. Files of other partitions stay
            on level 0, for files of one level must not share keys.
    """
    is_wanted = table.schema.has_key and table.options.get(commit_options.OVERWRITE_UPGRADE)
    if not is_wanted or any(m.bucket < 0 or any(f.level for f in m.new_files) for m in messages):
        return list(messages)
    buckets = grouped(((m.partition, m.bucket), m) for m in messages)
    level = max_level(table.options)
    found = []
    for (partition, _), theirs in buckets.items():
        files = [f for m in theirs for f in m.new_files]
        disjoint = all(len(s.runs) == 1 for s in sections_of(table.schema, files))
        alone = replaced is None or partition in replaced
        if alone and disjoint and all(f.delete_row_count == 0 for f in files):
            theirs = [replace(m, new_files=tuple(replace(f, level=level) for f in m.new_files)) for m in theirs]
        found += theirs
    return found


def append(transaction: Transaction, messages: Sequence[CommitMessage]) -> list[Snapshot]:
    """Commit new rows, then their compactions as a separate snapshot.

    Args:
        transaction: commits the rows; it owns the messages' files from here on.
        messages: the files that are added and deleted.

    Returns:
        The new snapshots: none if nothing changed, unless the table's options require one. Once the rows are committed,
        a compaction that cannot be committed is given up without an error.

    Raises:
        CommitConflictError: a concurrent commit deleted files that the new rows replace.
        ConstraintViolationError: the rows would hide others of a chain table.
    """
    _take(transaction, messages)
    rows, compaction = append_changes(messages), compact_changes(messages)
    made = []
    if not rows.is_empty():
        transaction.require(*CommitLayout.of(transaction.table).append_validations)
        kind = CommitKind.OVERWRITE if rows.deletes_rows() else CommitKind.APPEND
        made.append(transaction.commit(kind, lambda latest: rows))
        made += _compaction_after(transaction, compaction)
    elif not compaction.is_empty():
        made.append(transaction.commit(CommitKind.COMPACT, lambda latest: compaction))
    elif _keeps_empty(transaction):
        made.append(transaction.commit(CommitKind.APPEND, lambda latest: Changes()))
    if made:
        after_commit(transaction.table, made)
        _end_of_batch(transaction, messages)
    return made


def compact(transaction: Transaction, messages: Sequence[CommitMessage]) -> Snapshot | None:
    """Commit a compaction; None if nothing changed.

    Raises:
        CommitConflictError: a concurrent commit was faster.
    """
    _take(transaction, messages)
    changes = compact_changes(messages)
    return None if changes.is_empty() else _commit(transaction, CommitKind.COMPACT, changes)


def change_indexes(transaction: Transaction, messages: Sequence[CommitMessage]) -> Snapshot | None:
    """Commit added and deleted index files, without any change of rows; None if nothing changed.

    Raises:
        CommitConflictError: a concurrent commit changed these indexes.
    """
    _take(transaction, messages)
    changes = append_changes(messages)
    return None if changes.is_empty() else _commit(transaction, CommitKind.APPEND, changes)


def overwrite(
    transaction: Transaction,
    messages: Sequence[CommitMessage],
    removed: Callable[[Snapshot | None], list[ManifestEntry]],
    *,
    same_rows: bool = False,
    even_if_empty: bool = False,
    replaced_partitions: Collection[bytes] | None = None,
) -> Snapshot | None:
    """Replace files, then commit the compactions of the new ones; None if nothing changed.

    Without compactions, new files of a primary-key table move to the max level (`upgraded`). Changelogs of compactions
    are left out: an overwrite has no changelog.

    Args:
        transaction: commits the new files; it owns the messages' files from here on.
        messages: the new rows, and compactions of them.
        removed: from the base snapshot, the DELETE entries of the replaced files. They must be all files of their
            partitions, for the index files of these partitions are deleted too.
        same_rows: whether the new files hold the rows of the replaced ones.
        even_if_empty: whether to create a snapshot even if no file is added or deleted.
        replaced_partitions: the partitions of the messages that are replaced; rows are appended to the others. None for
            all of them.

    Raises:
        ConstraintViolationError: a full partition of a chain table would be dropped that others need.
    """
    _take(transaction, messages)
    table, compaction = transaction.table, compact_changes(messages)
    if compaction.is_empty():
        messages = upgraded(table, messages, replaced_partitions)
    added = append_changes(messages)
    replaced: set[bytes] = set()

    def changes(latest: Snapshot | None) -> Changes:
        deleted = removed(latest)
        indexes = indexes_of_partitions(table, latest, frozenset(e.partition for e in deleted))
        wanted = Changes([*deleted, *added.entries], added.changelog, [*indexes, *added.indexes])
        replaced.clear()
        replaced.update(e.partition for e in wanted.entries)
        return wanted

    if not same_rows:
        transaction.require(*CommitLayout.of(table).overwrite_validations)
    keeps_empty = even_if_empty or _keeps_empty(transaction)
    commit = transaction.commit if keeps_empty else transaction.commit_unless_empty
    made = commit(CommitKind.OVERWRITE, changes)
    if made is None:
        return None
    compacted = _compaction_after(transaction, replace(compaction, changelog=[]))
    after_commit(table, [made, *compacted])
    _end_of_batch(transaction, messages)
    if not same_rows:
        _drop_overtaken(transaction, replaced)
    return made


def set_statistics(transaction: Transaction, statistics: TableStatistics) -> Snapshot:
    """Commit table statistics as a snapshot of the same rows."""
    table, name = transaction.table, written_statistics(transaction.table, statistics)
    transaction.staged.add_paths([table.paths.statistics(name)])
    return _commit(transaction, CommitKind.ANALYZE, Changes(statistics=name))


def annotate(transaction: Transaction) -> Snapshot:
    """Commit a snapshot of the same rows that carries the properties of the transaction."""
    return _commit(transaction, CommitKind.ANALYZE, Changes())


def _commit(transaction: Transaction, kind: CommitKind, changes: Changes) -> Snapshot:
    made = transaction.commit(kind, lambda latest: changes)
    after_commit(transaction.table, [made])
    return made


def _keeps_empty(transaction: Transaction) -> bool:
    """Whether an empty commit creates a snapshot, so that tags, expiration and watermarks proceed."""
    options, numbered = transaction.table.options, transaction.identifier != BATCH_COMMIT_IDENTIFIER
    is_forced = numbered and options.get(commit_options.COMMIT_FORCE_CREATE_SNAPSHOT)
    return options.get(snapshot_options.SNAPSHOT_IGNORE_EMPTY_COMMIT) is False or is_forced


def _take(transaction: Transaction, messages: Sequence[CommitMessage]) -> None:
    """Stage the files that tasks have written."""
    transaction.staged.own(messages)
    transaction.require(STAGED_FILES_EXIST)


def _compaction_after(transaction: Transaction, changes: Changes) -> list[Snapshot]:
    """Commit the compaction of new rows. The rows are committed already, so a failure is no error."""
    if changes.is_empty():
        return []
    table = transaction.table
    compaction = Transaction(
        table,
        transaction.operation,
        user=transaction.user,
        identifier=transaction.identifier,
        properties=transaction.properties,
        staged=transaction.staged,
    )
    try:
        return [compaction.commit(CommitKind.COMPACT, lambda latest: changes)]
    except CommitConflictError:
        return []
    except (PaimonError, OSError) as error:
        _LOG.warning("%s: rows were committed, their compaction was not: %s", table.name, error)
        return []


def _end_of_batch(transaction: Transaction, messages: Sequence[CommitMessage]) -> None:
    """Create the tag of a batch write, and mark its partitions as done."""
    table, partitions = transaction.table, {m.partition for m in messages}
    if messages and transaction.identifier == BATCH_COMMIT_IDENTIFIER:
        _step(table, "the tag of a batch write could not be created", lambda: tag_batch(table))
        _step(table, "partitions could not be marked done", lambda: mark_written_partitions(table, partitions))


def _drop_overtaken(transaction: Transaction, partitions: set[bytes]) -> None:
    """Drop the partitions of another branch that overwritten ones outdate."""
    found = CommitLayout.of(transaction.table).outdated_partitions(transaction.table, partitions)
    if found is None:
        return
    table, full = found

    def removed(latest: Snapshot | None) -> list[ManifestEntry]:
        deleted = live_files(table, latest, partitions=full).entries
        return [replace(e, kind=FileKind.DELETE) for e in entries(deleted)]

    with Transaction(table, Operation.TRUNCATE) as dropping:
        overwrite(dropping, [], removed)


def after_commit(table: Table, made: Sequence[Snapshot] = ()) -> ExpirationResult | None:
    """Maintain the table's tags, partitions, consumers and snapshots by its options.

    Errors are logged and do not affect the commit; the next commit tries again. Write-only tables leave maintenance to
    others. If nothing is due, this takes a handful of file operations.

    Args:
        table: the table that was committed to.
        made: the snapshots that the statement committed.

    Returns:
        The result of expiring snapshots; None if it runs in the background, was not due, or failed.
    """
    if table.options.get(WRITE_ONLY):
        return None
    if table.options.get(snapshot_options.SNAPSHOT_EXPIRE_EXECUTION_MODE) == "async":
        _background().submit(_maintain, table, tuple(made))  # which is waited for at exit
        return None
    return _maintain(table, made)


def _maintain(table: Table, made: Sequence[Snapshot]) -> ExpirationResult | None:
    now = current_millis()
    run = partial(_run_recorded, table, made)
    tags = run("trigger_tag_automatic_creation", "tags could not be created", lambda: _make_tags(table))
    run("expire_tags", "tags could not expire", lambda: _expire_tags(table))
    run("expire_partitions", "partitions could not expire", lambda: _expire_partitions(table, made))
    run("clear_consumers", "consumers could not expire", lambda: _expire_consumers(table, now))
    if tags is None:
        return None  # the snapshots to expire might be those to tag
    expired: list[ExpirationResult] = []
    run("expire_snapshots", "snapshots could not expire", lambda: _expire_snapshots(table, now, expired))
    return expired[0] if expired else None


def _step(table: Table, failure: str, action: Callable[[], T]) -> T | None:
    try:
        return action()
    except Exception as error:
        _LOG.warning("%s: %s after a commit: %s", table.name, failure, error)
        return None


def _run_recorded(
    table: Table, made: Sequence[Snapshot], procedure: str, failure: str, action: Callable[[], Counts]
) -> Counts | None:
    """Run a step after a commit, and record it if it changed something or failed; return None if it failed.

    Args:
        table: the table.
        made: the snapshots that the statement committed.
        procedure: the procedure with the same effect.
        failure: the message for the log.
        action: the step, which returns the numbers of changes.
    """
    started, clock, error = current_millis(), time.monotonic(), None
    counts: Counts | None = None
    try:
        counts = action()
    except Exception as problem:
        _LOG.warning("%s: %s after a commit: %s", table.name, failure, problem)
        error = str(problem)
    if table.run_log is not None and (counts is None or any(counts.values())):
        database, _, name = table.name.rpartition(".")
        run = MaintenanceRun(
            started_millis=started,
            catalog=table.run_log.catalog,
            procedure=procedure,
            trigger="commit",
            database=database.rpartition(".")[2],
            table=name,
            snapshot_before=made[-1].id if made else None,
            snapshot_after=_step(table, "the newest snapshot is unknown", table.snapshots.latest_id),
            counts=counts or {},
            seconds=round(time.monotonic() - clock, 3),
            error=error,
        )
        table.run_log.add(run)
    return counts


def _make_tags(table: Table) -> Counts:
    return {"created_tags": len(execute_plan(table, plan_automatic_tags(table)))}


def _expire_tags(table: Table) -> Counts:
    expired = expired_tags(table) if table.options.get(snapshot_options.TAG_TIME_EXPIRE_ENABLED) else []
    if not expired:
        return {}
    return {"deleted_tags": len(delete_tags(table, [tag.name for tag in expired]).deleted)}


def _expire_partitions(table: Table, made: Sequence[Snapshot]) -> Counts:
    if not (table.schema.partition_keys and table.options.has(PARTITION_EXPIRATION_TIME) and _is_due(table, made)):
        return {}
    result = expire_partitions(table, plan_partition_expiry(table))
    return {"expired_partitions": sum(snapshot is not None for snapshot in result.snapshots)}


def _is_due(table: Table, made: Sequence[Snapshot]) -> bool:
    """Whether to look for expired partitions, as the first commit in each interval does.

    Intervals are aligned to the epoch, so that no state is needed.
    """
    interval = table.options.get(PARTITION_EXPIRATION_CHECK_INTERVAL) // MILLISECOND
    latest = made[-1] if made else table.snapshots.latest()
    if latest is None:
        return False
    if not interval or table.options.get(commit_options.END_INPUT_CHECK_PARTITION_EXPIRE):
        return True
    first = made[0].id if made else latest.id
    previous = table.snapshots.find(first - 1)
    before = table.schema.time_millis if previous is None else previous.time_millis
    return before is None or latest.time_millis // interval != before // interval


def _expire_consumers(table: Table, now: int) -> Counts:
    time_retained: timedelta | None = table.options.get(snapshot_options.CONSUMER_EXPIRATION_TIME)
    if time_retained is None:
        return {}
    return {"removed_consumers": len(table.consumers.expire(now - time_retained // MILLISECOND))}


def _expire_snapshots(table: Table, now: int, expired: list[ExpirationResult]) -> Counts:
    result = expire_snapshots(table, retention_of(table.options, now), leftovers=False, now_millis=now)
    expired.append(result)
    if not (result.snapshots or result.changelogs):
        return {}
    return {
        "deleted_snapshots_count": len(result.snapshots),
        "expired_changelogs": result.changelogs,
        "deleted_files": result.files.count,
        "deleted_bytes": result.files.bytes,
    }
