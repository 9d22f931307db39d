"""Time travel: ``VERSION AS OF`` and ``TIMESTAMP AS OF`` converted to options of the read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import tzinfo
from typing import Any

from py4j.java_gateway import JavaObject

from paimon_sql.errors import NoSuchSnapshotError
from paimon_sql.format.options import canonical
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.options.read import read_options
from paimon_sql.storage.scan.branches.all import scanned_version
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.local_times import in_zone
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS

_VERSION, _MILLIS = "scan.version", "scan.timestamp-millis"
_PLAIN = "TableContext{timeTravel=null, writePrivileges=[]}"


def travel_options(jvm: Jvm, context: tuple[Any, ...]) -> dict[str, str]:
    """The options of time travel in the arguments of a ``loadTable`` call after the name.

    Spark passes a version as a string, a time as microseconds, and privileges as a set, which is ignored here. Since
    4.3 a ``TableContext`` contains all of them.
    """
    if not context:
        return {}
    if _is_plain(context) and (len(context) < 2 or context[1].isEmpty()):
        return {}
    first = context[0]
    if isinstance(first, str):
        return {_VERSION: first}
    if isinstance(first, int):
        return {_MILLIS: str(first // 1000)}
    if isinstance(first, JavaObject) and first.getClass().getSimpleName() == "TableContext":
        options = read_options(jvm, context[1]) if len(context) > 1 else {}
        by_option = {key: value for key, value in options.items() if key in TRAVEL_KEYS}
        if by_option:
            return by_option
        travel = first.timeTravel()
        if travel.isPresent():
            point = travel.get()
            if point.getClass().getSimpleName() == "AsOfVersion":
                return {_VERSION: point.version()}
            return {_MILLIS: str(point.micros() // 1000)}
    return {}


def relation_options(jvm: Jvm, context: tuple[Any, ...]) -> dict[str, str]:
    """The relation's options in a ``loadTable`` call, by their canonical names."""
    if len(context) < 2 or not isinstance(context[1], JavaObject) or context[1].isEmpty():
        return {}
    return canonical(read_options(jvm, context[1]))


def _is_plain(context: tuple[Any, ...]) -> bool:
    """Whether a ``TableContext`` is empty, as most are: one call to the JVM instead of one per member."""
    return isinstance(context[0], JavaObject) and bool(context[0].toString() == _PLAIN)


def as_of(table: Table, options: Mapping[str, str], zone: Callable[[], tzinfo], *, for_streams: bool = False) -> Table:
    """The table with options of time travel, and the columns of that time.

    Args:
        table: the table.
        options: the options.
        zone: returns the session's time zone.
        for_streams: whether a stream may read it. A stream continues from its checkpoint even if its start snapshot has
            expired, so a missing snapshot is not an error here; a batch read raises it in planning.
    """
    if not options:
        return table
    moved = table.with_options(options)
    try:
        return scanned_version(in_zone(moved, zone)).of(moved)
    except NoSuchSnapshotError:
        if for_streams:
            return moved
        raise


def is_write(context: tuple[Any, ...]) -> bool:
    """Whether a ``loadTable`` call is for a statement that writes: only then Spark passes privileges."""
    if not context or not isinstance(context[0], JavaObject) or _is_plain(context):
        return False
    kind = context[0].getClass().getSimpleName()
    privileges = context[0].writePrivileges() if kind == "TableContext" else context[0]
    return hasattr(privileges, "isEmpty") and not privileges.isEmpty()
