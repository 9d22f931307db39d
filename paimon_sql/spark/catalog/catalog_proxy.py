"""Proxy of a Paimon catalog: its databases, views, functions and procedures, and its tables (``tables``)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial

from paimon_sql import errors
from paimon_sql.catalog.iceberg.tables import database_shown_no_more
from paimon_sql.catalog.identifier import SYSTEM_DATABASE, Identifier
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import DEFAULT_DATABASE
from paimon_sql.procedures import procedures
from paimon_sql.procedures.base import Context
from paimon_sql.spark.catalog.base import CatalogPart
from paimon_sql.spark.catalog.tables import TableDefinitions
from paimon_sql.spark.catalog_objects.functions import FUNCTION_NAMES, UnboundFunctionProxy, load_function
from paimon_sql.spark.catalog_objects.sql_functions import FunctionMaker
from paimon_sql.spark.catalog_objects.stored_sql import EVOLVING, spark_view, view_schema
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.execution.carried_statement import StatementContext
from paimon_sql.spark.java.connector import Ident, View
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.compat import HAS_VIEWS
from paimon_sql.spark.jvm.proxy import Proxy, answers_of, knowing
from paimon_sql.spark.procedures.procedure import load_procedure


class Namespaces(CatalogPart):
    """Databases: Spark's namespaces of one level."""

    def defaultNamespace(self) -> Sequence[str]:
        name = TableOptions(self.catalog.options).get(DEFAULT_DATABASE)
        return self.jvm.constant(f"namespace {name}", lambda: self.jvm.strings([name]))

    def listNamespaces(self, *parent: Sequence[str]) -> Sequence[Sequence[str]]:
        names = [] if parent and len(parent[0]) else self._databases()
        result: list[list[str]] = self.jvm.gateway.new_array(self.jvm.cls("java.lang.String"), len(names), 1)
        for i, name in enumerate(names):
            result[i][0] = name
        return result

    def namespaceExists(self, namespace: Sequence[str]) -> bool:
        return len(namespace) == 1 and self._database_exists(namespace[0])

    def loadNamespaceMetadata(self, namespace: Sequence[str]) -> Mapping[str, str]:
        name = namespace[0]
        if name == SYSTEM_DATABASE:
            return self.jvm.java_map({})
        return self.jvm.java_map(self._or_no_namespace(namespace, lambda: self.catalog.database_properties(name)))

    def createNamespace(self, namespace: Sequence[str], properties: Mapping[str, str]) -> None:
        given = self.jvm.strings_map(properties)
        if not self.catalog.keeps_owners:
            given.pop("owner", None)
        with self._analysis_error("NamespaceAlreadyExists", namespace, errors.DatabaseExistsError):
            self.catalog.create_database(namespace[0], given)

    def alterNamespace(self, namespace: Sequence[str], changes: Iterable[JavaObject]) -> None:
        given = {str(c.property()): str(c.value()) if hasattr(c, "value") else None for c in changes}
        self._or_no_namespace(namespace, lambda: self.catalog.alter_database(namespace[0], given))

    def dropNamespace(self, namespace: Sequence[str], cascade: bool) -> bool:
        if cascade:
            with database_shown_no_more(self.catalog, namespace[0]):
                self._or_no_namespace(namespace, lambda: self.catalog.drop_database(namespace[0], True))
            cached_tables.renew(self.session)
            return True
        with self._analysis_error("NonEmptyNamespace", namespace, errors.DatabaseNotEmptyError):
            self._or_no_namespace(namespace, lambda: self.catalog.drop_database(namespace[0], False))
        return True

    def _databases(self) -> list[str]:
        return sorted(set(self.catalog.list_databases()) - {SYSTEM_DATABASE})

    def _database_exists(self, name: str) -> bool:
        return name == SYSTEM_DATABASE or self.catalog.database_exists(name)


class Views(CatalogPart):
    """Views by name."""

    def listViews(self, namespace: Sequence[str]) -> Sequence[Ident]:
        database = namespace[0] if len(namespace) else ""
        if database == SYSTEM_DATABASE:
            return self._idents(namespace, ())
        return self._idents(namespace, self._or_no_namespace(namespace, lambda: self.catalog.list_views(database)))

    def loadView(self, ident: Ident) -> View:
        missing = (errors.NoSuchViewError, errors.NoSuchDatabaseError, errors.InvalidInputError)
        with self._analysis_error("NoSuchView", ident, *missing):
            identifier = self._identifier(ident)
            view = self.catalog.view(identifier)
        return spark_view(self.jvm, view, self.catalog.name, identifier.database)

    def viewExists(self, ident: Ident) -> bool:
        try:
            return self.catalog.view_exists(self._identifier(ident))
        except (errors.NoSuchDatabaseError, errors.InvalidInputError):
            return False

    def invalidateView(self, ident: Ident) -> None:
        pass

    def createView(self, ident: Ident, view: View) -> View:
        return self._create_view(ident, view, replace=False)

    def createOrReplaceView(self, ident: Ident, view: View) -> View:
        return self._create_view(ident, view, replace=True)

    def replaceView(self, ident: Ident, view: View) -> View:
        if not self.viewExists(ident):
            self._raise_analysis("NoSuchView", ident)
        return self._create_view(ident, view, replace=True)

    def dropView(self, ident: Ident) -> bool:
        try:
            self.catalog.drop_view(self._identifier(ident))
        except (errors.NoSuchViewError, errors.NoSuchDatabaseError):
            return False
        return True

    def renameView(self, source: Ident, target: Ident) -> None:
        with self._analysis_error("NoSuchView", source, errors.NoSuchViewError), self._if_taken(target):
            self.catalog.rename_view(self._identifier(source), self._identifier(target))

    def _create_view(self, ident: Ident, view: View, *, replace: bool) -> View:
        identifier = self._identifier(ident)
        if identifier.database == SYSTEM_DATABASE:
            raise errors.UnsupportedError(f"No view can be created in {SYSTEM_DATABASE}: it is the system database.")
        if (view.schemaMode() or "").upper() in EVOLVING:
            raise errors.UnsupportedError(
                f"View {identifier} cannot be WITH SCHEMA {view.schemaMode()}: Spark evolves the schema of such a"
                " view only in its own catalog.",
                remedy="Leave it out, and replace the view when the columns of its query change.",
            )
        replaced = self.catalog.view(identifier) if replace and self.catalog.view_exists(identifier) else None
        with self._if_taken(ident):
            schema = view_schema(self.jvm, view, self.catalog.name, replaced)
            create = partial(self.catalog.create_view, identifier, schema, replace=replace)
            self._or_no_namespace(ident.namespace(), create)
        return view

    def _if_taken(self, ident: Ident) -> AbstractContextManager[None]:
        return self._analysis_error("ViewAlreadyExists", ident, errors.ViewExistsError, errors.TableExistsError)


class Routines(CatalogPart):
    """Functions that the catalog stores, and the functions and procedures of ``sys``."""

    def listFunctions(self, namespace: Sequence[str]) -> Sequence[Ident]:
        database = list(namespace)
        if database in ([], [SYSTEM_DATABASE]):
            names = list(FUNCTION_NAMES)
        else:
            names = self._or_no_namespace(namespace, lambda: self.catalog.list_functions(".".join(database)))
        return self._idents(namespace, names)

    def functionExists(self, ident: Ident) -> bool:
        stored = self._stored_function(ident)
        return self._function(ident) is not None if stored is None else self.catalog.function_name(stored) is not None

    def loadFunction(self, ident: Ident) -> Proxy | JavaObject:
        stored = self._stored_function(ident)
        found = self._function(ident) if stored is None else self._load_function(stored)
        if found is None:
            self._raise_analysis("NoSuchFunction", ident)
        return found

    def _stored_function(self, ident: Ident) -> Identifier | None:
        """The identifier of a function that the catalog may store; None for a function of ``sys``."""
        database = list(ident.namespace())
        if len(database) != 1 or database[0].lower() == SYSTEM_DATABASE or not HAS_VIEWS:
            return None
        return Identifier(database[0], ident.name())

    def _load_function(self, identifier: Identifier) -> JavaObject | None:
        try:
            return FunctionMaker(self.session, self.catalog).load(identifier)
        except (errors.NoSuchFunctionError, errors.NoSuchDatabaseError):
            return None

    def _function(self, ident: Ident) -> UnboundFunctionProxy | None:
        if [name.lower() for name in ident.namespace()] not in ([], [SYSTEM_DATABASE]):
            return None
        return load_function(self.jvm, ident.name(), self._context)

    def _context(self) -> Context:
        manager = self.session.state.catalogManager()
        is_current = manager.currentCatalog().name() == self.catalog.name
        database = ".".join(manager.currentNamespace()) if is_current else ""
        return Context(self.catalog, database or "default")

    def loadProcedure(self, ident: Ident) -> Proxy:
        return load_procedure(StatementContext(self.session, self.catalog, self.session_catalogs), ident)

    def listProcedures(self, namespace: Sequence[str]) -> Sequence[Ident]:
        return self._idents(namespace, procedures() if list(namespace) == [SYSTEM_DATABASE] else ())


class CatalogProxy(Namespaces, TableDefinitions, Views, Routines):
    """One catalog of one session."""

    def _is_like(self, other: CatalogProxy) -> bool:
        mine, theirs = self.catalog, other.catalog
        return mine.name == theirs.name and mine.options == theirs.options

    def _trait(self) -> Hashable:
        return self.catalog.name

    def toString(self) -> str:
        return f"paimon catalog {self.catalog.name}"

    def name(self) -> str:
        return self.catalog.name

    def in_jvm(self) -> JavaObject:
        """The catalog as it is registered with Spark, which asks for its name again and again."""
        methods = (self.name, self.toString, self.hashCode, self.defaultNamespace, self.tableStateOptionKeys)
        return knowing(self, answers_of(self.jvm, *methods))
