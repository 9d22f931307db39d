"""Casts between dates, times of day, timestamps and their counts, and the wall clock of a time zone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema import types as t
from paimon_sql.storage.expressions.casts.numbers import plain_values
from paimon_sql.storage.expressions.casts.registry import TIMESTAMPS, CastCall, rule
from paimon_sql.storage.expressions.kernels.conform import conform, with_validity_of

_MILLIS_PER_DAY = 86_400_000
_DIGITS = {"us": 6, "ns": 9}


@rule(TIMESTAMPS, TIMESTAMPS)
def timestamp_to_timestamp(array: pa.Array, call: CastCall) -> pa.Array:
    """Digits beyond the new precision are floored; timestamps with local time zone are read in the session's."""
    return to_timestamp(array if call.arrow.tz else local_times(array, call), call)


def to_timestamp(array: pa.Array, call: CastCall) -> pa.Array:
    """Convert timestamps without zone to the target's unit, precision and zone; with zone, to unit and precision."""
    target = call.arrow
    moved = instants_of(array, call.time_zone) if target.tz and not array.type.tz else array
    counted = conform(moved, target)
    precision = getattr(call.target, "precision", 6)
    step = 10 ** (_DIGITS[target.unit] - precision)
    if step == 1:
        return counted
    counts = plain_values(counted.view(pa.int64()))
    return with_validity_of(counted, pa.array(counts - counts % step)).view(target)


@rule((t.DateType,), TIMESTAMPS)
def date_to_timestamp(array: pa.Array, call: CastCall) -> pa.Array:
    """Midnight, in the session's time zone if the target has a local time zone."""
    return to_timestamp(array.cast(pa.timestamp("us")), call)


@rule(TIMESTAMPS, (t.DateType,))
def timestamp_to_date(array: pa.Array, call: CastCall) -> pa.Array:
    """The day, in the session's time zone if the source has a local time zone."""
    return local_times(array, call).cast(pa.date32(), safe=False)


@rule((t.TimeType,), TIMESTAMPS)
def time_to_timestamp(array: pa.Array, call: CastCall) -> pa.Array:
    """The time on 1970-01-01."""
    return to_timestamp(array.view(pa.int32()).cast(pa.int64()).view(pa.timestamp("ms")), call)


@rule(TIMESTAMPS, (t.TimeType,))
def timestamp_to_time(array: pa.Array, call: CastCall) -> pa.Array:
    """The time of day in milliseconds, in the session's time zone if the source has a local time zone."""
    millis = plain_values(conform(local_times(array, call), pa.timestamp("ms")).view(pa.int64())) % _MILLIS_PER_DAY
    return with_validity_of(array, pa.array(millis.astype(np.int32))).view(pa.time32("ms"))


@rule((t.IntType, t.BigIntType), TIMESTAMPS)
def seconds_to_timestamp(array: pa.Array, call: CastCall) -> pa.Array:
    """The number counts seconds since 1970 in UTC."""
    seconds = array.cast(pa.int64()).view(pa.timestamp("s", call.arrow.tz))
    return to_timestamp(seconds, call)


@rule(TIMESTAMPS, (t.IntType, t.BigIntType))
def timestamp_to_seconds(array: pa.Array, call: CastCall) -> pa.Array:
    """The seconds since 1970 in UTC, truncated towards 1970; INT wraps around."""
    per_second = 10 ** _DIGITS[array.type.unit]
    seconds = np.fix(plain_values(array.view(pa.int64())) / per_second).astype(np.int64)
    narrow = seconds.astype(np.int32) if isinstance(call.target, t.IntType) else seconds
    return with_validity_of(array, pa.array(narrow))


def local_times(timestamps: pa.Array, call: CastCall) -> pa.Array:
    """Return timestamps without zone: those with a local time zone as displayed in the session's."""
    return wall_clock(timestamps, call.time_zone) if timestamps.type.tz else timestamps


def wall_clock(instants: pa.Array, time_zone: str) -> pa.Array:
    """Convert timestamps with zone to timestamps without, as displayed in a time zone."""
    zoned = instants.view(pa.timestamp(instants.type.unit, _validated(time_zone)))
    return pc.local_timestamp(zoned)


def instants_of(local: pa.Array, time_zone: str) -> pa.Array:
    """Convert timestamps without zone, read in a time zone, to instants; the earlier one if ambiguous.

    A time in a gap becomes the first one after the gap.
    """
    zoned = pc.assume_timezone(local, _validated(time_zone), ambiguous="earliest", nonexistent="latest")
    return zoned.view(pa.timestamp(local.type.unit, "UTC"))


def _validated(time_zone: str) -> str:
    try:
        pc.local_timestamp(pa.scalar(0, pa.timestamp("s", time_zone)))
    except pa.ArrowInvalid as error:
        raise InvalidInputError(f"Unknown time zone '{time_zone}'.") from error
    return time_zone
