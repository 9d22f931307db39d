"""The bridge of one Spark context: it attaches catalogs and the parser to sessions, each once.

A session's catalogs are Python objects that stand in Spark's own ``CatalogManager``. Sessions made later by
``newSession`` or by a Thrift connection are attached by the parser, at the first statement that they see.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from pyspark import SparkContext

from paimon_sql.catalog.registry import open_catalog
from paimon_sql.errors import DatabaseExistsError
from paimon_sql.spark.catalog import CatalogProxy
from paimon_sql.spark.java import Jvm, private_field
from paimon_sql.spark.parser import ParserBuilder, ParserProxy

CATALOG_PREFIX = "spark.sql.catalog."
IMPLEMENTATION = "paimon_sql"
"""The value of ``spark.sql.catalog.<name>`` that makes a catalog ours."""


class Bridge:
    """What one Spark context shares: the JVM, and the catalogs of each of its sessions."""

    _bridges: dict[int, Bridge] = {}
    _lock = threading.RLock()

    def __init__(self, context: SparkContext) -> None:
        self.jvm = Jvm(context)
        self._sessions: dict[str, dict[str, CatalogProxy]] = {}

    @classmethod
    def of(cls, context: SparkContext) -> Bridge:
        """The bridge of that context; those of stopped contexts are forgotten."""
        with cls._lock:
            found = cls._bridges.get(id(context))
            if found is None or found.jvm.context is not context:
                cls._bridges.clear()
                cls._bridges[id(context)] = found = Bridge(context)
            return found

    def attach(self, session: Any) -> None:
        """Give a JVM session the catalogs that its settings name, and the parser to it and its descendants."""
        with self._lock:
            state = session.sessionState()
            if not self._is_hooked(state):
                builder = ParserBuilder(self.jvm, self)
                session.extensions().injectParser(builder)
                field, parser = private_field(state, "sqlParser")
                field.set(state, builder.apply(session, parser))
            self.attach_catalogs(session)

    def attach_catalogs(self, session: Any) -> dict[str, CatalogProxy]:
        """The session's Paimon catalogs by name; those its settings name and that it has not yet are made."""
        with self._lock:
            known = self._sessions.setdefault(session.sessionUUID(), {})
            wanted = self._configured(session)
            missing = {name: options for name, options in wanted.items() if name not in known}
            if missing:
                _, registered = private_field(session.sessionState().catalogManager(), "catalogs")
                for name, options in missing.items():
                    catalog = open_catalog(name, options)
                    with contextlib.suppress(DatabaseExistsError):
                        catalog.create_database("default", {})
                    known[name] = CatalogProxy(self.jvm, catalog, session)
                    registered.put(name, known[name])
            return known

    def _is_hooked(self, state: Any) -> bool:
        return bool(state.sqlParser().toString().startswith(ParserProxy.MARK))

    def _configured(self, session: Any) -> dict[str, dict[str, str]]:
        settings = dict(session.conf().getAllAsJava() if hasattr(session.conf(), "getAllAsJava") else {})
        ours = [
            key.removeprefix(CATALOG_PREFIX)
            for key, value in settings.items()
            if key.startswith(CATALOG_PREFIX)
            and value == IMPLEMENTATION
            and "." not in key.removeprefix(CATALOG_PREFIX)
        ]
        return {
            name: {
                key.removeprefix(f"{CATALOG_PREFIX}{name}."): value
                for key, value in settings.items()
                if key.startswith(f"{CATALOG_PREFIX}{name}.")
            }
            for name in ours
        }
