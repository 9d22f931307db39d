"""Conversion between instants and the wall clock of a time zone."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError


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
        raise InvalidInputError(f"'{time_zone}' is no time zone that this machine knows.") from error
    return time_zone
