"""The tables of a catalog: listed, loaded, created, altered and dropped (Spark: ``StagingTableCatalog``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from paimon_sql import errors
from paimon_sql.catalog.alter_table import alter_table
from paimon_sql.catalog.iceberg.tables import shown_again, withdrawing
from paimon_sql.catalog.identifier import SYSTEM_DATABASE, Identifier
from paimon_sql.catalog.table_types import AnyTable, kind_of
from paimon_sql.format.options.engines.spark import READ_CHANGELOG
from paimon_sql.format.options.table.table import BRANCH
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.spark import options
from paimon_sql.spark.catalog.base import CatalogPart, T
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.connector.interfaces import TableInterface
from paimon_sql.spark.conversion.references import unquoted_parts
from paimon_sql.spark.ddl.alter_table import schema_changes
from paimon_sql.spark.ddl.create_table import schema_like, schema_of_create
from paimon_sql.spark.java.connector import Ident, StringMap, TableInfo
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import CATALOG
from paimon_sql.spark.jvm.proxy import Proxy, raise_java
from paimon_sql.spark.procedures.procedure import describe_procedures
from paimon_sql.spark.tables.base import SchemaTable
from paimon_sql.spark.tables.changelog import load_changelog
from paimon_sql.spark.tables.data_table import TableProxy
from paimon_sql.spark.tables.format_tables.format_table import under_format_options
from paimon_sql.spark.tables.placement import refuse_branches_and_system_tables, with_location
from paimon_sql.spark.tables.staged_table import ServerReplacedTableProxy, Successor, temporary_name
from paimon_sql.spark.tables.system_table import CatalogTableProxy, DerivedTableProxy, SystemTableProxy
from paimon_sql.spark.tables.table_types import PlainFiles, TableWithSnapshots, in_spark
from paimon_sql.storage.branches.selection import with_branch
from paimon_sql.storage.format_tables import FormatTable
from paimon_sql.storage.materialized.definition import is_materialized
from paimon_sql.storage.schema.changes.options import SetOption
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS
from paimon_sql.system_tables import catalog_tables, scanned_tables, system_tables, table_views
from paimon_sql.system_tables.base import View


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
        except (errors.NoSuchTableError, errors.NoSuchDatabaseError):
            return False
        return True

    def loadTable(self, ident: Ident, *context: object) -> TableInterface | JavaObject:
        return self.opened(ident, *context).in_jvm()

    def opened(self, ident: Ident, *context: object) -> TableInterface:
        """The Python object of a table, which `loadTable` returns."""
        return self._or_no_table(ident, lambda: self._load(ident, *context), context)

    def loadChangelog(self, ident: Ident, context: JavaObject, options: StringMap) -> Proxy | JavaObject:
        found = self.opened(ident)
        if not isinstance(found, TableProxy):
            raise errors.UnsupportedError(
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
        except errors.InvalidInputError as error:
            # Spark asks the catalog first, also for files such as text.`/some/path`.
            raise errors.NoSuchTableError(str(error), name=ident.name()) from None
        found = self._open(identifier, ident, *options.informative(context))
        cached_tables.remember(found, (self.catalog.name, *self._name_parts(ident, identifier)))
        return found

    def _open(self, identifier: Identifier, ident: Ident, *context: object) -> TableInterface:
        if identifier.database == SYSTEM_DATABASE:
            return self._catalog_table(identifier)
        found = options.session_options(self.session, self.catalog.name, identifier)
        writes = options.is_write(context)
        loaded = self.catalog.authorized_table(identifier)
        if isinstance(loaded, FormatTable):
            if identifier.system_table is not None:
                self.catalog.table(identifier)  # raises: a format table has no system tables
            given = {k: v for k, v in found.items() if k not in TRAVEL_KEYS} | options.travel_options(self.jvm, context)
            return PlainFiles(self.session, under_format_options(loaded, given)).proxy(writes=writes)
        requested = {**self._name_options(ident), **options.relation_options(self.jvm, context)}
        travel = options.travel_options(self.jvm, context) or {k: v for k, v in requested.items() if k in TRAVEL_KEYS}
        if travel:
            found = {k: v for k, v in found.items() if k not in TRAVEL_KEYS}
        elif not writes:
            travel = {k: v for k, v in found.items() if k in TRAVEL_KEYS}
        branch = requested.get(BRANCH.key) or found.get(BRANCH.key)
        newest = options.with_session_options(with_branch(loaded, branch), found, writes=writes or bool(travel))
        by_options = not TRAVEL_KEYS.isdisjoint(requested)
        table = options.as_of(newest, travel, lambda: options.session_zone(self.session), for_streams=by_options)
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
            names = [f"{identifier.table}${each}" for each in (*system_tables(), *scanned_tables(), *table_views())]
            raise errors.NoSuchSystemTableError(
                f"There is no system table {identifier}.",
                name=str(identifier),
                remedy=errors.did_you_mean(f"{identifier.table}${name}", names),
            )
        return SystemTableProxy(self.session, table, system_table)

    def _catalog_table(self, identifier: Identifier) -> TableInterface:
        found = catalog_tables().get(identifier.object_name.lower())
        if found is None or not found.exists_in(self.catalog):
            raise errors.NoSuchTableError(f"There is no table {identifier}.", name=str(identifier))
        return CatalogTableProxy(self.session, View(self.catalog, describe_procedures()), found)

    def _or_no_table(self, ident: Ident, action: Callable[[], T], context: tuple[object, ...] = ()) -> T:
        try:
            return action()
        except errors.NoSuchSystemTableError:
            raise  # Spark's error would not show the similar name
        except (errors.NoSuchTableError, errors.NoSuchDatabaseError):
            if (options.is_write(context) or options.travel_options(self.jvm, context)) and self.viewExists(ident):
                raise errors.UnsupportedError(
                    f"{self.catalog.name}.{ident} is a view: views support neither writes nor time travel.",
                    remedy="Use the tables of its query, which SHOW CREATE TABLE shows.",
                ) from None
            self._raise_analysis("NoSuchTable", ident)


class TableDefinitions(Tables):
    """Statements that define tables."""

    def createTable(self, ident: Ident, *definition: object) -> SchemaTable | JavaObject:
        return in_spark(self.session, self._create(ident, self._schema(ident, definition))).proxy()

    def createTableLike(self, ident: Ident, info: TableInfo, source: object) -> SchemaTable | JavaObject:
        given = self.jvm.strings_map(info.properties())
        if isinstance(source, SchemaTable):
            schema = schema_like(source.table.schema, given, case_sensitive=self.session.case_sensitive)
        else:
            schema = self._schema(ident, (info,))
        return in_spark(self.session, self._create(ident, schema)).proxy()

    def _check_staged(self, ident: Ident, definition: tuple[object, ...]) -> None:
        """Raise if such a table cannot be created together with its rows."""

    def stageCreate(self, ident: Ident, *definition: object) -> SchemaTable:
        self._check_staged(ident, definition)
        table = self._create(ident, self._schema(ident, definition))
        return in_spark(self.session, table).created(self.catalog, self._identifier(ident))

    def stageReplace(self, ident: Ident, *definition: object) -> SchemaTable:
        self._check_staged(ident, definition)
        return self._or_no_table(ident, lambda: self._replace(ident, definition))

    def stageCreateOrReplace(self, ident: Ident, *definition: object) -> SchemaTable:
        self._check_staged(ident, definition)
        try:
            return self._replace(ident, definition)
        except errors.NoSuchTableError:
            if self.viewExists(ident):
                raise errors.UnsupportedError(
                    f"{self.catalog.name}.{ident} is a view.", remedy="Drop it first, or choose another name."
                ) from None
            return self.stageCreate(ident, *definition)

    def alterTable(self, ident: Ident, changes: Iterable[JavaObject]) -> TableInterface | JavaObject:
        try:
            requested = schema_changes(self.jvm, changes)
            options.warn_of_ineffective(self.session, [c.key for c in requested if isinstance(c, SetOption)])
            identifier, case_sensitive = self._identifier(ident), self.session.case_sensitive
            self._or_no_table(
                ident, lambda: alter_table(self.catalog, identifier, requested, case_sensitive=case_sensitive)
            )
        except errors.PaimonError as error:
            # Spark would wrap an IllegalArgumentException into an error that PySpark shows with its Java stack.
            raise_java(self.jvm.new("java.lang.UnsupportedOperationException", str(error)))
        cached_tables.renew(self.session)
        return self.loadTable(ident)

    def dropTable(self, ident: Ident) -> bool:
        try:
            identifier = self._identifier(ident)
            refuse_branches_and_system_tables(identifier, "dropped")
            if identifier.database == SYSTEM_DATABASE and self.tableExists(ident):
                raise errors.UnsupportedError(f"{identifier} cannot be dropped: it is a system table.")
            self._refuse_to_drop(identifier)
            with withdrawing(self.catalog, identifier):
                self.catalog.drop_table(identifier)
        except (errors.NoSuchTableError, errors.NoSuchDatabaseError):
            return False
        cached_tables.renew(self.session)
        return True

    def purgeTable(self, ident: Ident) -> bool:
        return self.dropTable(ident)

    def renameTable(self, source: Ident, target: Ident) -> None:
        target = self._without_catalog(target)
        old, new = self._identifier(source), self._identifier(target)
        refuse_branches_and_system_tables(old, "renamed")
        refuse_branches_and_system_tables(new, "used as a new name")
        with self._analysis_error("TableAlreadyExists", target, errors.TableExistsError):
            with withdrawing(self.catalog, old):
                self._or_no_table(source, lambda: self.catalog.rename_table(old, new))
            shown_again(self.catalog, new)
        cached_tables.renew(self.session)

    def _schema(self, ident: Ident, definition: tuple[object, ...]) -> TableSchema:
        schema = schema_of_create(self.session, self.catalog, definition, self._name_options(ident))
        options.warn_of_ineffective(self.session, schema.options)
        return schema

    def _create(self, ident: Ident, schema: TableSchema) -> AnyTable:
        identifier = self._identifier(ident)

        def create() -> AnyTable:
            return self.catalog.create_any_table(identifier, self._placed(identifier, schema))

        with self._analysis_error("TableAlreadyExists", ident, errors.TableExistsError):
            return self._or_no_namespace(ident.namespace(), create)

    def _placed(self, identifier: Identifier, schema: TableSchema) -> TableSchema:
        """The schema of a new table, with a validated location."""
        return with_location(self.catalog, identifier, schema)

    def _replace(self, ident: Ident, definition: tuple[object, ...]) -> SchemaTable:
        identifier = self._identifier(ident)
        old = self.catalog.any_table(identifier)
        self._refuse_materialized(old, "replaced")
        schema = self._placed(identifier, self._schema(ident, definition))
        kind, shown = kind_of(schema), in_spark(self.session, old)
        if not kind.is_replacing:
            raise errors.UnsupportedError(
                f"{old.name} cannot be replaced by a materialized table.",
                remedy="DROP the table, and CREATE MATERIALIZED TABLE.",
            )
        keeps_history = kind is kind_of(old.schema) and shown.keeps_history(schema)
        if not self.catalog.replaces_definitions:
            if not isinstance(old, Table) or not keeps_history:
                raise errors.UnsupportedError(
                    f"{old.name} cannot be replaced by a table with other partition columns or of another type, and"
                    " format tables cannot be replaced: the catalog's server does not support that.",
                    remedy="DROP the table and CREATE it again.",
                )
            expected = replace(old, schema=replace(schema, id=old.schema.id + 1))
            return ServerReplacedTableProxy(self.session, expected, self.catalog, identifier)
        if keeps_history:
            return shown.replaced(schema, self.catalog, identifier)
        return self._create_successor(identifier, old, schema)

    def _create_successor(self, identifier: Identifier, old: AnyTable, schema: TableSchema) -> SchemaTable:
        """Create a successor, which replaces the old table when it is committed."""
        if not self.catalog.renames_tables:
            raise errors.UnsupportedError(
                f"{old.name} cannot be replaced by a table with other partition columns or of another type.",
                remedy="Delete the directory and create the table again.",
            )
        aside = temporary_name(identifier)
        successor = Successor(self.catalog, old, identifier, aside)
        table = replace(self.catalog.create_any_table(aside, schema), name=old.name)
        return in_spark(self.session, table).created(self.catalog, aside, successor)

    def _refuse_to_drop(self, identifier: Identifier) -> None:
        try:
            table = self.catalog.any_table(identifier)
        except (errors.NoSuchTableError, errors.NoSuchDatabaseError):
            raise
        except errors.PaimonError:
            return  # a damaged table can be dropped
        self._refuse_materialized(table, "dropped as a table")

    def _refuse_materialized(self, table: AnyTable, verb: str) -> None:
        if is_materialized(table.schema):
            raise errors.UnsupportedError(
                f"{table.name} is a materialized table and cannot be {verb}.",
                remedy="Use DROP MATERIALIZED TABLE, or CREATE OR ALTER MATERIALIZED TABLE to change its query.",
            )

    def _without_catalog(self, target: Ident) -> Ident:
        """The target of RENAME TO without the catalog's name, which Spark does not strip."""
        *namespace, name = unquoted_parts(target.toString())
        inside = len(namespace) == 2 and namespace[0] == self.catalog.name
        return self._ident(self.jvm.strings(namespace[1:]), name) if inside else target
