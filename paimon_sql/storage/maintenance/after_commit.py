"""What a table does for itself after a commit: tags are made and expire, partitions, consumers and snapshots expire.

The order is that of Apache Paimon: what is to be kept is tagged before anything goes, partitions go before snapshots
so that the snapshot without them counts, and consumers that left before the snapshots that they hold.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import TypeVar

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.operations.commit import END_INPUT_CHECK_PARTITION_EXPIRE
from paimon_sql.format.options.operations.compaction import WRITE_ONLY
from paimon_sql.format.options.operations.snapshot import CONSUMER_EXPIRATION_TIME, SNAPSHOT_EXPIRE_EXECUTION_MODE
from paimon_sql.format.options.operations.tag import TAG_TIME_EXPIRE_ENABLED
from paimon_sql.format.options.table.partition import PARTITION_EXPIRATION_CHECK_INTERVAL, PARTITION_EXPIRATION_TIME
from paimon_sql.format.text.durations import MILLISECOND
from paimon_sql.format.text.instants import present_millis
from paimon_sql.storage.maintenance.partitions.expiration import expire_partitions, plan_partition_expiry
from paimon_sql.storage.maintenance.partitions.mark_done import mark_written_partitions
from paimon_sql.storage.maintenance.snapshots.expiration import ExpirationResult, expire_snapshots
from paimon_sql.storage.maintenance.tags.automatic import carry_out, plan_automatic_tags, tag_batch
from paimon_sql.storage.maintenance.tags.expiration import expired_tags
from paimon_sql.storage.maintenance.tags.management import delete_tags
from paimon_sql.storage.metadata.environment.maintenance_log import MaintenanceRun
from paimon_sql.storage.retention.policy import retention_of
from paimon_sql.storage.table.table import Table

_LOG = logging.getLogger(__name__)

T = TypeVar("T")
Counts = dict[str, int]
_running: set[Future[ExpirationResult | None]] = set()


def after_commit(table: Table, made: Sequence[Snapshot] = ()) -> ExpirationResult | None:
    """Let the table see to its tags, partitions, consumers and snapshots as its options say.

    The commit stands whatever becomes of this: what goes wrong is logged, and the next commit tries again. A table that
    is written to only leaves all of it to others. When nothing is to be done, this takes a handful of file operations.

    Args:
        table: the table that was committed to.
        made: the snapshots that the statement made.

    Returns:
        What became of old snapshots; None if it is being done in the background, was not to be done or failed.
    """
    if table.options.get(WRITE_ONLY):
        return None
    if table.options.get(SNAPSHOT_EXPIRE_EXECUTION_MODE) == "async":
        # The statement may go on with its table, which remembers what it read, so the thread gets one of its own.
        job = _background().submit(_maintain, replace(table), tuple(made))
        _running.add(job)
        job.add_done_callback(_running.discard)
        return None
    return _maintain(table, made)


def after_batch(table: Table, partitions: Collection[bytes]) -> None:
    """What the end of a batch write is to bring beside its rows: a tag, and partitions marked as done.

    Args:
        table: the table that was committed to.
        partitions: the partitions that got rows, serialised.
    """
    _step(table, "the tag of a batch write could not be made", lambda: tag_batch(table))
    _step(table, "partitions could not be marked done", lambda: mark_written_partitions(table, partitions))


def wait_for_background() -> None:
    """Wait until all that commits left to the background is done, as the end of the process does by itself."""
    wait(set(_running))


def _maintain(table: Table, made: Sequence[Snapshot]) -> ExpirationResult | None:
    now = present_millis()
    steps = _Recorded(table, made)
    tagged = steps.run("trigger_tag_automatic_creation", "tags could not be made", lambda: _make_tags(table))
    steps.run("expire_tags", "tags could not expire", lambda: _expire_tags(table))
    steps.run("expire_partitions", "partitions could not expire", lambda: _expire_partitions(table, made))
    steps.run("clear_consumers", "consumers could not expire", lambda: _expire_consumers(table, now))
    if tagged is None:
        return None  # the snapshots that go might be those that the tags are for
    expired: list[ExpirationResult] = []
    steps.run("expire_snapshots", "snapshots could not expire", lambda: _expire_snapshots(table, now, expired))
    return expired[0] if expired else None


def _step(table: Table, failure: str, action: Callable[[], T]) -> T | None:
    try:
        return action()
    except Exception as error:
        _LOG.warning("%s: %s after a commit: %s", table.name, failure, error)
        return None


class _Recorded:
    """Runs the steps after a commit and records those that changed something or failed."""

    def __init__(self, table: Table, made: Sequence[Snapshot]) -> None:
        self._table = table
        self._snapshot = made[-1].id if made else None

    def run(self, procedure: str, failure: str, action: Callable[[], Counts]) -> Counts | None:
        """Run a step; None if it failed.

        Args:
            procedure: the procedure that does the same.
            failure: what is said if it fails.
            action: the step, which tells how many of what were changed.
        """
        started, clock = present_millis(), time.monotonic()
        try:
            counts = action()
        except Exception as error:
            _LOG.warning("%s: %s after a commit: %s", self._table.name, failure, error)
            self._add(procedure, started, clock, error=str(error))
            return None
        if any(counts.values()):
            self._add(procedure, started, clock, counts=counts)
        return counts

    def _add(
        self, procedure: str, started: int, clock: float, counts: Counts | None = None, error: str | None = None
    ) -> None:
        log = self._table.run_log
        if log is None:
            return
        database, _, name = self._table.name.rpartition(".")
        run = MaintenanceRun(
            started_millis=started,
            catalog=log.catalog,
            procedure=procedure,
            trigger="commit",
            database=database.rpartition(".")[2],
            table=name,
            snapshot_before=self._snapshot,
            snapshot_after=_step(self._table, "the newest snapshot is unknown", self._table.snapshots.latest_id),
            counts=counts or {},
            seconds=round(time.monotonic() - clock, 3),
            error=error,
        )
        log.add(run)


def _make_tags(table: Table) -> Counts:
    return {"created_tags": len(carry_out(table, plan_automatic_tags(table)))}


def _expire_tags(table: Table) -> Counts:
    over = expired_tags(table) if table.options.get(TAG_TIME_EXPIRE_ENABLED) else []
    if not over:
        return {}
    return {"deleted_tags": len(delete_tags(table, [tag.name for tag in over]).deleted)}


def _expire_partitions(table: Table, made: Sequence[Snapshot]) -> Counts:
    if not (table.schema.partition_keys and table.options.has(PARTITION_EXPIRATION_TIME) and _is_due(table, made)):
        return {}
    done = expire_partitions(table, plan_partition_expiry(table))
    return {"expired_partitions": sum(made is not None for made in done.snapshots)}


def _is_due(table: Table, made: Sequence[Snapshot]) -> bool:
    """Whether it is time to look for partitions: the first commit in each interval does.

    Intervals are counted from the epoch, so that nothing need be remembered from one process to the next.
    """
    interval = table.options.get(PARTITION_EXPIRATION_CHECK_INTERVAL) // MILLISECOND
    latest = made[-1] if made else table.snapshots.latest()
    if latest is None:
        return False
    if not interval or table.options.get(END_INPUT_CHECK_PARTITION_EXPIRE):
        return True
    first = made[0].id if made else latest.id
    exists = table.snapshots.exists(first - 1)
    before = table.snapshots.get(first - 1).time_millis if exists else table.schema.time_millis
    return before is None or latest.time_millis // interval != before // interval


def _expire_consumers(table: Table, now: int) -> Counts:
    kept: timedelta | None = table.options.get(CONSUMER_EXPIRATION_TIME)
    if kept is None:
        return {}
    return {"removed_consumers": len(table.consumers.expire(now - kept // MILLISECOND))}


def _expire_snapshots(table: Table, now: int, expired: list[ExpirationResult]) -> Counts:
    done = expire_snapshots(table, retention_of(table.options, now), leftovers=False, now_millis=now)
    expired.append(done)
    if not (done.snapshots or done.changelogs):
        return {}
    return {
        "deleted_snapshots_count": len(done.snapshots),
        "expired_changelogs": done.changelogs,
        "deleted_files": done.files.count,
        "deleted_bytes": done.files.bytes,
    }


@cache
def _background() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="paimon-maintenance")
