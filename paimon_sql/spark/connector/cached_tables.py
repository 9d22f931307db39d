"""Refresh of Spark's cache after statements that change tables.

Spark's own commands refresh the cached tables that they change. Spark does not see the changes of procedures, row-level
statements, branches and system tables; `renew` refreshes those. Cached plans reference the table objects that Spark was
given, so the tables that are alive include all cached ones.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from paimon_sql.spark.connector.interfaces import TableInterface
from paimon_sql.spark.jvm.compat import uncache
from paimon_sql.spark.jvm.gateway import Jvm

_LOADED: WeakSet[TableInterface] = WeakSet()


def remember(table: TableInterface, name: tuple[str, ...]) -> None:
    """Register a table that Spark has loaded by a name; the first part is the catalog's."""
    table.qualified_name = name
    _LOADED.add(table)


def renew(jvm: Jvm, session: Any) -> None:
    """Refresh the cached data of changed tables.

    Args:
        jvm: the JVM.
        session: the JVM's session that ran the statement.
    """
    manager = jvm.constant("cache manager", lambda: session.sharedState().cacheManager())
    if manager.isEmpty():
        return
    for name in sorted({table.qualified_name for table in list(_LOADED) if table.jvm is jvm and table.has_changed()}):
        parts = jvm.seq(name)
        try:
            manager.recacheTableOrView(session, parts, True)
        except (Py4JJavaError, CapturedException):
            # A table that can no longer be read must not be read from the cache.
            uncache(jvm, manager, session, parts)
