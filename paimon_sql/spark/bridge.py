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


class AttachedSession:
    """One JVM session and its Paimon catalogs."""

    def __init__(self, jvm: Jvm, session: Any) -> None:
        self.jvm = jvm
        self.session = session
        self.catalogs: dict[str, CatalogProxy] = {}
        _, self._registered = private_field(session.sessionState().catalogManager(), "catalogs")

    def add(self, name: str, options: dict[str, str]) -> bool:
        """Make a catalog with its database ``default``; False if the session has one of that name."""
        if self._registered.contains(name):
            return False
        catalog = open_catalog(name, options)
        with contextlib.suppress(DatabaseExistsError):
            catalog.create_database("default", {})
        self.catalogs[name] = CatalogProxy(self.jvm, catalog, self.session, self)
        self._registered.put(name, self.catalogs[name])
        return True

    def drop(self, name: str) -> bool:
        """Forget a catalog; False if there is none of ours of that name. Its files stay."""
        if self.catalogs.pop(name, None) is None:
            return False
        self._registered.remove(name)
        return True

    def add_configured(self) -> None:
        """Make the catalogs that the session's settings name and that it has not yet."""
        settings = dict(self.session.conf().getAllAsJava())
        for key, value in settings.items():
            name = key.removeprefix(CATALOG_PREFIX)
            if key.startswith(CATALOG_PREFIX) and value == IMPLEMENTATION and "." not in name:
                prefix = f"{CATALOG_PREFIX}{name}."
                self.add(name, {k.removeprefix(prefix): v for k, v in settings.items() if k.startswith(prefix)})


class Bridge:
    """What one Spark context shares: the JVM, and its sessions with their catalogs."""

    _bridges: dict[int, Bridge] = {}
    _lock = threading.RLock()

    def __init__(self, context: SparkContext) -> None:
        self.jvm = Jvm(context)
        self._sessions: dict[str, AttachedSession] = {}

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
            if not str(state.sqlParser().toString()).startswith(ParserProxy.MARK):
                builder = ParserBuilder(self.jvm, self)
                session.extensions().injectParser(builder)
                field, parser = private_field(state, "sqlParser")
                field.set(state, builder.apply(session, parser))
            self.session(session).add_configured()

    def session(self, session: Any) -> AttachedSession:
        """What is attached to a JVM session; its configured catalogs are made when it is seen first."""
        with self._lock:
            key = session.sessionUUID()
            if key not in self._sessions:
                self._sessions[key] = AttachedSession(self.jvm, session)
                self._sessions[key].add_configured()
            return self._sessions[key]
