"""Instants: parsing from users, formatting for messages, and wall-clock times stored as if they were UTC."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone, tzinfo
from typing import cast

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.types import TimestampType
from paimon_sql.format.text.durations import MILLISECOND
from paimon_sql.format.text.values import parse_text

_EPOCH = datetime(1970, 1, 1)
_MILLIS = TimestampType(True, 3)


def current_millis() -> int:
    """The current time in milliseconds since the epoch."""
    return int(time.time() * 1000)


def parse_instant(text: str, zone: tzinfo | None = None) -> int:
    """Parse a time such as ``2024-01-31 08:00:00`` to milliseconds since the epoch.

    Args:
        text: a date, or a date and a time of day to the millisecond.
        zone: the zone of the time; None for the local zone.

    Raises:
        InvalidInputError: the text is not such a time.
    """
    try:
        if text.strip().lstrip("+-").isdigit():
            raise InvalidInputError(f"'{text}' is only a number.")
        value = cast("datetime | int", parse_text(text, _MILLIS))
        wall = value if isinstance(value, int) else (value - _EPOCH) // MILLISECOND
        return epoch_millis(wall, zone)
    except (InvalidInputError, OverflowError) as error:
        raise InvalidInputError(
            f"'{text}' is not a date or time.", remedy="Write it as 2024-01-31 or 2024-01-31 08:00:00."
        ) from error


def show_instant(millis: int, zone: tzinfo | None = None) -> str:
    """Format an instant for messages, with the offset of the zone: ``2024-01-31 08:00:00.000+00:00``.

    Args:
        millis: milliseconds since the epoch.
        zone: the zone of the result; None for the local zone.
    """
    try:
        moment = datetime.fromtimestamp(millis // 1000, zone or timezone.utc) + timedelta(milliseconds=millis % 1000)
        return (moment if zone else moment.astimezone()).isoformat(" ", "milliseconds")
    except (ValueError, OverflowError, OSError):
        return f"{millis} ms since the epoch"


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
