"""Proxy of a Paimon catalog: databases, tables, functions and procedures by name (Spark: ``TableCatalog``)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.iceberg.lifetimes import database_shown_no_more, shown_again, withdrawing
from paimon_sql.catalog.identifier import SYSTEM_DATABASE, Identifier, parse_identifier
from paimon_sql.catalog.table_types import AnyTable, kind_of
from paimon_sql.errors import (
    DatabaseExistsError,
    DatabaseNotEmptyError,
    InvalidInputError,
    NoSuchDatabaseError,
    NoSuchFunctionError,
    NoSuchTableError,
    NotFoundError,
    PaimonError,
    TableExistsError,
    UnsupportedError,
)
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import DEFAULT_DATABASE
from paimon_sql.format.options.engines.spark import READ_CHANGELOG
from paimon_sql.format.options.table.table import BRANCH
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.procedures.base import Context
from paimon_sql.spark.catalog.time_travel import as_of, is_write, relation_options, travel_options
from paimon_sql.spark.catalog_objects.functions import UnboundFunctionProxy
from paimon_sql.spark.catalog_objects.sql_functions import FunctionMaker
from paimon_sql.spark.catalog_objects.system_functions import FUNCTION_NAMES, load_function
from paimon_sql.spark.catalog_objects.views import ViewsOfCatalog
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.connector.interfaces import CatalogInterface, TableInterface
from paimon_sql.spark.conversion.names import unquoted_parts
from paimon_sql.spark.ddl.alter_table import alter_table, schema_changes
from paimon_sql.spark.ddl.create_table import schema_like, schema_of_create
from paimon_sql.spark.execution.executor import SparkExecutor
from paimon_sql.spark.jvm.compat import HAS_VIEWS
from paimon_sql.spark.jvm.gateway import CATALOG, CATALYST, Jvm, raise_java
from paimon_sql.spark.options.ineffective import warn_of_ineffective
from paimon_sql.spark.options.session import session_options, session_zone, with_session_options
from paimon_sql.spark.procedures.execute import ExecuteProxy
from paimon_sql.spark.procedures.procedure import (
    MissingProcedureProxy,
    describe_procedures,
    load_procedure,
    procedure_names,
)
from paimon_sql.spark.statements import StatementContext
from paimon_sql.spark.tables.base import SchemaTable
from paimon_sql.spark.tables.changelog import ChangelogProxy, load_changelog
from paimon_sql.spark.tables.data_table import TableProxy
from paimon_sql.spark.tables.format_tables.table import under_format_options
from paimon_sql.spark.tables.placement import refuse_branches_and_system_tables, with_location
from paimon_sql.spark.tables.scanned_table import DerivedTableProxy
from paimon_sql.spark.tables.staged.server_replacement import ServerReplacedTableProxy
from paimon_sql.spark.tables.staged.successor import Successor, temporary_name
from paimon_sql.spark.tables.system_table import CatalogTableProxy, SystemTableProxy
from paimon_sql.spark.tables.table_types import in_spark
from paimon_sql.sql.carry import INTERNAL_PROCEDURE
from paimon_sql.storage.branches.management import with_branch
from paimon_sql.storage.file_io import file_io_of
from paimon_sql.storage.format_tables import FormatTable
from paimon_sql.storage.materialized.definition import is_materialized
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.schema.changes.options import SetOption
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS
from paimon_sql.system_tables import catalog_tables, scanned_tables, system_tables, table_views
from paimon_sql.system_tables.whole_catalog import View

T = TypeVar("T")


class SessionCatalogs(Protocol):
    """The Paimon catalogs of one session, which statements may change."""

    def add(self, name: str, options: dict[str, str]) -> bool:
        """Add a catalog; False if there is one of that name."""

    def drop(self, name: str) -> bool:
        """Remove a catalog from the session; False if there is no Paimon catalog of that name."""

    def all(self) -> dict[str, Catalog]:
        """All Paimon catalogs by name."""


_ANALYSIS = f"{CATALYST}.analysis"


class CatalogProxy(ViewsOfCatalog, CatalogInterface):
    """One catalog of one session."""

    def __init__(self, jvm: Jvm, catalog: Catalog, session: Any, session_catalogs: SessionCatalogs) -> None:
        super().__init__(jvm)
        self.catalog = catalog
        if jvm.context.defaultParallelism > 1:
            catalog.executor = SparkExecutor(jvm)
        self.session = session
        self.session_catalogs = session_catalogs

    def _is_like(self, other: CatalogProxy) -> bool:
        mine, theirs = self.catalog, other.catalog
        return mine.name == theirs.name and mine.options == theirs.options

    def _trait(self) -> Hashable:
        return self.catalog.name

    def toString(self) -> str:
        return f"paimon catalog {self.catalog.name}"

    def name(self) -> str:
        return self.catalog.name

    def defaultNamespace(self) -> Any:
        name = TableOptions(self.catalog.options).get(DEFAULT_DATABASE)
        return self.jvm.constant(f"namespace {name}", lambda: self.jvm.strings([name]))

    # Databases

    def listNamespaces(self, *parent: Any) -> Any:
        names = [] if parent and len(parent[0]) else self._databases()
        result = self.jvm.gateway.new_array(self.jvm.cls("java.lang.String"), len(names), 1)
        for i, name in enumerate(names):
            result[i][0] = name
        return result

    def namespaceExists(self, namespace: Any) -> bool:
        return len(namespace) == 1 and self._database_exists(namespace[0])

    def loadNamespaceMetadata(self, namespace: Any) -> Any:
        name = namespace[0]
        if name == SYSTEM_DATABASE:
            return self.jvm.java_map({})
        return self.jvm.java_map(self._or_no_namespace(namespace, lambda: self.catalog.database_properties(name)))

    def createNamespace(self, namespace: Any, properties: Any) -> None:
        given = self.jvm.strings_map(properties)
        if not self.catalog.keeps_owners:
            given.pop("owner", None)
        try:
            self.catalog.create_database(namespace[0], given)
        except DatabaseExistsError:
            raise_java(self.jvm.new(f"{_ANALYSIS}.NamespaceAlreadyExistsException", namespace))

    def alterNamespace(self, namespace: Any, changes: Any) -> None:
        given = {str(c.property()): str(c.value()) if hasattr(c, "value") else None for c in changes}
        self._or_no_namespace(namespace, lambda: self.catalog.alter_database(namespace[0], given))

    def dropNamespace(self, namespace: Any, cascade: bool) -> bool:
        if cascade:
            with database_shown_no_more(self.catalog, namespace[0]):
                self._or_no_namespace(namespace, lambda: self.catalog.drop_database(namespace[0], True))
            cached_tables.renew(self.jvm, self.session)
            return True
        try:
            self._or_no_namespace(namespace, lambda: self.catalog.drop_database(namespace[0], False))
        except DatabaseNotEmptyError:
            raise_java(self.jvm.new(f"{_ANALYSIS}.NonEmptyNamespaceException", namespace))
        return True

    # Tables

    def listTables(self, namespace: Any) -> Any:
        if namespace[0] == SYSTEM_DATABASE:
            names = [n for n, t in catalog_tables().items() if t.is_listed and t.exists_in(self.catalog)]
        else:
            names = self._or_no_namespace(namespace, lambda: self.catalog.list_tables(namespace[0]))
        return self.jvm.array(f"{CATALOG}.Identifier", [self._ident(namespace, name) for name in names])

    def listTableSummaries(self, namespace: Any) -> Any:
        summary = self.jvm.cls(f"{CATALOG}.TableSummary")
        found = [summary.of(ident, "MANAGED") for ident in self.listTables(namespace)]
        return self.jvm.array(f"{CATALOG}.TableSummary", found)

    def tableExists(self, ident: Any) -> bool:
        try:
            self._load(ident)
        except (NoSuchTableError, NoSuchDatabaseError):
            return False
        return True

    def loadTable(self, ident: Any, *context: Any) -> TableInterface:
        return self._or_no_table(ident, lambda: self._load(ident, *context), context)

    def loadChangelog(self, ident: Any, context: Any, options: Any) -> ChangelogProxy:
        found = self._or_no_table(ident, lambda: self._load(ident))
        if not isinstance(found, TableProxy):
            raise UnsupportedError(f"{found.toString()} has no changes of its own.", remedy="Ask for those of a table.")
        return load_changelog(self.jvm, self.session, found.table, context, options)

    def createTable(self, ident: Any, *definition: Any) -> SchemaTable:
        return self._proxy(self._create(ident, self._schema(ident, definition)))

    def createTableLike(self, ident: Any, info: Any, source: Any) -> SchemaTable:
        given = self.jvm.strings_map(info.properties())
        if isinstance(source, SchemaTable):
            schema = schema_like(source.table.schema, given, case_sensitive=self._is_case_sensitive())
        else:
            schema = self._schema(ident, (info,))
        return self._proxy(self._create(ident, schema))

    def _proxy(self, table: AnyTable, *, writes: bool = False) -> SchemaTable:
        return in_spark(table).proxy(self.jvm, table, self.session, writes=writes)

    def stageCreate(self, ident: Any, *definition: Any) -> SchemaTable:
        table = self._create(ident, self._schema(ident, definition))
        return in_spark(table).created(self.jvm, table, self.session, self.catalog, self._identifier(ident))

    def stageReplace(self, ident: Any, *definition: Any) -> SchemaTable:
        return self._or_no_table(ident, lambda: self._replace(ident, definition))

    def stageCreateOrReplace(self, ident: Any, *definition: Any) -> SchemaTable:
        try:
            return self._replace(ident, definition)
        except NoSuchTableError:
            if self.viewExists(ident):
                raise UnsupportedError(
                    f"{self.catalog.name}.{ident} is a view.", remedy="Drop it first, or choose another name."
                ) from None
            return self.stageCreate(ident, *definition)

    def alterTable(self, ident: Any, changes: Any) -> TableInterface:
        try:
            requested = schema_changes(self.jvm, changes)
            warn_of_ineffective(self.session, [change.key for change in requested if isinstance(change, SetOption)])
            identifier, case_sensitive = self._identifier(ident), self._is_case_sensitive()
            self._or_no_table(
                ident, lambda: alter_table(self.catalog, identifier, requested, case_sensitive=case_sensitive)
            )
        except PaimonError as error:
            # Spark would wrap an IllegalArgumentException into an error that PySpark shows with its Java stack.
            raise_java(self.jvm.new("java.lang.UnsupportedOperationException", str(error)))
        cached_tables.renew(self.jvm, self.session)
        return self.loadTable(ident)

    def _schema(self, ident: Any, definition: tuple[Any, ...]) -> TableSchema:
        schema = schema_of_create(
            self.jvm,
            definition,
            named=self._name_options(ident),
            catalog_options=self.catalog.options,
            case_sensitive=self._is_case_sensitive(),
            default_provider=self.session.conf().get("spark.sql.sources.default"),
            standing=self._schema_at if self.catalog.stores_locations else None,
        )
        warn_of_ineffective(self.session, schema.options)
        return schema

    def _schema_at(self, location: str) -> TableSchema | None:
        """The latest schema of the table at a location; None if there is none."""
        return SchemaManager(file_io_of(location, self.catalog.options), location.rstrip("/")).latest()

    def _create(self, ident: Any, schema: TableSchema) -> AnyTable:
        identifier = self._identifier(ident)
        try:
            return self.catalog.create_any_table(identifier, self._placed(identifier, schema))
        except TableExistsError:
            raise_java(self.jvm.new(f"{_ANALYSIS}.TableAlreadyExistsException", ident))
            raise
        except NoSuchDatabaseError:
            raise_java(self.jvm.new(f"{_ANALYSIS}.NoSuchNamespaceException", ident.namespace()))
            raise

    def _replace(self, ident: Any, definition: tuple[Any, ...]) -> SchemaTable:
        identifier = self._identifier(ident)
        old = self.catalog.any_table(identifier)
        self._refuse_materialized(old, "replaced")
        schema = self._placed(identifier, self._schema(ident, definition))
        kind, shown = kind_of(schema), in_spark(old)
        if not kind.is_replacing:
            raise UnsupportedError(
                f"{old.name} cannot be replaced by a materialized table.",
                remedy="DROP the table, and CREATE MATERIALIZED TABLE.",
            )
        if not self.catalog.replaces_definitions:
            if not isinstance(old, Table) or kind is not kind_of(old.schema) or not shown.keeps_history(old, schema):
                raise UnsupportedError(
                    f"{old.name} cannot be replaced by a table of other partition columns or of another kind, and no"
                    " format table can be replaced: the catalog's server does not do that.",
                    remedy="DROP the table and CREATE it anew.",
                )
            return ServerReplacedTableProxy(self.jvm, old, schema, self.session, self.catalog, identifier)
        if kind is kind_of(old.schema) and shown.keeps_history(old, schema):
            return shown.replaced(self.jvm, old, schema, self.session, self.catalog, identifier)
        return self._create_successor(identifier, old, schema)

    def _create_successor(self, identifier: Identifier, old: AnyTable, schema: TableSchema) -> SchemaTable:
        """Create a successor, which replaces the old table when it is committed."""
        if not self.catalog.renames_tables:
            raise UnsupportedError(
                f"{old.name} cannot be replaced by a table of other partition columns, or of another kind.",
                remedy="Remove the folder and make the table anew.",
            )
        aside = temporary_name(identifier)
        successor = Successor(self.catalog, old, identifier, aside)
        table = replace(self.catalog.create_any_table(aside, schema), name=old.name)
        return in_spark(table).created(self.jvm, table, self.session, self.catalog, aside, successor)

    def _placed(self, identifier: Identifier, schema: TableSchema) -> TableSchema:
        """The schema of a new table, with a validated location."""
        return with_location(self.catalog, identifier, schema)

    def _is_case_sensitive(self) -> bool:
        return bool(self.session.sessionState().conf().caseSensitiveAnalysis())

    def dropTable(self, ident: Any) -> bool:
        try:
            identifier = self._identifier(ident)
            refuse_branches_and_system_tables(identifier, "dropped")
            if identifier.database == SYSTEM_DATABASE and self.tableExists(ident):
                raise UnsupportedError(f"{identifier} cannot be dropped: it is the catalog's own.")
            self._refuse_to_drop(identifier)
            with withdrawing(self.catalog, identifier):
                self.catalog.drop_table(identifier)
        except (NoSuchTableError, NoSuchDatabaseError):
            return False
        cached_tables.renew(self.jvm, self.session)
        return True

    def _refuse_to_drop(self, identifier: Identifier) -> None:
        try:
            table = self.catalog.any_table(identifier)
        except (NoSuchTableError, NoSuchDatabaseError):
            raise
        except PaimonError:
            return  # a damaged table can be dropped
        self._refuse_materialized(table, "dropped as a table")

    def _refuse_materialized(self, table: AnyTable, verb: str) -> None:
        if is_materialized(table.schema):
            raise UnsupportedError(
                f"{table.name} is a materialized table and cannot be {verb}.",
                remedy="DROP MATERIALIZED TABLE drops it, CREATE OR ALTER MATERIALIZED TABLE changes its query.",
            )

    def purgeTable(self, ident: Any) -> bool:
        return self.dropTable(ident)

    def renameTable(self, source: Any, target: Any) -> None:
        target = self._without_catalog(target)
        old, new = self._identifier(source), self._identifier(target)
        refuse_branches_and_system_tables(old, "renamed")
        refuse_branches_and_system_tables(new, "made by a renaming")
        try:
            with withdrawing(self.catalog, old):
                self._or_no_table(source, lambda: self.catalog.rename_table(old, new))
            shown_again(self.catalog, new)
        except TableExistsError:
            raise_java(self.jvm.new(f"{_ANALYSIS}.TableAlreadyExistsException", target))
        cached_tables.renew(self.jvm, self.session)

    # Functions

    def listFunctions(self, namespace: Any) -> Any:
        database = list(namespace)
        if database in ([], [SYSTEM_DATABASE]):
            names = list(FUNCTION_NAMES)
        else:
            names = self._or_no_namespace(namespace, lambda: self.catalog.list_functions(".".join(database)))
        return self.jvm.array(f"{CATALOG}.Identifier", [self._ident(namespace, name) for name in names])

    def functionExists(self, ident: Any) -> bool:
        stored = self._stored_function(ident)
        return self._function(ident) is not None if stored is None else self.catalog.function_name(stored) is not None

    def loadFunction(self, ident: Any) -> Any:
        stored = self._stored_function(ident)
        found = self._function(ident) if stored is None else self._load_function(stored)
        if found is None:
            raise_java(self.jvm.new(f"{_ANALYSIS}.NoSuchFunctionException", ident))
        return found

    def _stored_function(self, ident: Any) -> Identifier | None:
        """The identifier of a function that the catalog may store; None for a function of ``sys``."""
        database = list(ident.namespace())
        if len(database) != 1 or database[0].lower() == SYSTEM_DATABASE or not HAS_VIEWS:
            return None
        return Identifier(database[0], ident.name())

    def _load_function(self, identifier: Identifier) -> Any:
        try:
            return FunctionMaker(self.jvm, self.session, self.catalog).load(identifier)
        except (NoSuchFunctionError, NoSuchDatabaseError):
            return None

    def _function(self, ident: Any) -> UnboundFunctionProxy | None:
        if [name.lower() for name in ident.namespace()] not in ([], [SYSTEM_DATABASE]):
            return None
        return load_function(self.jvm, ident.name(), self._context)

    def _context(self) -> Context:
        manager = self.session.sessionState().catalogManager()
        is_current = manager.currentCatalog().name() == self.catalog.name
        database = ".".join(manager.currentNamespace()) if is_current else ""
        return Context(self.catalog, database or "default")

    # Procedures

    def loadProcedure(self, ident: Any) -> Any:
        if ident.name() == INTERNAL_PROCEDURE:
            return ExecuteProxy(
                self.jvm,
                StatementContext(
                    self.jvm, self.session, self.catalog, self.session_catalogs.add, self.session_catalogs.drop
                ),
            )
        try:
            return load_procedure(self.jvm, self.catalog, self.session, ident, self.session_catalogs.all)
        except NotFoundError as error:
            return MissingProcedureProxy(self.jvm, error)

    def listProcedures(self, namespace: Any) -> Any:
        names = procedure_names() if len(namespace) == 1 and namespace[0] == SYSTEM_DATABASE else []
        return self.jvm.array(f"{CATALOG}.Identifier", [self._ident(namespace, name) for name in names])

    def _databases(self) -> list[str]:
        return sorted(set(self.catalog.list_databases()) - {SYSTEM_DATABASE})

    def _database_exists(self, name: str) -> bool:
        return name == SYSTEM_DATABASE or self.catalog.database_exists(name)

    def _without_catalog(self, target: Any) -> Any:
        """The target of RENAME TO without the catalog's name, which Spark does not strip."""
        *namespace, name = unquoted_parts(target.toString())
        inside = len(namespace) == 2 and namespace[0] == self.catalog.name
        return self._ident(self.jvm.strings(namespace[1:]), name) if inside else target

    def _identifier(self, ident: Any) -> Identifier:
        """The identifier of a table, from Spark's.

        Raises:
            NoSuchDatabaseError: it does not have exactly one database.
        """
        *namespace, name = unquoted_parts(ident.toString())
        if len(namespace) != 1:
            raise NoSuchDatabaseError(
                f"{'.'.join([*namespace, name])} is no table of catalog {self.catalog.name}: a name has one database.",
                name=".".join(namespace),
            )
        return parse_identifier(namespace[0], name)

    def _name_options(self, ident: Any) -> dict[str, str]:
        """The options in Spark's identifier itself; only those of paths have any."""
        return {}

    def _load(self, ident: Any, *context: Any) -> TableInterface:
        try:
            identifier = self._identifier(ident)
        except InvalidInputError as error:
            # Spark asks the catalog first, also for files such as text.`/some/path`.
            raise NoSuchTableError(str(error), name=str(ident.name())) from None
        found = self._open(identifier, ident, *context)
        cached_tables.remember(found, (self.catalog.name, *self._name_parts(ident, identifier)))
        return found

    def _name_parts(self, ident: Any, identifier: Identifier) -> tuple[str, ...]:
        """The parts of the table's name in Spark, without the catalog."""
        return identifier.database, identifier.object_name

    def _open(self, identifier: Identifier, ident: Any, *context: Any) -> TableInterface:
        if identifier.database == SYSTEM_DATABASE:
            return self._catalog_table(identifier)
        found = session_options(self.jvm, self.session, self.catalog.name, identifier)
        writes = is_write(context)
        loaded = self.catalog.authorized_table(identifier)
        if isinstance(loaded, FormatTable):
            if identifier.system_table is not None:
                self.catalog.table(identifier)  # raises: a format table has no system tables
            return self._format_table(loaded, found, travel_options(self.jvm, context), writes=writes)
        requested = {**self._name_options(ident), **relation_options(self.jvm, context)}
        travel = travel_options(self.jvm, context) or {k: v for k, v in requested.items() if k in TRAVEL_KEYS}
        if travel:
            found = {k: v for k, v in found.items() if k not in TRAVEL_KEYS}
        elif not writes:
            travel = {k: v for k, v in found.items() if k in TRAVEL_KEYS}
        branch = requested.get(BRANCH.key) or found.get(BRANCH.key)
        newest = with_session_options(with_branch(loaded, branch), found, writes=writes or bool(travel))
        by_options = not TRAVEL_KEYS.isdisjoint(requested)
        table = as_of(newest, travel, lambda: session_zone(self.jvm, self.session), for_streams=by_options)
        name = identifier.system_table
        if name is None and READ_CHANGELOG.read(requested.get(READ_CHANGELOG.key, "false")):
            name = "audit_log"
        if name is None:
            return self._data_table(table, newest, writes=writes)
        if table.query_auth is not None:
            self.catalog.table(identifier)  # raises: system tables would bypass query authorization
        derived = scanned_tables().get(name) or table_views().get(name)
        if derived is not None:
            return DerivedTableProxy(self.jvm, table, derived, self.session)
        system_table = system_tables().get(name)
        if system_table is None:
            raise NoSuchTableError(f"There is no system table {identifier}.", name=str(identifier))
        return SystemTableProxy(self.jvm, table, system_table, self.session)

    def _data_table(self, table: Table, newest: Table, *, writes: bool) -> SchemaTable:
        proxy = self._proxy(table, writes=writes)
        if isinstance(proxy, TableProxy):
            proxy.written = newest
        return proxy

    def _format_table(
        self, table: FormatTable, options: dict[str, str], travel: dict[str, str], *, writes: bool
    ) -> TableInterface:
        session = {k: v for k, v in options.items() if k not in TRAVEL_KEYS}
        return self._proxy(under_format_options(table, {**session, **travel}), writes=writes)

    def _catalog_table(self, identifier: Identifier) -> TableInterface:
        found = catalog_tables().get(identifier.object_name.lower())
        if found is None or not found.exists_in(self.catalog):
            raise NoSuchTableError(f"There is no table {identifier}.", name=str(identifier))
        return CatalogTableProxy(self.jvm, View(self.catalog, describe_procedures()), found, self.session)

    def _ident(self, namespace: Any, name: str) -> Any:
        return self.jvm.cls(f"{CATALOG}.Identifier").of(namespace, name)

    def _or_no_table(self, ident: Any, action: Callable[[], T], context: tuple[Any, ...] = ()) -> T:
        try:
            return action()
        except (NoSuchTableError, NoSuchDatabaseError):
            if context and (is_write(context) or travel_options(self.jvm, context)) and self.viewExists(ident):
                raise UnsupportedError(
                    f"{self.catalog.name}.{ident} is a view: it is neither written to nor read as of another time.",
                    remedy="Name the tables of its query, which SHOW CREATE TABLE tells.",
                ) from None
            raise_java(self.jvm.new(f"{_ANALYSIS}.NoSuchTableException", ident))
            raise

    def _or_no_namespace(self, namespace: Any, action: Callable[[], T]) -> T:
        try:
            return action()
        except NoSuchDatabaseError:
            raise_java(self.jvm.new(f"{_ANALYSIS}.NoSuchNamespaceException", namespace))
            raise


def identifier_of(catalog: CatalogProxy, ident: Any) -> Identifier:
    """The identifier of a table in a catalog, from Spark's; errors are Python's."""
    return catalog._identifier(ident)
