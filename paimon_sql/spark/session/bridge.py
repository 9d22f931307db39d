"""Bridge of a Spark context: attaches catalogs, the parser and rules to each session once.

A session's catalogs are proxies in Spark's own ``CatalogManager``. Sessions that ``newSession`` or a Thrift connection
creates later are attached while Spark builds their analyzer (`new_sessions`).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from typing import Any

from pyspark import SparkContext

from paimon_sql.spark.catalog.data_source import PaimonSource
from paimon_sql.spark.catalog.path_catalog import PathCatalogProxy
from paimon_sql.spark.jvm.callbacks import disable_nagle, secure_callbacks, start_releasing_connections
from paimon_sql.spark.jvm.gateway import Jvm, private_field, python_object
from paimon_sql.spark.rules.analyzer import STAGES, RuleBuilder, add_rule, inject
from paimon_sql.spark.session.attached import CATALOG_PREFIX, AttachedSession
from paimon_sql.spark.session.new_sessions import CatalogsBuilder
from paimon_sql.spark.session.parser import ParserBuilder, ParserProxy
from paimon_sql.spark.statement_rules.common_tables import CommonTables
from paimon_sql.spark.statement_rules.dataframe_writes import MergeSchemas
from paimon_sql.spark.statement_rules.input_file_name import FileNames
from paimon_sql.spark.statement_rules.shared_subquery_columns import ShareSubqueryColumns
from paimon_sql.spark.statement_rules.variant_casts import VariantCasts

_MARKS = (ParserBuilder.MARK, CatalogsBuilder.MARK, RuleBuilder.MARK)


class Bridge:
    """The JVM of one Spark context, and its sessions with their catalogs."""

    _bridges: dict[int, Bridge] = {}
    _lock = threading.RLock()

    def __init__(self, context: SparkContext) -> None:
        self.jvm = Jvm(context)
        secure_callbacks(self.jvm.gateway)
        disable_nagle(self.jvm.gateway)
        start_releasing_connections(self.jvm)
        self._sessions: dict[str, AttachedSession] = {}
        self._of_thread = threading.local()
        self._equipped: set[str] = set()
        self._source = PaimonSource(self.jvm, self._paths_of)
        self._source.register()

    @classmethod
    def of(cls, context: SparkContext) -> Bridge:
        """Return the bridge of a context; bridges of stopped contexts are dropped."""
        with cls._lock:
            found = cls._bridges.get(id(context))
            if found is None or found.jvm.context is not context:
                cls._bridges.clear()
                cls._bridges[id(context)] = found = Bridge(context)
            return found

    def attach(self, session: Any) -> None:
        """Attach the catalogs of its settings to a JVM session; add the parser and rules to it and its descendants."""
        self._equipped.add(session.sessionUUID())
        manager = session.sessionState().catalogManager()
        with self._lock:
            state = session.sessionState()
            builder = ParserBuilder(self.jvm, self.session)
            if not str(state.sqlParser().toString()).startswith(ParserProxy.MARK):
                field, parser = private_field(state, "sqlParser")
                field.set(state, builder.apply(session, parser))
            # Sessions created from this one share its extensions; other sessions must not, so it gets a copy.
            extensions = self._own_extensions(session)
            extensions.injectParser(builder)
            extensions.injectCheckRule(CatalogsBuilder(self.jvm, catalog_settings(session), self.session))
            rules = [
                RuleBuilder(
                    self.jvm, MergeSchemas, lambda made: MergeSchemas(self.jvm, made, lambda: self.session(made))
                ),
                RuleBuilder(self.jvm, CommonTables),
                RuleBuilder(self.jvm, FileNames),
                RuleBuilder(self.jvm, ShareSubqueryColumns),
                RuleBuilder(self.jvm, VariantCasts),
            ]
            for rule in rules:
                inject(extensions, rule)
            private_field(session, "extensions")[0].set(session, extensions)
            self.session(session, manager=manager).add_configured()
            for rule in rules:
                add_rule(self.jvm, session, rule)

    def _own_extensions(self, session: Any) -> Any:
        """A copy of a session's extensions without ours."""
        old = session.extensions()
        new = self.jvm.new("org.apache.spark.sql.SparkSessionExtensions")
        injectors = {
            "parserBuilders": new.injectParser,
            "checkRuleBuilders": new.injectCheckRule,
            **{stage.builders: getattr(new, stage.inject) for stage in STAGES},
        }
        for field in old.getClass().getDeclaredFields():
            field.setAccessible(True)
            inject = injectors.get(field.getName().rpartition("$")[2])
            if inject is None:
                field.set(new, field.get(old))
                continue
            for builder in self.jvm.items(field.get(old).toSeq()):
                if builder.toString() not in _MARKS:
                    inject(builder)
        return new

    def session(self, session: Any, inherited: Mapping[str, str] | None = None, manager: Any = None) -> AttachedSession:
        """Return the attached session of a JVM session; the first call adds its configured catalogs.

        Args:
            session: the session.
            inherited: settings of the session that it was created from, for those that it does not set.
            manager: its ``CatalogManager``; None gets it from the session.
        """
        # Not under the lock: Spark may have to build it, and calls us meanwhile, possibly on another thread.
        manager = session.sessionState().catalogManager() if manager is None else manager
        with self._lock:
            key = session.sessionUUID()
            if key not in self._sessions:
                if key not in self._equipped:
                    _inherit(session, inherited or {})
                self._sessions[key] = AttachedSession(self.jvm, session, manager)
                self._sessions[key].add_configured()
                self._sessions[key].settle()
                self._of_thread.newest = weakref.ref(self._sessions[key])
            return self._sessions[key]

    def newest_of_thread(self) -> Any:
        """The session that this thread attached last; None if there is none, or it was garbage collected."""
        newest = getattr(self._of_thread, "newest", lambda: None)()
        return None if newest is None else newest.session

    def forget(self, session: Any) -> None:
        """Detach a closed session, which must not be used again."""
        with self._lock:
            attached = self._sessions.pop(session.sessionUUID(), None)
        if attached is None:
            return
        attached.detach()
        parser = python_object(self.jvm, session.sessionState().sqlParser())
        if isinstance(parser, ParserProxy):
            parser.detach()

    def _paths_of(self, session: Any) -> PathCatalogProxy:
        """The catalog of paths of the active session.

        A ``DataFrameWriter`` uses that of its own session, which may be another one, so all sessions get it.
        """
        active = self.session(session)
        with self._lock:
            for attached in self._sessions.values():
                attached.paths(self._source.names)
            return active.paths(self._source.names)


def _inherit(session: Any, settings: Mapping[str, str]) -> None:
    """Copy settings to a new session from the one that it was created from, except those that are set on it already."""
    context_conf = session.sparkContext().conf()
    for name, value in settings.items():
        if session.conf().get(name, "") == context_conf.get(name, ""):
            session.conf().set(name, value)


def catalog_settings(session: Any) -> dict[str, str]:
    """The catalog settings of a session, which Spark does not copy to sessions created from it."""
    settings = dict(session.conf().getAllAsJava())
    return {k: v for k, v in settings.items() if k.startswith(CATALOG_PREFIX) or k == "spark.sql.defaultCatalog"}
