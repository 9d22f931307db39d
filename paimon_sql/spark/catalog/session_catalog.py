"""Replacement of ``spark_catalog``: Paimon's tables together with those of Spark's own catalog.

A name means Paimon's table if there is one, and otherwise Spark's own catalog, whose tables and commands do not change.
``USING paimon`` creates a Paimon table, any other provider an ordinary one. Databases are shared. For Spark it is a
subclass of ``DelegatingCatalogExtension`` (decision 14).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import cast

from py4j.protocol import Py4JJavaError

from paimon_sql import errors
from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.iceberg.tables import database_shown_no_more
from paimon_sql.catalog.identifier import SYSTEM_DATABASE, Identifier
from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.format.options.engines.catalog import FORMAT_TABLE_ENABLED
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.spark.catalog.catalog_proxy import CatalogProxy
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.connector.interfaces import TableInterface
from paimon_sql.spark.conversion.references import unquoted_parts
from paimon_sql.spark.ddl.create_table import PROVIDER, members_of
from paimon_sql.spark.execution.carried_statement import SessionCatalogs
from paimon_sql.spark.java.connector import Ident, StringMap, TableInfo
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import CATALOG, Jvm
from paimon_sql.spark.jvm.proxy import Method, Proxy, subclass_instance
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.tables.base import SchemaTable
from paimon_sql.sql.context import SESSION_CATALOG

_EXTENSION = f"{CATALOG}.DelegatingCatalogExtension"
_INTERFACES = (f"{CATALOG}.StagingTableCatalog", f"{CATALOG}.ProcedureCatalog")
_OVERRIDDEN = (
    *("listNamespaces", "namespaceExists", "loadNamespaceMetadata", "createNamespace", "alterNamespace"),
    *("dropNamespace", "listTables", "listTableSummaries", "tableExists", "loadTable", "loadChangelog"),
    *("createTable", "createTableLike", "stageCreate", "stageReplace", "stageCreateOrReplace", "alterTable"),
    *("dropTable", "purgeTable", "renameTable", "invalidateTable", "listFunctions", "functionExists", "loadFunction"),
    *("loadProcedure", "listProcedures", "tableStateOptionKeys", "changelogStateOptionKeys"),
    *("supportedCustomMetrics", "capabilities"),
)
"""The methods that call Python; all others are Spark's own."""
_OF_PAIMON_TABLES = ("alterTable", "invalidateTable")
"""Those that call Python only for Paimon's tables."""


def options_of_session_catalog(session: JvmSession, options: dict[str, str]) -> dict[str, str]:
    """The options of the Paimon catalog in ``spark_catalog``, with defaults.

    The default warehouse is Spark's own, and format tables are disabled, since plain files are Spark's own tables.
    """
    found = {"warehouse": session.conf.get("spark.sql.warehouse.dir")} | options
    return found | {FORMAT_TABLE_ENABLED.key: "false"}


def is_spark_table(jvm: Jvm, sparks: JavaObject, identifier: Identifier) -> bool:
    """Whether a name is that of a table or view of Spark's own catalog."""
    namespace = jvm.strings([identifier.database])
    return bool(sparks.tableExists(jvm.cls(f"{CATALOG}.Identifier").of(namespace, identifier.table)))


class SessionCatalogProxy(CatalogProxy):
    """The replaced ``spark_catalog`` of one session (Paimon: `SparkGenericCatalog`).

    Args:
        sparks: Spark's own catalog (Spark: ``V2SessionCatalog``).
    """

    def __init__(
        self, session: JvmSession, catalog: Catalog, session_catalogs: SessionCatalogs, sparks: JavaObject
    ) -> None:
        super().__init__(session, catalog, session_catalogs)
        self.spark_catalog = sparks
        for database in self._databases():
            self._register_in_spark(database)

    def extension(self) -> JavaObject:
        """Create the Java object that Spark calls, which delegates to this one."""

        def answer(name: str) -> Method:
            method = getattr(self, name)
            if name not in _OF_PAIMON_TABLES:
                return lambda _, arguments, proceed: method(*arguments)
            return lambda _, arguments, proceed: (
                method(*arguments) if self._is_ours(cast(Ident, arguments[0])) else proceed()
            )

        extension = subclass_instance(
            self.jvm, _EXTENSION, {name: answer(name) for name in _OVERRIDDEN}, interfaces=_INTERFACES
        )
        extension.setDelegateCatalog(self.spark_catalog)
        return extension

    def has_table(self, database: str, table: str) -> bool:
        """Whether a name is that of a Paimon table."""
        return self._is_ours(self._ident(self.jvm.strings([database]), table))

    # Databases

    def listNamespaces(self, *parent: Sequence[str]) -> Sequence[Sequence[str]]:
        if parent and len(parent[0]):
            return cast("Sequence[Sequence[str]]", self.spark_catalog.listNamespaces(*parent))
        return super().listNamespaces(*parent)

    def loadNamespaceMetadata(self, namespace: Sequence[str]) -> Mapping[str, str]:
        if self.spark_catalog.namespaceExists(namespace):
            return cast("Mapping[str, str]", self.spark_catalog.loadNamespaceMetadata(namespace))
        return super().loadNamespaceMetadata(namespace)

    def createNamespace(self, namespace: Sequence[str], properties: Mapping[str, str]) -> None:
        if self.namespaceExists(namespace):
            for name in namespace:
                self._register_in_spark(name, always=True)
            self._raise_analysis("NamespaceAlreadyExists", namespace)
        self.spark_catalog.createNamespace(namespace, properties)
        try:
            self._ensure_database(namespace[0])
        except Exception:
            self.spark_catalog.dropNamespace(namespace, False)
            raise

    def alterNamespace(self, namespace: Sequence[str], changes: Iterable[JavaObject]) -> None:
        for name in namespace:
            self._register_in_spark(name, always=True)
        self.spark_catalog.alterNamespace(namespace, changes)

    def dropNamespace(self, namespace: Sequence[str], cascade: bool) -> bool:
        database = namespace[0]
        if database.lower() == "default":
            return bool(self.spark_catalog.dropNamespace(namespace, cascade))  # raises: Spark refuses to drop it
        if not self.spark_catalog.namespaceExists(namespace):
            return super().dropNamespace(namespace, cascade)
        if cascade:
            with database_shown_no_more(self.catalog, database):
                if self.catalog.database_exists(database):
                    # Drop each Paimon table first: Spark deletes the directory of a database with all files in it.
                    for table in self.catalog.list_tables(database):
                        self.catalog.drop_table(Identifier(database, table))
                dropped = self._drop_in_spark(namespace, True)
            cached_tables.renew(self.session)
            return dropped
        if self._spark_tables(namespace) or self._has_functions(database):
            self._raise_analysis("NonEmptyNamespace", namespace)
        if self.catalog.database_exists(database):
            super().dropNamespace(namespace, False)
        return self._drop_in_spark(namespace, False)

    def _drop_in_spark(self, namespace: Sequence[str], cascade: bool) -> bool:
        """Drop the database in Spark's own catalog, and in Paimon's if it remains there."""
        dropped = bool(self.spark_catalog.dropNamespace(namespace, cascade))
        if self.catalog.database_exists(namespace[0]):
            super().dropNamespace(namespace, cascade)
        return dropped

    def _databases(self) -> list[str]:
        own = super()._databases()
        for database in own:
            self._register_in_spark(database)
        sparks = cast("Sequence[Sequence[str]]", self.spark_catalog.listNamespaces())
        return sorted({*own, *(found[0] for found in sparks)})

    def _database_exists(self, name: str) -> bool:
        if super()._database_exists(name):
            self._register_in_spark(name)
            return True
        return bool(self.spark_catalog.namespaceExists(self.jvm.strings([name])))

    def _register_in_spark(self, database: str, *, always: bool = False) -> None:
        """Create a Paimon database in Spark's own catalog, if that is an in-memory catalog.

        In a metastore it is created only when a statement creates or changes the database (``always``).
        """
        stored = (
            self.session.java.sparkContext().conf().get("spark.sql.catalogImplementation", "in-memory") != "in-memory"
        )
        namespace = self.jvm.strings([database])
        if (stored and not always) or self.spark_catalog.namespaceExists(namespace):
            return
        with suppress(Py4JJavaError):  # Spark refuses some names that Paimon allows; their tables are accessible anyway
            self.spark_catalog.createNamespace(namespace, self.jvm.java_map({}))

    def _ensure_database(self, database: str) -> None:
        """Create a database in Paimon's catalog, if it does not exist."""
        with suppress(errors.DatabaseExistsError):
            self.catalog.create_database(database, {})

    # Tables

    def listTables(self, namespace: Sequence[str]) -> Sequence[Ident]:
        if len(namespace) != 1 or namespace[0] == SYSTEM_DATABASE:
            return super().listTables(namespace)
        own = self.catalog.list_tables(namespace[0]) if self.catalog.database_exists(namespace[0]) else []
        if not own and not self.spark_catalog.namespaceExists(namespace):
            self._raise_analysis("NoSuchNamespace", namespace)
        found = {name: self._ident(namespace, name) for name in own}
        own_tables = self._spark_tables(namespace, with_temporary=True)
        persistent = {p[-1]: i for p, i in own_tables if len(p) > 1} | found
        temporary = [i for p, i in own_tables if len(p) == 1]
        return self.jvm.array(f"{CATALOG}.Identifier", [*(persistent[name] for name in sorted(persistent)), *temporary])

    def _spark_tables(self, namespace: Sequence[str], *, with_temporary: bool = False) -> list[tuple[list[str], Ident]]:
        """The tables and views of Spark's own catalog in a database: the parts of each name, and the identifier."""
        if not self.spark_catalog.namespaceExists(namespace):
            return []
        listed: Iterable[Ident] = self.spark_catalog.listTables(namespace)
        named = [(unquoted_parts(i.toString()), i) for i in listed]
        return [(parts, i) for parts, i in named if with_temporary or len(parts) > 1]

    def tableExists(self, ident: Ident) -> bool:
        return super().tableExists(ident) or bool(self.spark_catalog.tableExists(ident))

    def loadTable(self, ident: Ident, *context: object) -> TableInterface | JavaObject:
        try:
            return self._load(ident, *context).in_jvm()
        except errors.NoSuchSystemTableError:
            raise
        except (errors.NoSuchTableError, errors.NoSuchDatabaseError):
            return self.spark_catalog.loadTable(ident, *context)

    def loadChangelog(self, ident: Ident, context: JavaObject, options: StringMap) -> Proxy | JavaObject:
        if not self._is_ours(ident):
            return self.spark_catalog.loadChangelog(ident, context, options)
        return super().loadChangelog(ident, context, options)

    def createTable(self, ident: Ident, *definition: object) -> SchemaTable | JavaObject:
        if not self._is_paimon(definition):
            return self.spark_catalog.createTable(ident, *definition)
        return super().createTable(ident, *definition)

    def createTableLike(self, ident: Ident, info: TableInfo, source: object) -> SchemaTable | JavaObject:
        # The dialect carries CREATE TABLE LIKE of Paimon tables, so only ordinary tables get here.
        return self.spark_catalog.createTable(ident, info)

    def _check_staged(self, ident: Ident, definition: tuple[object, ...]) -> None:
        if not self._is_paimon(definition):
            raise errors.UnsupportedError(
                f"REPLACE TABLE and CREATE TABLE AS SELECT of {SESSION_CATALOG}.{ident} are supported only USING"
                f" {PROVIDER}.",
                remedy="CREATE TABLE, then INSERT.",
            )
        if not self._is_ours(ident) and self.spark_catalog.tableExists(ident):
            raise errors.UnsupportedError(f"{SESSION_CATALOG}.{ident} is not a Paimon table.", remedy="DROP it first.")

    def _is_paimon(self, definition: tuple[object, ...]) -> bool:
        """Whether a definition is that of a Paimon table."""
        *_, properties = members_of(definition)
        provider = properties.get("provider") or self.session.conf.get("spark.sql.sources.default")
        return provider.lower() == PROVIDER

    def _create(self, ident: Ident, schema: TableSchema) -> AnyTable:
        self._ensure_shared(ident.namespace())
        return super()._create(ident, schema)

    def _ensure_shared(self, namespace: Sequence[str]) -> None:
        """Create a database of Spark's own catalog in Paimon's, before a table is created in it."""
        if len(namespace) == 1 and self.spark_catalog.namespaceExists(namespace):
            self._ensure_database(namespace[0])

    def dropTable(self, ident: Ident) -> bool:
        return super().dropTable(ident) or bool(self.spark_catalog.dropTable(ident))

    def purgeTable(self, ident: Ident) -> bool:
        return super().dropTable(ident) or bool(self.spark_catalog.purgeTable(ident))

    def renameTable(self, source: Ident, target: Ident) -> None:
        target = self._without_catalog(target)
        if self._is_ours(source):
            self._ensure_shared(target.namespace())
            super().renameTable(source, target)
        elif self._is_ours(target):
            self._raise_analysis("TableAlreadyExists", target)
        else:
            self.spark_catalog.renameTable(source, target)

    def _is_ours(self, ident: Ident) -> bool:
        try:
            return self.catalog.table_exists(self._identifier(ident))
        except (errors.NoSuchTableError, errors.NoSuchDatabaseError, errors.InvalidInputError):
            return False

    # Functions

    def functionExists(self, ident: Ident) -> bool:
        return bool(self._function_exists(ident)) or super().functionExists(ident)

    def loadFunction(self, ident: Ident) -> Proxy | JavaObject:
        if not self._function_exists(ident):
            return super().loadFunction(ident)
        return self.spark_catalog.loadFunction(ident)

    def _has_functions(self, database: str) -> bool:
        """Whether a database of Spark's own catalog has functions."""
        # Not listFunctions() of its catalog, which fails before Spark 4.2 if the session has temporary functions.
        external = self.session.state.catalog().externalCatalog()
        return not external.listFunctions(database, "*").isEmpty()

    def _function_exists(self, ident: Ident) -> bool:
        is_system = [name.lower() for name in ident.namespace()] == [SYSTEM_DATABASE]
        return not is_system and bool(self.spark_catalog.functionExists(ident))

    def viewExists(self, ident: Ident) -> bool:
        return False  # views of spark_catalog are Spark's own
