"""Conversion of read options with local times to instants."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options.operations import scan
from paimon_sql.format.text.instants import parse_instant
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.change_range import time_span

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?", re.ASCII)


def zone_of(name: str) -> tzinfo:
    """Return the time zone of a name: ``Europe/Oslo``, ``+02:00``, ``GMT+8`` or ``Z``.

    Raises:
        InvalidInputError: this machine does not know the zone.
    """
    if name == "Z":
        return timezone.utc
    if match := _OFFSET.fullmatch(name):
        hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
        offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return timezone(-offset if match[1] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise InvalidInputError(f"Unknown time zone '{name}'.") from error


def in_zone(table: Table, zone: Callable[[], tzinfo]) -> Table:
    """Return the table with options that are independent of the time zone.

    Args:
        table: the table, with the options of a read.
        zone: returns the zone of times without one; only called if needed.

    Raises:
        InvalidInputError: a time is invalid.
        InvalidOptionError: a time range does not have two ends.
    """
    options = dict(table.schema.options)
    # With both options set neither wins: the resolution of the read raises the error.
    if scan.SCAN_TIMESTAMP.key in options and scan.SCAN_TIMESTAMP_MILLIS.key not in options:
        options[scan.SCAN_TIMESTAMP_MILLIS.key] = str(parse_instant(options.pop(scan.SCAN_TIMESTAMP.key), zone()))
    if times := options.get(scan.INCREMENTAL_BETWEEN_TIMESTAMP.key):
        start, end = time_span(times, zone())
        options[scan.INCREMENTAL_BETWEEN_TIMESTAMP.key] = f"{start},{end}"
    if options == table.schema.options:
        return table
    return replace(table, schema=replace(table.schema, options=options))
