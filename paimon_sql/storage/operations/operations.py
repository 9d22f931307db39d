"""Operations of transactions: append, overwrite, compact, change indexes; each with the maintenance that follows it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from paimon_sql.errors import CommitConflictError, PaimonError
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind, Operation, Snapshot
from paimon_sql.format.options.operations.commit import COMMIT_FORCE_CREATE_SNAPSHOT, OVERWRITE_UPGRADE
from paimon_sql.format.options.operations.snapshot import SNAPSHOT_IGNORE_EMPTY_COMMIT
from paimon_sql.format.statistics.table_statistics import TableStatistics
from paimon_sql.storage.commit.checks.conflicts import STAGED_FILES_EXIST, CommitLayout
from paimon_sql.storage.commit.snapshot.manifests import indexes_of_partitions
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.data_files.live_files import grouped, live_files
from paimon_sql.storage.data_files.lsm_tree import max_level, sections_of
from paimon_sql.storage.maintenance.after_commit import after_batch, after_commit
from paimon_sql.storage.staging.commit_messages import Changes, CommitMessage, append_changes, compact_changes
from paimon_sql.storage.table.statistics import written_statistics
from paimon_sql.storage.table.table import Table


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
    is_wanted = table.schema.has_key and table.options.get(OVERWRITE_UPGRADE)
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


_LOG = logging.getLogger(__name__)


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
    is_forced = numbered and options.get(COMMIT_FORCE_CREATE_SNAPSHOT)
    return options.get(SNAPSHOT_IGNORE_EMPTY_COMMIT) is False or is_forced


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
    if messages and transaction.identifier == BATCH_COMMIT_IDENTIFIER:
        after_batch(transaction.table, frozenset(m.partition for m in messages))


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
