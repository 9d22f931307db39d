"""Attempts of statements whose rows concurrent commits have changed since they were read."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from paimon_sql.errors import CommitConflictError
from paimon_sql.format.options.engines.spark import (
    WRITE_DATA_EVOLUTION_UPDATE_CONFLICT_RETRY_MAX_ATTEMPTS,
    WRITE_DATA_EVOLUTION_UPDATE_CONFLICT_RETRY_WAIT_MS,
)
from paimon_sql.storage.table.table import Table

R = TypeVar("R")
_MAX_ATTEMPTS = WRITE_DATA_EVOLUTION_UPDATE_CONFLICT_RETRY_MAX_ATTEMPTS
_WAIT_MILLIS = WRITE_DATA_EVOLUTION_UPDATE_CONFLICT_RETRY_WAIT_MS
_ATTEMPTS = 8
_MAX_WAIT = 2.0


def retried_on_conflict(open_table: Callable[[], Table], statement: Callable[[Table], R]) -> R:
    """Run a statement again, after a pause, while its commits conflict with concurrent ones.

    Args:
        open_table: returns the table, anew for each attempt; its options limit the attempts.
        statement: one attempt.

    Raises:
        CommitConflictError: each attempt had a conflict.
    """
    attempt = 0
    while True:
        table = open_table()
        try:
            return statement(table)
        except CommitConflictError:
            attempts, wait = _policy(table, attempt)
            attempt += 1
            if attempt >= attempts:
                raise
            time.sleep(wait)


def _policy(table: Table, attempt: int) -> tuple[int, float]:
    """The maximum number of attempts, and the seconds to wait after an attempt."""
    attempts, millis = _MAX_ATTEMPTS, _WAIT_MILLIS
    if not table.layout.groups_files or not (table.options.has(attempts) or table.options.has(millis)):
        return _ATTEMPTS, min(_MAX_WAIT, 0.05 * 2**attempt) * random.random()
    return table.options.get(attempts), table.options.get(millis) / 1000
