"""Attached session: a session of Spark with Paimon catalogs, and a rule that attaches those of new sessions."""

from __future__ import annotations

import contextlib
from functools import partial

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.registry import CATALOG_PREFIX, IMPLEMENTATION, normalized_warehouse, open_catalog
from paimon_sql.errors import DatabaseExistsError, NotAllowedError, UnsupportedError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import DEFAULT_DATABASE
from paimon_sql.spark.catalog.base import host_in, identifier_of
from paimon_sql.spark.catalog.catalog_proxy import CatalogProxy
from paimon_sql.spark.catalog.path_catalog import PATHS, PathCatalogProxy, PathNames
from paimon_sql.spark.catalog.session_catalog import SessionCatalogProxy, is_spark_table, options_of_session_catalog
from paimon_sql.spark.java.objects import Field
from paimon_sql.spark.java.session import CatalogManager
from paimon_sql.spark.jvm.compat import HAS_VIEWS
from paimon_sql.spark.jvm.gateway import CATALOG, private_field
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.rules.analyzer import remove_rules
from paimon_sql.spark.rules.optimizer import add_rules
from paimon_sql.spark.scan.rules.deleted_rows import DeletedRowFilter
from paimon_sql.spark.scan.rules.storage_partitioning import StoragePartitioning
from paimon_sql.spark.scan.rules.variants_above import ExtractVariantsAbove
from paimon_sql.spark.statement_rules.catalog_listings import ViewsAmongTables
from paimon_sql.spark.statement_rules.dataframe_writes import TableAsSelect
from paimon_sql.spark.statement_rules.failing_explain import FailingExplain
from paimon_sql.spark.statement_rules.show_create_table import ShowCreateTable
from paimon_sql.spark.statement_rules.spark_commands import PaimonTableCommands
from paimon_sql.spark.write.proxies import StreamWriteRule, TableLocation
from paimon_sql.sql.context import SESSION_CATALOG, TableName

_DEFER_CAST_ERRORS = "spark.sql.variant.pushVariantIntoScan.deferCastError"
_CHECKSUM = "spark.sql.shuffle.orderIndependentChecksum."
_SESSION_CATALOG_FIELD = "defaultSessionCatalog"
"""The field of a ``CatalogManager`` with Spark's own catalog."""


class AttachedSession:
    """One session and its Paimon catalogs."""

    def __init__(self, session: JvmSession, manager: CatalogManager) -> None:
        self.jvm = session.jvm
        self.session = session
        self.catalogs: dict[str, CatalogProxy] = {}
        self._paths: PathCatalogProxy | None = None
        self._manager = manager
        _, self._registered = private_field(manager, "catalogs")
        # When a source merges aggregates completely, Spark treats their columns and counts as nullable until its next
        # rules run, and this validation of plans would refuse to write them into NOT NULL columns.
        session.conf.set("spark.sql.lightweightPlanChangeValidation", "false")
        # Values that a scan extracts from variants must not raise errors in rows that the query filters out.
        if not session.state.conf().contains(_DEFER_CAST_ERRORS):
            session.conf.set(_DEFER_CAST_ERRORS, "true")
        self._retry_inconsistent_shuffles()
        add_rules(
            session,
            [
                DeletedRowFilter(session),
                ExtractVariantsAbove(session),
                StoragePartitioning(session),
                StreamWriteRule(session, self._home),
                TableAsSelect(self),
                *([ViewsAmongTables(session)] if HAS_VIEWS else []),
                ShowCreateTable(session),
                FailingExplain(session),
            ],
        )

    def _retry_inconsistent_shuffles(self) -> None:
        """Let Spark detect that a retried task returned other rows, and then retry all tasks that read the first ones.

        The bucket of a new key depends on the order of rows, as ``rand()`` does on the attempt. A task that is retried
        after its executor was lost could otherwise lose or duplicate rows.
        """
        conf = self.session.state.conf()
        for key in ("enabled", "enableFullRetryOnMismatch"):
            if not conf.contains(_CHECKSUM + key):
                self.session.conf.set(_CHECKSUM + key, "true")

    def add(self, name: str, options: dict[str, str]) -> bool:
        """Add a catalog, and create its default database; False if the session has a catalog of that name."""
        if name == PATHS or self._registered.contains(name):
            return False
        is_shared = name == SESSION_CATALOG
        given = options_of_session_catalog(self.session, options) if is_shared else options
        if "warehouse" in given:
            # Workers may have another working directory than the driver.
            given = given | {"warehouse": normalized_warehouse(given["warehouse"], given)}
        field, sparks = private_field(self._manager, _SESSION_CATALOG_FIELD)
        is_taken = partial(is_spark_table, self.jvm, sparks)
        catalog = open_catalog(name, given, host_in(self.jvm, is_taken) if is_shared else host_in(self.jvm))
        # A server may grant read access without the right to create databases.
        with contextlib.suppress(DatabaseExistsError, NotAllowedError):
            catalog.create_database(TableOptions(given).get(DEFAULT_DATABASE), {})
        if is_shared:
            self._replace_session_catalog(SessionCatalogProxy(self.session, catalog, self, sparks), field)
        else:
            self.catalogs[name] = CatalogProxy(self.session, catalog, self)
            self._registered.put(name, self.catalogs[name].in_jvm())
        return True

    def _replace_session_catalog(self, proxy: SessionCatalogProxy, field: Field) -> None:
        self.catalogs[SESSION_CATALOG] = proxy
        extension = proxy.extension()
        # Spark uses one or the other, depending on the settings of the session that is active in the thread.
        self._registered.put(SESSION_CATALOG, extension)
        field.set(self._manager, extension)
        add_rules(self.session, [PaimonTableCommands(self.session, proxy)])

    def is_ordinary(self, table: TableName) -> bool:
        """Whether a name of the session's ``spark_catalog`` is not that of a Paimon table."""
        shared = self.catalogs.get(table[0])
        return isinstance(shared, SessionCatalogProxy) and not (len(table) == 3 and shared.has_table(*table[1:]))

    def paths(self, names: PathNames) -> PathCatalogProxy:
        """The catalog of paths, created and registered at the first call."""
        if self._paths is None:
            self._paths = PathCatalogProxy(self.session, names, self)
            self._registered.put(PATHS, self._paths)
        return self._paths

    def drop(self, name: str) -> bool:
        """Remove a catalog from the session, without its files; False if there is no Paimon catalog of that name.

        Raises:
            UnsupportedError: it is Spark's own catalog.
        """
        if name == SESSION_CATALOG:
            raise UnsupportedError(f"{name} cannot be dropped: it is Spark's own catalog.")
        return self._remove(name)

    def _remove(self, name: str) -> bool:
        removed = self.catalogs.pop(name, None)
        if removed is None:
            return False
        self._registered.remove(name)
        if isinstance(removed, SessionCatalogProxy):
            private_field(self._manager, _SESSION_CATALOG_FIELD)[0].set(self._manager, removed.spark_catalog)
        return True

    def catalog_named(self, name: str) -> CatalogProxy | None:
        """The Paimon catalog of a name, including that of paths; None if there is none."""
        return self._paths if name == PATHS else self.catalogs.get(name)

    def _home(self, called: tuple[str, ...]) -> TableLocation | None:
        """The catalog and identifier of a table, by its name in Spark; None if the session lacks the catalog."""
        catalog, *namespace, name = called
        proxy = self.catalog_named(catalog)
        if proxy is None:
            return None
        ident = self.jvm.cls(f"{CATALOG}.Identifier").of(self.jvm.strings(namespace), name)
        return TableLocation(proxy.catalog, identifier_of(proxy, ident))

    def all(self) -> dict[str, Catalog]:
        """The session's Paimon catalogs by name."""
        return {name: proxy.catalog for name, proxy in self.catalogs.items()}

    def detach(self) -> None:
        """Remove all our objects from a closed session.

        Its Python objects and the session refer to each other: neither garbage collector can free such a cycle.
        """
        for name in list(self.catalogs):
            self._remove(name)
        self._registered.remove(PATHS)
        self._paths = None
        remove_rules(self.session)
        getattr(self.session.state.experimentalMethods(), "extraOptimizations_$eq")(self.jvm.nil)

    def settle(self) -> None:
        """Set the default catalog as current catalog, if it is a Paimon catalog.

        Otherwise Spark reads the default from the settings of the session that is active in the thread, so a
        ``DataFrame`` of this session could be written to another catalog.
        """
        default = self.session.conf.get("spark.sql.defaultCatalog", "")
        manager = self._manager
        if default in self.catalogs and manager.currentCatalog().name() != default:
            manager.setCurrentCatalog(default)
        elif default in self.catalogs:
            private_field(manager, "_currentCatalogName")[0].set(manager, self.jvm.some(default))

    def add_configured(self) -> None:
        """Add the catalogs of the session's settings that it lacks."""
        settings = self.jvm.strings_map(self.session.conf.getAllAsJava())
        for key, value in settings.items():
            name = key.removeprefix(CATALOG_PREFIX)
            if key.startswith(CATALOG_PREFIX) and value == IMPLEMENTATION and "." not in name:
                prefix = f"{CATALOG_PREFIX}{name}."
                self.add(name, {k.removeprefix(prefix): v for k, v in settings.items() if k.startswith(prefix)})
