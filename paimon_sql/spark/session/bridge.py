"""Bridge of a Spark context: attaches catalogs, the parser and rules to each session once.

A session's catalogs are proxies in Spark's own ``CatalogManager``. Sessions that ``newSession`` or a Thrift connection
creates later are attached while Spark builds their analyzer (`Bridge._attach_catalogs`).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from functools import partial

from pyspark import SparkContext

from paimon_sql.catalog.registry import CATALOG_PREFIX
from paimon_sql.process import share
from paimon_sql.spark.catalog.path_catalog import PaimonSource, PathCatalogProxy
from paimon_sql.spark.java.objects import Class, JavaObject, Seq
from paimon_sql.spark.java.session import CatalogManager, ClassicSession, SessionState
from paimon_sql.spark.jvm.callbacks import disable_nagle, secure_callbacks, start_releasing_connections
from paimon_sql.spark.jvm.gateway import DATASOURCES, Jvm, private_field
from paimon_sql.spark.jvm.proxy import ScalaFunction, python_object
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.rules.analyzer import STAGES, RuleBuilder, add_rule
from paimon_sql.spark.session.attached import AttachedSession
from paimon_sql.spark.session.parser import ParserProxy
from paimon_sql.spark.statement_rules.dataframe_writes import MergeSchemas
from paimon_sql.spark.statement_rules.expressions import FileNames, VariantCasts
from paimon_sql.spark.statement_rules.subqueries import CommonTables, ShareSubqueryColumns

_MARK = "paimon-sql builder"
"""The string of our functions among a session's extensions."""


class Bridge:
    """The JVM of one Spark context, and its sessions with their catalogs."""

    def __init__(self, context: SparkContext) -> None:
        self._lock = threading.RLock()
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
        """Return the bridge of a context; that of an earlier context, which was stopped, is dropped."""
        return _current().of(context)

    def attach(self, session: ClassicSession) -> None:
        """Attach the catalogs of its settings to a JVM session; add the parser and rules to it and its descendants."""
        self._equipped.add(session.sessionUUID())
        manager = session.sessionState().catalogManager()
        with self._lock:
            state = session.sessionState()
            if not state.sqlParser().toString().startswith(ParserProxy.MARK):
                field, parser = private_field(state, "sqlParser")
                field.set(state, self._parser(session, parser))
            # Sessions created from this one share its extensions; other sessions must not, so it gets a copy.
            extensions = self._own_extensions(session)
            extensions.injectParser(ScalaFunction(self.jvm, self._parser, _MARK))
            attach_catalogs = partial(self._attach_catalogs, catalog_settings(self.jvm, session))
            extensions.injectCheckRule(ScalaFunction(self.jvm, attach_catalogs, _MARK))
            rules = [
                RuleBuilder(self.jvm, MergeSchemas, lambda made: MergeSchemas(made, lambda: self.session(made.java))),
                RuleBuilder(self.jvm, CommonTables),
                RuleBuilder(self.jvm, FileNames),
                RuleBuilder(self.jvm, ShareSubqueryColumns),
                RuleBuilder(self.jvm, VariantCasts),
            ]
            for builder in rules:
                getattr(extensions, builder.rule.stage.inject)(ScalaFunction(self.jvm, builder.build, _MARK))
            private_field(session, "extensions")[0].set(session, extensions)
            self.session(session, manager=manager).add_configured()
            for builder in rules:
                add_rule(JvmSession(self.jvm, session), builder)

    def _parser(self, session: ClassicSession, delegate: JavaObject) -> ParserProxy:
        """Our parser in front of a session's own."""
        return ParserProxy(self.jvm, self.session, session, delegate)

    def _attach_catalogs(self, inherited: Mapping[str, str], session: ClassicSession) -> JavaObject:
        """Attach the catalogs of a session whose analyzer Spark builds, and return a check of its plans.

        All access to the session's catalogs goes through its analyzer. The check is one that Spark runs anyway.

        Args:
            inherited: the catalog settings of the first session; sessions created from it start with them.
            session: the session.
        """
        self.session(session, inherited, _manager_of(session.sessionState()))
        return self.jvm.singleton(f"{DATASOURCES}.PreWriteCheck")

    def _own_extensions(self, session: ClassicSession) -> JavaObject:
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
            builders: Seq[JavaObject] = field.get(old).toSeq()
            for builder in self.jvm.items(builders):
                if builder.toString() != _MARK:
                    inject(builder)
        return new

    def session(
        self,
        session: ClassicSession,
        inherited: Mapping[str, str] | None = None,
        manager: CatalogManager | None = None,
    ) -> AttachedSession:
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
                self._sessions[key] = AttachedSession(JvmSession(self.jvm, session), manager)
                self._sessions[key].add_configured()
                self._sessions[key].settle()
                self._of_thread.newest = weakref.ref(self._sessions[key])
            return self._sessions[key]

    def newest_of_thread(self) -> ClassicSession | None:
        """The session that this thread attached last; None if there is none, or it was garbage collected."""
        newest: AttachedSession | None = getattr(self._of_thread, "newest", lambda: None)()
        return None if newest is None else newest.session.java

    def forget(self, session: ClassicSession) -> None:
        """Detach a closed session, which must not be used again."""
        with self._lock:
            attached = self._sessions.pop(session.sessionUUID(), None)
        if attached is None:
            return
        attached.detach()
        parser = python_object(self.jvm, session.sessionState().sqlParser())
        if isinstance(parser, ParserProxy):
            parser.detach()

    def _paths_of(self, session: ClassicSession) -> PathCatalogProxy:
        """The catalog of paths of the active session.

        A ``DataFrameWriter`` uses that of its own session, which may be another one, so all sessions get it.
        """
        active = self.session(session)
        with self._lock:
            for attached in self._sessions.values():
                attached.paths(self._source.names)
            return active.paths(self._source.names)


class _Current:
    """The bridge of the current context."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._bridge: Bridge | None = None

    def of(self, context: SparkContext) -> Bridge:
        with self._lock:
            if self._bridge is None or self._bridge.jvm.context is not context:
                self._bridge = Bridge(context)
            return self._bridge


_current = share(_Current)


def _inherit(session: ClassicSession, settings: Mapping[str, str]) -> None:
    """Copy settings to a new session from the one that it was created from, except those that are set on it already."""
    context_conf = session.sparkContext().conf()
    for name, value in settings.items():
        if session.conf().get(name, "") == context_conf.get(name, ""):
            session.conf().set(name, value)


def catalog_settings(jvm: Jvm, session: ClassicSession) -> dict[str, str]:
    """The catalog settings of a session, which Spark does not copy to sessions created from it."""
    settings = jvm.strings_map(session.conf().getAllAsJava())
    return {k: v for k, v in settings.items() if k.startswith(CATALOG_PREFIX) or k == "spark.sql.defaultCatalog"}


def _manager_of(state: SessionState) -> CatalogManager:
    """The ``CatalogManager`` of a session whose analyzer is being built.

    The session's state gets it from the analyzer, which does not exist yet; their common builder has it.
    """
    _, build_analyzer = private_field(state, "analyzerBuilder")
    kind: Class = build_analyzer.getClass()
    captured = kind.getDeclaredFields()[0]
    captured.setAccessible(True)
    manager: CatalogManager = captured.get(build_analyzer).catalogManager()
    return manager
