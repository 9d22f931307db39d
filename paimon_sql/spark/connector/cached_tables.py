"""What sessions hold of tables in Spark's cache, and what becomes of it when a statement of ours changes a table.

Spark's own commands have it read again what they changed; what it does not see, such as procedures, changes of rows,
branches and system tables, is told here. Cached plans hold the objects by which Spark knows tables, so that all of them
are among those that are alive.
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
    """Take note of a table that Spark has been given under a name, whose first part is the catalog's."""
    table.called = name
    _LOADED.add(table)


def renew(jvm: Jvm, session: Any) -> None:
    """Let Spark read again what it caches of tables that have changed.

    Args:
        jvm: the JVM.
        session: the JVM's session that has changed something.
    """
    manager = jvm.constant("cache manager", lambda: session.sharedState().cacheManager())
    if manager.isEmpty():
        return
    for name in sorted({table.called for table in list(_LOADED) if table.jvm is jvm and table.has_changed()}):
        parts = jvm.seq(name)
        try:
            manager.recacheTableOrView(session, parts, True)
        except (Py4JJavaError, CapturedException):
            # What cannot be read any more is not to be read from the cache either.
            uncache(jvm, manager, session, parts)
