"""``VERSION AS OF`` and ``TIMESTAMP AS OF`` as options of the read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import tzinfo
from typing import Any

from py4j.java_gateway import JavaObject

from paimon_sql.errors import NoSuchSnapshotError
from paimon_sql.format.options import canonical
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.options.read import given_options
from paimon_sql.storage.scan.branches.all import version_to_see
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.local_times import in_zone
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS

_VERSION, _MILLIS = "scan.version", "scan.timestamp-millis"
_PLAIN = "TableContext{timeTravel=null, writePrivileges=[]}"


def travel_options(jvm: Jvm, context: tuple[Any, ...]) -> dict[str, str]:
    """What a ``loadTable`` call asks for behind the table's name.

    Spark gives a version as a text and a time as microseconds; a set of privileges is of no concern here. From 4.3 on
    all of it comes wrapped in a ``TableContext``.
    """
    if not context:
        return {}
    if _is_plain(context) and (len(context) < 2 or context[1].isEmpty()):
        return {}
    wanted = context[0]
    if isinstance(wanted, str):
        return {_VERSION: wanted}
    if isinstance(wanted, int):
        return {_MILLIS: str(wanted // 1000)}
    if isinstance(wanted, JavaObject) and wanted.getClass().getSimpleName() == "TableContext":
        options = given_options(jvm, context[1]) if len(context) > 1 else {}
        named = {key: text for key, text in options.items() if key in TRAVEL_KEYS}
        if named:
            return named
        travel = wanted.timeTravel()
        if travel.isPresent():
            point = travel.get()
            if point.getClass().getSimpleName() == "AsOfVersion":
                return {_VERSION: point.version()}
            return {_MILLIS: str(point.micros() // 1000)}
    return {}


def asked_for(jvm: Jvm, context: tuple[Any, ...]) -> dict[str, str]:
    """The options of the relation that a ``loadTable`` call is given, under their own names."""
    if len(context) < 2 or not isinstance(context[1], JavaObject) or context[1].isEmpty():
        return {}
    return canonical(given_options(jvm, context[1]))


def _is_plain(context: tuple[Any, ...]) -> bool:
    """Whether a ``TableContext`` says nothing, as most do; to look into it takes a call for each of its parts."""
    return isinstance(context[0], JavaObject) and bool(context[0].toString() == _PLAIN)


def as_of(table: Table, options: Mapping[str, str], zone: Callable[[], tzinfo], *, for_streams: bool = False) -> Table:
    """The table as options of time travel show it: with the columns that it had then.

    Args:
        table: the table.
        options: the options.
        zone: tells the session's time zone.
        for_streams: whether a stream may be what reads it. Such a one goes on by its checkpoint when the snapshot that
            it once began at is there no more; whoever reads a batch is told so when that is planned.
    """
    if not options:
        return table
    moved = table.with_options(options)
    try:
        return version_to_see(in_zone(moved, zone)).of(moved)
    except NoSuchSnapshotError:
        if for_streams:
            return moved
        raise


def is_write(context: tuple[Any, ...]) -> bool:
    """Whether a ``loadTable`` call is for a statement that writes: Spark names the privileges that it needs."""
    if not context or not isinstance(context[0], JavaObject) or _is_plain(context):
        return False
    kind = context[0].getClass().getSimpleName()
    privileges = context[0].writePrivileges() if kind == "TableContext" else context[0]
    return hasattr(privileges, "isEmpty") and not privileges.isEmpty()
