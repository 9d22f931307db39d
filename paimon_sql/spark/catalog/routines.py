"""The functions and procedures of a catalog (Spark: ``FunctionCatalog``, ``ProcedureCatalog``)."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_sql.catalog.identifier import SYSTEM_DATABASE, Identifier
from paimon_sql.errors import NoSuchDatabaseError, NoSuchFunctionError, NotFoundError
from paimon_sql.procedures.base import Context
from paimon_sql.spark.catalog.base import CatalogPart
from paimon_sql.spark.catalog_objects.functions import UnboundFunctionProxy
from paimon_sql.spark.catalog_objects.sql_functions import FunctionMaker
from paimon_sql.spark.catalog_objects.system_functions import FUNCTION_NAMES, load_function
from paimon_sql.spark.java.connector import Ident
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.compat import HAS_VIEWS
from paimon_sql.spark.jvm.proxy import Proxy
from paimon_sql.spark.procedures.execute import ExecuteProxy
from paimon_sql.spark.procedures.procedure import MissingProcedureProxy, load_procedure, procedure_names
from paimon_sql.spark.statements import StatementContext
from paimon_sql.sql.carry import INTERNAL_PROCEDURE


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
        except (NoSuchFunctionError, NoSuchDatabaseError):
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
        if ident.name() == INTERNAL_PROCEDURE:
            catalogs = self.session_catalogs
            return ExecuteProxy(StatementContext(self.session, self.catalog, catalogs.add, catalogs.drop))
        try:
            return load_procedure(self.session, self.catalog, ident, self.session_catalogs.all)
        except NotFoundError as error:
            return MissingProcedureProxy(self.jvm, error)

    def listProcedures(self, namespace: Sequence[str]) -> Sequence[Ident]:
        names = procedure_names() if len(namespace) == 1 and namespace[0] == SYSTEM_DATABASE else []
        return self._idents(namespace, names)
