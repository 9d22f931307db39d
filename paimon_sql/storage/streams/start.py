"""Start positions of streams, from the options of the read (spec: Structured Streaming, scan modes)."""

from __future__ import annotations

from datetime import tzinfo

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.metadata.snapshot import FIRST_SNAPSHOT_ID
from paimon_sql.format.options.operations.scan import SCAN_MODE, SCAN_SNAPSHOT_ID, SCAN_TIMESTAMP, SCAN_TIMESTAMP_MILLIS
from paimon_sql.format.options.operations.snapshot import CONSUMER_ID, CONSUMER_IGNORE_PROGRESS
from paimon_sql.format.text.instants import parse_instant
from paimon_sql.storage.streams.position import Position
from paimon_sql.storage.table.table import Table


def start_of(table: Table, earliest: int | None, zone: tzinfo | None = None) -> Position:
    """The position at which a stream without a checkpoint starts.

    A consumer with progress continues from there; otherwise the options decide.

    Args:
        table: the table, under the options of the read.
        earliest: the first snapshot whose changes are retained; None if nothing was written.
        zone: the time zone of ``scan.timestamp``; None is this machine's.

    Raises:
        InvalidOptionError: a stream cannot start where the options say.
    """
    begin = _consumed(table) or _by_options(table, zone)
    if earliest is not None and begin.snapshot_id < earliest:
        return Position(earliest)
    return begin


def _consumed(table: Table) -> Position | None:
    name = table.options.get(CONSUMER_ID)
    if not name or table.options.get(CONSUMER_IGNORE_PROGRESS):
        return None
    consumer = table.consumers.find(name)
    return Position(consumer.next_snapshot) if consumer else None


def _by_options(table: Table, zone: tzinfo | None) -> Position:
    options, mode, latest = table.options, table.options.get(SCAN_MODE), table.snapshots.latest_id() or 0
    number: int | None = options.get(SCAN_SNAPSHOT_ID)
    millis: int | None = options.get(SCAN_TIMESTAMP_MILLIS)
    if text := options.get(SCAN_TIMESTAMP):
        millis = parse_instant(text, zone)
    match mode:
        case "default" | "from-snapshot" | "from-snapshot-full" if number is not None:
            return Position(number, full=mode == "from-snapshot-full")
        case "default" | "from-timestamp" if millis is not None:
            return _at_time(table, millis, latest)
        case "latest":
            return Position(latest + 1)
        case "default" | "latest-full" | "full" | "compacted-full":
            return Position(latest, full=True) if latest else Position(FIRST_SNAPSHOT_ID)
    raise InvalidOptionError(
        f"{table.name}: a stream cannot begin where '{SCAN_MODE.key}' = '{mode}' and its options say.",
        key=SCAN_MODE.key,
        remedy="Give latest, latest-full, from-snapshot with scan.snapshot-id or from-timestamp with scan.timestamp.",
    )


def _at_time(table: Table, millis: int, latest: int) -> Position:
    """The position before the first snapshot that was committed at that time or later."""
    low, high = table.snapshots.earliest_id() or FIRST_SNAPSHOT_ID, latest + 1
    while low < high:
        middle = (low + high) // 2
        if table.snapshots.get(middle).time_millis < millis:
            low = middle + 1
        else:
            high = middle
    return Position(low)
