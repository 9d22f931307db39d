"""Compactions of whole tables and those that a write brings, whatever kind the table is of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from paimon_sql.format.options.compaction import WRITE_ONLY
from paimon_sql.format.snapshot import CommitKind
from paimon_sql.storage.buckets.registry import POSTPONE, bucket_mode
from paimon_sql.storage.commit.committer import Committer
from paimon_sql.storage.commit.growth import growth_error, only_grows
from paimon_sql.storage.commit.messages import CommitMessage
from paimon_sql.storage.compact.append import (
    plan_append_compaction,
    plan_append_triggered,
    run_append_task,
    with_vectors,
)
from paimon_sql.storage.compact.plan import plan_compaction, plan_triggered, run_task
from paimon_sql.storage.compact.postponed import compact_postponed
from paimon_sql.storage.compact.scope import EVERYTHING, Scope
from paimon_sql.storage.executor import Executor
from paimon_sql.storage.table import Table

T = TypeVar("T")


def compact_due(
    table: Table, messages: Sequence[CommitMessage], executor: Executor, *, alone: bool = False
) -> list[CommitMessage]:
    """The compactions that new files make due in their buckets; none for a table that is only written to.

    Args:
        table: the table, its newest snapshot not yet holding the messages' files.
        messages: what is about to be committed.
        executor: runs the tasks.
        alone: whether the new files replace all that stands in their buckets, as those of an overwrite do.
    """
    if table.options.get(WRITE_ONLY) or only_grows(table):
        return []
    if table.schema.primary_keys:
        return _run(table, executor, run_task, plan_triggered(table, messages, alone=alone))
    tasks = plan_append_triggered(table, messages, alone=alone)
    return with_vectors(table, _run(table, executor, run_append_task, tasks))


def compact_table(
    table: Table, executor: Executor, *, full: bool, scope: Scope = EVERYTHING, asked: bool = True
) -> list[CommitMessage]:
    """What is to be committed as one compaction of a table.

    Args:
        table: the table.
        executor: runs the tasks.
        full: everything as far as it goes; otherwise only what is due.
        scope: which buckets.
        asked: whether the caller said how far; where buckets are postponed, those that get no rows are merged fully
            only if so.

    Raises:
        UnsupportedError: the table's files must stay as they are.
    """
    if (refusal := growth_error(table, CommitKind.COMPACT)) is not None:
        raise refusal
    if not table.schema.primary_keys:
        tasks = plan_append_compaction(table, full=full, scope=scope)
        return with_vectors(table, _run(table, executor, run_append_task, tasks))
    if bucket_mode(table.schema) is POSTPONE:
        return compact_postponed(table, executor, scope=scope, full=full and asked)
    return _run(table, executor, run_task, plan_compaction(table, full=full, scope=scope))


def _run(
    table: Table, executor: Executor, function: Callable[[T], CommitMessage], tasks: Sequence[T]
) -> list[CommitMessage]:
    """What all tasks answer; if one fails or the run is interrupted, nothing is left of the others."""
    done: list[CommitMessage] = []
    try:
        done.extend(executor.map(function, tasks))  # which keeps what comes before an error
    except BaseException:
        Committer(table, fresh=True).discard(done)
        raise
    return done
