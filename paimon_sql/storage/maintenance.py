"""What a table does for itself after a commit: consumers that left are forgotten, old snapshots expire."""

from __future__ import annotations

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import cache

from paimon_sql.format.options.compaction import WRITE_ONLY
from paimon_sql.format.options.snapshot import CONSUMER_EXPIRATION_TIME, SNAPSHOT_EXPIRE_EXECUTION_MODE
from paimon_sql.storage.expire.retention import retention_of
from paimon_sql.storage.expire.run import ExpiryResult, expire_snapshots
from paimon_sql.storage.table import Table

_LOG = logging.getLogger(__name__)
_MILLISECOND = timedelta(milliseconds=1)


def after_commit(table: Table) -> ExpiryResult | None:
    """Let old snapshots expire as the table's options say, unless it is written to only.

    The commit stands whatever becomes of this: what goes wrong is logged, and the next commit tries again. When nothing
    is to be done, this takes a handful of file operations.

    Args:
        table: the table that was committed to.

    Returns:
        What was done; None if it is being done in the background, was not to be done or failed.
    """
    if table.options.get(WRITE_ONLY):
        return None
    if table.options.get(SNAPSHOT_EXPIRE_EXECUTION_MODE) == "async":
        _background().submit(_maintain, table)
        return None
    return _maintain(table)


def _maintain(table: Table) -> ExpiryResult | None:
    try:
        now = int(time.time() * 1000)
        kept: timedelta | None = table.options.get(CONSUMER_EXPIRATION_TIME)
        if kept is not None:
            table.consumers.expire(now - kept // _MILLISECOND)
        return expire_snapshots(table, retention_of(table.options, now), leftovers=False, now_millis=now)
    except Exception as error:
        _LOG.warning("%s: snapshots could not expire after a commit: %s", table.name, error)
        return None


@cache
def _background() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="paimon-expiry")
