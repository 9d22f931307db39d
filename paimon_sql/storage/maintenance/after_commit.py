"""Maintenance after a commit: creation and expiration of tags, expiration of partitions, consumers and snapshots.

The order is that of Apache Paimon: tags are created before anything expires, partitions expire before snapshots, so
that the snapshot without them counts, and so do consumers, which retain snapshots.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import TypeVar

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.operations import snapshot as snapshot_options
from paimon_sql.format.options.operations.commit import END_INPUT_CHECK_PARTITION_EXPIRE
from paimon_sql.format.options.operations.compaction import WRITE_ONLY
from paimon_sql.format.options.table.partition import PARTITION_EXPIRATION_CHECK_INTERVAL, PARTITION_EXPIRATION_TIME
from paimon_sql.format.text.durations import MILLISECOND
from paimon_sql.format.text.instants import current_millis
from paimon_sql.process import share
from paimon_sql.storage.maintenance.partitions.expiration import expire_partitions, plan_partition_expiry
from paimon_sql.storage.maintenance.partitions.mark_done import mark_written_partitions
from paimon_sql.storage.maintenance.snapshots.expiration import ExpirationResult, expire_snapshots
from paimon_sql.storage.maintenance.tags.automatic_creation import execute_plan, plan_automatic_tags, tag_batch
from paimon_sql.storage.maintenance.tags.management import delete_tags, expired_tags
from paimon_sql.storage.metadata.catalog_environment import MaintenanceRun
from paimon_sql.storage.retention.policy import retention_of
from paimon_sql.storage.table.table import Table

_LOG = logging.getLogger(__name__)

T = TypeVar("T")
Counts = dict[str, int]
_background = share(lambda: ThreadPoolExecutor(1, thread_name_prefix="paimon-maintenance"))


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


def after_batch(table: Table, partitions: Collection[bytes]) -> None:
    """Create the tag of a batch write, and mark its partitions as done.

    Args:
        table: the table that was committed to.
        partitions: the serialized partitions that got rows.
    """
    _step(table, "the tag of a batch write could not be created", lambda: tag_batch(table))
    _step(table, "partitions could not be marked done", lambda: mark_written_partitions(table, partitions))


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
    if not interval or table.options.get(END_INPUT_CHECK_PARTITION_EXPIRE):
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
