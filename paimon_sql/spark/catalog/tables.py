"""The tables of a catalog: listed, and loaded for a statement (Spark: ``TableCatalog``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from paimon_sql.catalog.identifier import SYSTEM_DATABASE, Identifier
from paimon_sql.errors import InvalidInputError, NoSuchDatabaseError, NoSuchTableError, UnsupportedError
from paimon_sql.format.options.engines.spark import READ_CHANGELOG
from paimon_sql.format.options.table.table import BRANCH
from paimon_sql.spark.catalog.base import CatalogPart
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.connector.interfaces import TableInterface
from paimon_sql.spark.java.connector import Ident, StringMap
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import CATALOG
from paimon_sql.spark.jvm.proxy import Proxy
from paimon_sql.spark.options.session import session_options, session_zone, with_session_options
from paimon_sql.spark.options.time_travel import as_of, is_write, relation_options, travel_options
from paimon_sql.spark.procedures.procedure import describe_procedures
from paimon_sql.spark.tables.changelog import load_changelog
from paimon_sql.spark.tables.data_table import TableProxy
from paimon_sql.spark.tables.format_tables.table import under_format_options
from paimon_sql.spark.tables.scanned_table import DerivedTableProxy
from paimon_sql.spark.tables.system_table import CatalogTableProxy, SystemTableProxy
from paimon_sql.spark.tables.table_types import PlainFiles, TableWithSnapshots
from paimon_sql.storage.branches.management import with_branch
from paimon_sql.storage.format_tables import FormatTable
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS
from paimon_sql.system_tables import catalog_tables, scanned_tables, system_tables, table_views
from paimon_sql.system_tables.whole_catalog import View

T = TypeVar("T")


class Tables(CatalogPart):
    """Tables, their branches and their system tables by name."""

    def listTables(self, namespace: Sequence[str]) -> Sequence[Ident]:
        if namespace[0] == SYSTEM_DATABASE:
            names = [n for n, t in catalog_tables().items() if t.is_listed and t.exists_in(self.catalog)]
        else:
            names = self._or_no_namespace(namespace, lambda: self.catalog.list_tables(namespace[0]))
        return self._idents(namespace, names)

    def listTableSummaries(self, namespace: Sequence[str]) -> Sequence[JavaObject]:
        summary = self.jvm.cls(f"{CATALOG}.TableSummary")
        found: list[JavaObject] = [summary.of(ident, "MANAGED") for ident in self.listTables(namespace)]
        return self.jvm.array(f"{CATALOG}.TableSummary", found)

    def tableExists(self, ident: Ident) -> bool:
        try:
            self._load(ident)
        except (NoSuchTableError, NoSuchDatabaseError):
            return False
        return True

    def loadTable(self, ident: Ident, *context: object) -> TableInterface | JavaObject:
        return self._or_no_table(ident, lambda: self._load(ident, *context), context)

    def loadChangelog(self, ident: Ident, context: JavaObject, options: StringMap) -> Proxy | JavaObject:
        found = self._or_no_table(ident, lambda: self._load(ident))
        if not isinstance(found, TableProxy):
            raise UnsupportedError(
                f"{found.toString()} does not support change queries.", remedy="Query the changes of a table."
            )
        return load_changelog(self.session, found.table, context, options)

    def _name_options(self, ident: Ident) -> dict[str, str]:
        """The options in Spark's identifier itself; only those of paths have any."""
        return {}

    def _name_parts(self, ident: Ident, identifier: Identifier) -> tuple[str, ...]:
        """The parts of the table's name in Spark, without the catalog."""
        return identifier.database, identifier.object_name

    def _load(self, ident: Ident, *context: object) -> TableInterface:
        try:
            identifier = self._identifier(ident)
        except InvalidInputError as error:
            # Spark asks the catalog first, also for files such as text.`/some/path`.
            raise NoSuchTableError(str(error), name=ident.name()) from None
        found = self._open(identifier, ident, *context)
        cached_tables.remember(found, (self.catalog.name, *self._name_parts(ident, identifier)))
        return found

    def _open(self, identifier: Identifier, ident: Ident, *context: object) -> TableInterface:
        if identifier.database == SYSTEM_DATABASE:
            return self._catalog_table(identifier)
        found = session_options(self.session, self.catalog.name, identifier)
        writes = is_write(context)
        loaded = self.catalog.authorized_table(identifier)
        if isinstance(loaded, FormatTable):
            if identifier.system_table is not None:
                self.catalog.table(identifier)  # raises: a format table has no system tables
            given = {k: v for k, v in found.items() if k not in TRAVEL_KEYS} | travel_options(self.jvm, context)
            return PlainFiles(self.session, under_format_options(loaded, given)).proxy(writes=writes)
        requested = {**self._name_options(ident), **relation_options(self.jvm, context)}
        travel = travel_options(self.jvm, context) or {k: v for k, v in requested.items() if k in TRAVEL_KEYS}
        if travel:
            found = {k: v for k, v in found.items() if k not in TRAVEL_KEYS}
        elif not writes:
            travel = {k: v for k, v in found.items() if k in TRAVEL_KEYS}
        branch = requested.get(BRANCH.key) or found.get(BRANCH.key)
        newest = with_session_options(with_branch(loaded, branch), found, writes=writes or bool(travel))
        by_options = not TRAVEL_KEYS.isdisjoint(requested)
        table = as_of(newest, travel, lambda: session_zone(self.session), for_streams=by_options)
        name = identifier.system_table
        if name is None and READ_CHANGELOG.read(requested.get(READ_CHANGELOG.key, "false")):
            name = "audit_log"
        if name is None:
            return TableWithSnapshots(self.session, table, newest).proxy(writes=writes)
        if table.query_auth is not None:
            self.catalog.table(identifier)  # raises: system tables would bypass query authorization
        derived = scanned_tables().get(name) or table_views().get(name)
        if derived is not None:
            return DerivedTableProxy(self.session, table, derived)
        system_table = system_tables().get(name)
        if system_table is None:
            raise NoSuchTableError(f"There is no system table {identifier}.", name=str(identifier))
        return SystemTableProxy(self.session, table, system_table)

    def _catalog_table(self, identifier: Identifier) -> TableInterface:
        found = catalog_tables().get(identifier.object_name.lower())
        if found is None or not found.exists_in(self.catalog):
            raise NoSuchTableError(f"There is no table {identifier}.", name=str(identifier))
        return CatalogTableProxy(self.session, View(self.catalog, describe_procedures()), found)

    def _or_no_table(self, ident: Ident, action: Callable[[], T], context: tuple[object, ...] = ()) -> T:
        try:
            return action()
        except (NoSuchTableError, NoSuchDatabaseError):
            if context and (is_write(context) or travel_options(self.jvm, context)) and self.viewExists(ident):
                raise UnsupportedError(
                    f"{self.catalog.name}.{ident} is a view: views support neither writes nor time travel.",
                    remedy="Use the tables of its query, which SHOW CREATE TABLE shows.",
                ) from None
            self._raise_analysis("NoSuchTable", ident)
