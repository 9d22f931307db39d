"""Refresh of Spark's cache after statements that change tables.

Spark's own commands refresh the cached tables that they change. Spark does not see the changes of procedures, row-level
statements, branches and system tables; `renew` refreshes those. Cached plans reference the table objects that Spark was
given, so the tables that are alive include all cached ones.
"""

from __future__ import annotations

from weakref import WeakSet

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from paimon_sql.process import share
from paimon_sql.spark.connector.interfaces import TableInterface
from paimon_sql.spark.jvm.compat import uncache
from paimon_sql.spark.jvm.session import JvmSession

_loaded = share(WeakSet[TableInterface])


def remember(table: TableInterface, name: tuple[str, ...]) -> None:
    """Register a table that Spark has loaded by a name; the first part is the catalog's."""
    table.qualified_name = name
    _loaded().add(table)


def renew(session: JvmSession) -> None:
    """Refresh the cached data of changed tables; the session is that which ran the statement."""
    jvm = session.jvm
    manager = jvm.constant("cache manager", lambda: session.java.sharedState().cacheManager())
    if manager.isEmpty():
        return
    for name in sorted({table.qualified_name for table in list(_loaded()) if table.jvm is jvm and table.has_changed()}):
        parts = jvm.seq(name)
        try:
            manager.recacheTableOrView(session.java, parts, True)
        except (Py4JJavaError, CapturedException):
            # A table that can no longer be read must not be read from the cache.
            uncache(manager, session.java, parts)
