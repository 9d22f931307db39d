"""Between points in time and what the clock on the wall of a time zone shows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError


def wall_clock(instants: pa.Array, time_zone: str) -> pa.Array:
    """Timestamps with zone as timestamps without, as they are shown in a time zone."""
    zoned = instants.view(pa.timestamp(instants.type.unit, _known(time_zone)))
    return pc.local_timestamp(zoned)


def instants_of(local: pa.Array, time_zone: str) -> pa.Array:
    """Timestamps without zone, read in a time zone, as points in time; of two such times the earlier one.

    A time that the clock leaps over becomes the first one after the leap.
    """
    zoned = pc.assume_timezone(local, _known(time_zone), ambiguous="earliest", nonexistent="latest")
    return zoned.view(pa.timestamp(local.type.unit, "UTC"))


def _known(time_zone: str) -> str:
    try:
        pc.local_timestamp(pa.scalar(0, pa.timestamp("s", time_zone)))
    except pa.ArrowInvalid as error:
        raise InvalidInputError(f"'{time_zone}' is no time zone that this machine knows.") from error
    return time_zone
