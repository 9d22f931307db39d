"""Wall-clock times stored as if they were UTC: creation times of data files (Paimon: ``DataFileMeta``)."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone, tzinfo

from paimon_sql.format.text.durations import MILLISECOND

_EPOCH = datetime(1970, 1, 1)


def wall_clock_millis(zone: tzinfo | None = None, now: Callable[[], float] = time.time) -> int:
    """The current time for `DataFileMeta.creation_time_millis`: the wall clock as if it were UTC.

    Args:
        zone: the zone of the clock; None for the local zone.
        now: returns the current time in seconds since the epoch.
    """
    local = datetime.fromtimestamp(now(), zone).replace(tzinfo=None)
    return (local - _EPOCH) // MILLISECOND


def epoch_millis(wall_millis: int, zone: tzinfo | None = None) -> int:
    """Convert a time of `wall_clock_millis` to milliseconds since the epoch.

    A time that a clock change skips or repeats has the offset before the change.
    """
    local = _EPOCH + timedelta(milliseconds=wall_millis)
    aware = local.astimezone(timezone.utc) if zone is None else local.replace(tzinfo=zone).astimezone(timezone.utc)
    return (aware.replace(tzinfo=None) - _EPOCH) // MILLISECOND
