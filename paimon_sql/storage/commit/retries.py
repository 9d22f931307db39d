"""How often a commit is tried, and how long it waits in between."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from datetime import timedelta

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.commit import (
    COMMIT_MAX_RETRIES,
    COMMIT_MAX_RETRY_WAIT,
    COMMIT_MIN_RETRY_WAIT,
    COMMIT_TIMEOUT,
)

_MOST_DOUBLINGS = 30


class Retries:
    """The attempts of a commit, counted from 1, with a pause before each but the first.

    Args:
        options: the table's options ``commit.max-retries``, ``commit.timeout``, ``commit.min-retry-wait`` and
            ``commit.max-retry-wait``.
    """

    def __init__(self, options: TableOptions) -> None:
        self._attempts = options.get(COMMIT_MAX_RETRIES) + 1
        self._timeout: timedelta | None = options.get(COMMIT_TIMEOUT)
        self._min_wait = options.get(COMMIT_MIN_RETRY_WAIT).total_seconds()
        self._max_wait = options.get(COMMIT_MAX_RETRY_WAIT).total_seconds()

    def __iter__(self) -> Iterator[int]:
        started = time.monotonic()
        for attempt in range(1, self._attempts + 1):
            if attempt > 1:
                if self._timeout and time.monotonic() - started > self._timeout.total_seconds():
                    return
                # The pause doubles, and is random, so that rivals do not meet again.
                wait = self._min_wait * 2.0 ** min(attempt - 2, _MOST_DOUBLINGS)
                time.sleep(min(self._max_wait, wait) * random.random())
            yield attempt
