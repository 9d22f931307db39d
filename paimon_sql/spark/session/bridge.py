"""The bridge of one Spark context: it attaches catalogs and the parser to sessions, each once.

A session's catalogs are Python objects that stand in Spark's own ``CatalogManager``. Sessions made later by
``newSession`` or by a Thrift connection are attached while Spark builds what analyses their plans (`new_sessions`).
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Mapping
from typing import Any

from pyspark import SparkContext

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.registry import kept_warehouse, open_catalog
from paimon_sql.errors import DatabaseExistsError, NotAllowedError, UnsupportedError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import DEFAULT_DATABASE
from paimon_sql.spark.catalog.data_source import PaimonSource
from paimon_sql.spark.catalog.paimon_catalog import CatalogProxy, identifier_of
from paimon_sql.spark.catalog.path_catalog import PATHS, PathCatalogProxy, PathNames
from paimon_sql.spark.catalog.session_catalog import SessionCatalogProxy, options_of_session_catalog
from paimon_sql.spark.jvm.callbacks import secure_callbacks, send_at_once
from paimon_sql.spark.jvm.gateway import CATALOG, Jvm, behind, private_field
from paimon_sql.spark.jvm.idle_connections import let_go_by_itself
from paimon_sql.spark.rules.analyzer import STAGES, RuleBuilder, add_rule, inject
from paimon_sql.spark.rules.optimizer import add_rules
from paimon_sql.spark.scan.rules.deleted_row_filter import PassOverDeadRows
from paimon_sql.spark.scan.rules.storage_partitioning import StoragePartitioning
from paimon_sql.spark.scan.rules.variants_above import TakeOutAbove
from paimon_sql.spark.session.new_sessions import CatalogsBuilder
from paimon_sql.spark.session.parser import ParserBuilder, ParserProxy
from paimon_sql.spark.statement_rules.alike_subqueries import AlikeSubqueries
from paimon_sql.spark.statement_rules.common_tables import CommonTables
from paimon_sql.spark.statement_rules.dataframe_writes import MergeSchemas
from paimon_sql.spark.statement_rules.input_file_name import FileNames
from paimon_sql.spark.statement_rules.spark_commands import HeedPaimonsTables
from paimon_sql.spark.statement_rules.table_as_select import TableAsSelect
from paimon_sql.spark.statement_rules.variant_casts import VariantCasts
from paimon_sql.spark.write.stream_sink import Home, WriteByWorkers
from paimon_sql.sql.context import SESSION_CATALOG, TableName

CATALOG_PREFIX = "spark.sql.catalog."
_DEFER_CAST_ERRORS = "spark.sql.variant.pushVariantIntoScan.deferCastError"
_CHECKSUM = "spark.sql.shuffle.orderIndependentChecksum."
IMPLEMENTATION = "paimon_sql"
"""The value of ``spark.sql.catalog.<name>`` that makes a catalog ours."""
_MARKS = (ParserBuilder.MARK, CatalogsBuilder.MARK, RuleBuilder.MARK)
_SPARKS_OWN = "defaultSessionCatalog"
"""The field of a ``CatalogManager`` that holds Spark's own catalog."""


class AttachedSession:
    """One JVM session and its Paimon catalogs."""

    def __init__(self, jvm: Jvm, session: Any, manager: Any) -> None:
        self.jvm = jvm
        self.session = session
        self.catalogs: dict[str, CatalogProxy] = {}
        self._paths: PathCatalogProxy | None = None
        self._manager = manager
        _, self._registered = private_field(manager, "catalogs")
        # When a source puts groups together, Spark takes their columns and counts for nullable until its next rules
        # have looked at them, and this check of its plans would refuse to write them into NOT NULL columns.
        session.conf().set("spark.sql.lightweightPlanChangeValidation", "false")
        # Values that a scan takes out of variants must be no errors in rows that the query leaves out.
        if not session.sessionState().conf().contains(_DEFER_CAST_ERRORS):
            session.conf().set(_DEFER_CAST_ERRORS, "true")
        self._retry_shuffles_whole()
        add_rules(
            jvm,
            session,
            [
                PassOverDeadRows(jvm),
                TakeOutAbove(jvm),
                StoragePartitioning(jvm, session),
                WriteByWorkers(jvm, session, self._home),
                TableAsSelect(jvm, self),
            ],
        )

    def _retry_shuffles_whole(self) -> None:
        """Let Spark notice that a task which it ran again gave other rows, and run all again that read the first ones.

        Which bucket a new key gets depends on the order in which rows come, as ``rand()`` does on the attempt. A task
        that is run again after its executor was lost would otherwise lose rows, or have them written twice.
        """
        conf = self.session.sessionState().conf()
        for key in ("enabled", "enableFullRetryOnMismatch"):
            if not conf.contains(_CHECKSUM + key):
                self.session.conf().set(_CHECKSUM + key, "true")

    def add(self, name: str, options: dict[str, str]) -> bool:
        """Make a catalog with the database that is its default; False if the session has one of that name."""
        if name == PATHS or self._registered.contains(name):
            return False
        is_shared = name == SESSION_CATALOG
        given = options_of_session_catalog(self.session, options) if is_shared else options
        if "warehouse" in given:
            # Workers may stand in another folder than the driver.
            given = given | {"warehouse": kept_warehouse(given["warehouse"], given)}
        catalog = open_catalog(name, given)
        # A server may let many read it whom it lets make nothing.
        with contextlib.suppress(DatabaseExistsError, NotAllowedError):
            catalog.create_database(TableOptions(given).get(DEFAULT_DATABASE), {})
        if is_shared:
            self._replace_session_catalog(catalog)
        else:
            self.catalogs[name] = CatalogProxy(self.jvm, catalog, self.session, self)
            self._registered.put(name, self.catalogs[name])
        return True

    def _replace_session_catalog(self, catalog: Catalog) -> None:
        field, sparks = private_field(self._manager, _SPARKS_OWN)
        made = SessionCatalogProxy(self.jvm, catalog, self.session, self, sparks)
        self.catalogs[SESSION_CATALOG] = made
        extension = made.extension()
        # Which of both Spark asks is said by the settings of whichever session is active in the thread.
        self._registered.put(SESSION_CATALOG, extension)
        field.set(self._manager, extension)
        add_rules(self.jvm, self.session, [HeedPaimonsTables(self.jvm, self.session, made)])

    def is_ordinary(self, table: TableName) -> bool:
        """Whether a name of the session's ``spark_catalog`` is not that of a table of Paimon's."""
        shared = self.catalogs.get(table[0])
        return isinstance(shared, SessionCatalogProxy) and not (len(table) == 3 and shared.holds(*table[1:]))

    def paths(self, names: PathNames) -> PathCatalogProxy:
        """The catalog of tables at paths, which the session has once it is asked for."""
        if self._paths is None:
            self._paths = PathCatalogProxy(self.jvm, names, self.session, self)
            self._registered.put(PATHS, self._paths)
        return self._paths

    def drop(self, name: str) -> bool:
        """Forget a catalog; False if there is none of ours of that name. Its files stay.

        Raises:
            UnsupportedError: it is Spark's own catalog.
        """
        if name == SESSION_CATALOG:
            raise UnsupportedError(f"{name} cannot be dropped: it is Spark's own catalog.")
        return self._forget(name)

    def _forget(self, name: str) -> bool:
        forgotten = self.catalogs.pop(name, None)
        if forgotten is None:
            return False
        self._registered.remove(name)
        if isinstance(forgotten, SessionCatalogProxy):
            private_field(self._manager, _SPARKS_OWN)[0].set(self._manager, forgotten.sparks)
        return True

    def catalog_named(self, name: str) -> CatalogProxy | None:
        """The catalog of that name, that of paths included; None if it is none of ours."""
        return self._paths if name == PATHS else self.catalogs.get(name)

    def _home(self, called: tuple[str, ...]) -> Home | None:
        """Where the definition of a table is kept that Spark calls so; None if the session lacks its catalog."""
        catalog, *namespace, name = called
        proxy = self.catalog_named(catalog)
        if proxy is None:
            return None
        ident = self.jvm.cls(f"{CATALOG}.Identifier").of(self.jvm.strings(namespace), name)
        return Home(proxy.catalog, identifier_of(proxy, ident))

    def all(self) -> dict[str, Catalog]:
        """The session's Paimon catalogs by name."""
        return {name: proxy.catalog for name, proxy in self.catalogs.items()}

    def detach(self) -> None:
        """Take everything of ours out of a session that nobody uses any more.

        Its Python objects hold the session, and the session holds them: neither garbage collector sees the circle.
        """
        for name in list(self.catalogs):
            self._forget(name)
        self._registered.remove(PATHS)
        self._paths = None
        state = self.session.sessionState()
        getattr(state.experimentalMethods(), "extraOptimizations_$eq")(self.jvm.seq([]))
        parser = behind(self.jvm, state.sqlParser())
        if isinstance(parser, ParserProxy):
            parser.detach()

    def settle(self) -> None:
        """Make the default catalog the current one for good, if it is ours.

        Spark looks the default up in the settings of whichever session is active in the thread, so that a
        ``DataFrame`` of this session could be written elsewhere.
        """
        default = self.session.conf().get("spark.sql.defaultCatalog", "")
        manager = self._manager
        if default in self.catalogs and manager.currentCatalog().name() != default:
            manager.setCurrentCatalog(default)
        elif default in self.catalogs:
            private_field(manager, "_currentCatalogName")[0].set(manager, self.jvm.some(default))

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
        secure_callbacks(self.jvm.gateway)
        send_at_once(self.jvm.gateway)
        let_go_by_itself(self.jvm)
        self._sessions: dict[str, AttachedSession] = {}
        self._of_thread = threading.local()
        self._equipped: set[str] = set()
        self._source = PaimonSource(self.jvm, self._paths_of)
        self._source.make_known()

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
        self._equipped.add(session.sessionUUID())
        manager = session.sessionState().catalogManager()
        with self._lock:
            state = session.sessionState()
            builder = ParserBuilder(self.jvm, self)
            if not str(state.sqlParser().toString()).startswith(ParserProxy.MARK):
                field, parser = private_field(state, "sqlParser")
                field.set(state, builder.apply(session, parser))
            # Sessions made from this one share its extensions; no session beside it may.
            extensions = self._own_extensions(session)
            extensions.injectParser(builder)
            extensions.injectCheckRule(CatalogsBuilder(self.jvm, self, catalog_settings(session)))
            rules = [
                RuleBuilder(
                    self.jvm, MergeSchemas, lambda made: MergeSchemas(self.jvm, made, lambda: self.session(made))
                ),
                RuleBuilder(self.jvm, CommonTables),
                RuleBuilder(self.jvm, FileNames),
                RuleBuilder(self.jvm, AlikeSubqueries),
                RuleBuilder(self.jvm, VariantCasts),
            ]
            for rule in rules:
                inject(extensions, rule)
            private_field(session, "extensions")[0].set(session, extensions)
            self.session(session, manager=manager).add_configured()
            for rule in rules:
                add_rule(self.jvm, session, rule)

    def _own_extensions(self, session: Any) -> Any:
        """A copy of a session's extensions without those of ours."""
        old = session.extensions()
        new = self.jvm.new("org.apache.spark.sql.SparkSessionExtensions")
        copied = {
            "parserBuilders": new.injectParser,
            "checkRuleBuilders": new.injectCheckRule,
            **{stage.builders: getattr(new, stage.inject) for stage in STAGES},
        }
        for field in old.getClass().getDeclaredFields():
            field.setAccessible(True)
            inject = copied.get(field.getName().rpartition("$")[2])
            if inject is None:
                field.set(new, field.get(old))
                continue
            for builder in self.jvm.items(field.get(old).toSeq()):
                if builder.toString() not in _MARKS:
                    inject(builder)
        return new

    def session(self, session: Any, inherited: Mapping[str, str] | None = None, manager: Any = None) -> AttachedSession:
        """What is attached to a JVM session; its configured catalogs are made when it is seen first.

        Args:
            session: the session.
            inherited: settings of the session that it was made from, which it takes over where it has none of its own.
            manager: its ``CatalogManager``; None asks the session for it.
        """
        # Never asked under the lock: Spark may have to build it, and asks us meanwhile, on whichever thread was first.
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
        """The session that was attached last by a call of this thread; None if it attached none that lives."""
        newest = getattr(self._of_thread, "newest", lambda: None)()
        return None if newest is None else newest.session

    def forget(self, session: Any) -> None:
        """Let go of a session that was made from an equipped one and is closed for good; nobody may use it again."""
        with self._lock:
            attached = self._sessions.pop(session.sessionUUID(), None)
        if attached is not None:
            attached.detach()

    def _paths_of(self, session: Any) -> PathCatalogProxy:
        """The catalog of paths of the session that is active.

        A ``DataFrameWriter`` asks for that of its own session, which may be another one: so all sessions have it.
        """
        active = self.session(session)
        with self._lock:
            for attached in self._sessions.values():
                attached.paths(self._source.names)
            return active.paths(self._source.names)


def _inherit(session: Any, settings: Mapping[str, str]) -> None:
    """Give a new session settings of the one that it was made from, but for those that were made on it already."""
    given = session.sparkContext().conf()
    for name, value in settings.items():
        if session.conf().get(name, "") == given.get(name, ""):
            session.conf().set(name, value)


def catalog_settings(session: Any) -> dict[str, str]:
    """A session's settings about catalogs, which sessions made from it would not have by themselves."""
    settings = dict(session.conf().getAllAsJava())
    return {k: v for k, v in settings.items() if k.startswith(CATALOG_PREFIX) or k == "spark.sql.defaultCatalog"}
