"""JDBC catalog: its rows in a relational database are shared with Apache Paimon's `JdbcCatalog`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

from paimon_sql import errors
from paimon_sql.catalog.catalog import ALONE, Host
from paimon_sql.catalog.identifier import MAIN_BRANCH, SYSTEM_DATABASE, Identifier
from paimon_sql.catalog.jdbc.database import LONGEST_KEY, LONGEST_VALUE, Database, layout_of
from paimon_sql.catalog.jdbc.locks import JdbcLock, LockSettings
from paimon_sql.catalog.jdbc.records import EXISTS, NameExistsError, Records, ViewsInRecords
from paimon_sql.catalog.table_types import AnyTable, offered_kind
from paimon_sql.catalog.warehouse import registered_options, remove_first_schema
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import CATALOG_KEY, SYNC_ALL_PROPERTIES
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.metadata.catalog_environment import UNLOCKED, TableLock
from paimon_sql.storage.metadata.directories import check_no_history, drop_directory, move_directory

_LOCATION = "location"


class JdbcCatalog(ViewsInRecords):
    """Databases, tables and views are rows of a database; a table's files are in the warehouse.

    Rows are added after files and deleted before them, so that the files of a row are complete; `adopt` registers files
    without a row.
    """

    def __init__(self, name: str, options: Mapping[str, str], host: Host = ALONE) -> None:
        super().__init__(name, options, host)
        database = Database.of(name, options)
        self.records = Records(database, TableOptions(options).get(CATALOG_KEY))
        self.takes_locks = self._wants_locks()
        self._settings = LockSettings.of(database, self.records.catalog_key, options)
        self._synced = TableOptions(options).get(SYNC_ALL_PROPERTIES)
        layout_of(database.backend, self._settings.key_length).make(database, with_locks=self.takes_locks)

    def list_databases(self) -> list[str]:
        return self.records.databases()

    def database_exists(self, database: str) -> bool:
        return self.records.has_database(database)

    def database_properties(self, database: str) -> dict[str, str]:
        self._require(database)
        return {_LOCATION: self._database_path(database), **self.records.properties(database)}

    def create_database(self, database: str, properties: Mapping[str, str]) -> None:
        location = self._database_path(database)
        self._check_properties(database, properties)
        if database == SYSTEM_DATABASE or self.database_exists(database):
            raise self._taken_database(database)
        try:
            self.records.add_database(database, {_LOCATION: location, **properties})
        except NameExistsError:
            raise self._taken_database(database) from None

    def alter_database(self, database: str, changes: Mapping[str, str | None]) -> None:
        self._require(database)
        self._check_properties(database, changes)
        self.records.change_database(database, changes)

    def _drop_database(self, database: str, cascade: bool) -> None:
        for table in self.list_tables(database) if cascade else ():
            with suppress(errors.NoSuchTableError):
                self.drop_table(Identifier(database, table))
        self.records.drop_database(database)
        # Directories without a row are not deleted.
        self.file_io.delete_dir(self._database_path(database))

    def list_tables(self, database: str) -> list[str]:
        self._require(database)
        return self.records.tables(database)

    def table_exists(self, identifier: Identifier) -> bool:
        if not self.records.has_table(identifier.database, identifier.table):
            return False
        return identifier.branch == MAIN_BRANCH or self._schemas(identifier).latest() is not None

    def create_any_table(self, identifier: Identifier, schema: TableSchema) -> AnyTable:
        offered_kind(schema, self.name, self.options)
        self._require(identifier.database)
        with self._alone(identifier) as hold:
            self._refuse_taken(identifier)
            location = self.table_location(identifier)
            self._check_branches(schema, self.file_io, location)
            schemas, first = self._schemas(identifier), replace(schema, id=0)
            if not schemas.ids():
                check_no_history(self.file_io, location, f"{self.name}.{identifier}")
            if schemas.ids() or not schemas.try_add_under_lock(first, hold):
                raise self._unregistered(identifier, location)
            try:
                self.records.add_table(identifier.database, identifier.table, self._properties_of(first))
            except NameExistsError:
                raise self._taken_table(identifier) from None
            except BaseException:
                with suppress(errors.PaimonError):
                    # Unless the row was added after all.
                    if not self.records.has_table(identifier.database, identifier.table):
                        remove_first_schema(schemas, location)
                raise
        return self.any_table(identifier)

    def drop_table(self, identifier: Identifier) -> None:
        with self._alone(identifier):
            if not self.records.drop_table(identifier.database, identifier.table):
                self.any_table(identifier)  # raises what is missing
            drop_directory(self.file_io, self.table_location(identifier))

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        origin = self.any_table(source)
        self._require(target.database)
        names = (source.database, source.table), (target.database, target.table)
        with self._alone(source, target):
            self._refuse_taken(target)
            moved = False
            try:
                with self.records.renaming_table(*names) as exists:
                    if not exists:
                        raise errors.NoSuchTableError(f"Table {self.name}.{source} does not exist.", name=str(source))
                    moved = move_directory(self.file_io, origin.path, self.table_location(target))
                    if not moved:
                        raise self._taken_table(target)
            except NameExistsError:
                raise self._taken_table(target) from None
            except errors.CatalogUnavailableError:
                with suppress(errors.PaimonError):
                    if moved and self.records.has_table(source.database, source.table):
                        move_directory(self.file_io, self.table_location(target), origin.path)
                raise

    def alter_table(self, identifier: Identifier, change: Callable[[TableSchema], TableSchema]) -> TableSchema:
        changed = super().alter_table(identifier, change)
        if self._synced and identifier.branch == MAIN_BRANCH:
            self.records.set_table_properties(identifier.database, identifier.table, self._properties_of(changed))
        return changed

    def _adopted(self, identifier: Identifier, *, dry_run: bool) -> str | None:
        schema = self._schemas(identifier).latest()
        properties = {} if schema is None else self._properties_of(schema)
        if not self.records.has_table(identifier.database, identifier.table):
            if not dry_run:
                with suppress(NameExistsError):
                    self.records.add_table(identifier.database, identifier.table, properties)
            return "it was registered; its files were in the warehouse, but not in the catalog."
        stored = self.records.table_properties(identifier.database, identifier.table)
        if not self._synced or stored == self.records.kept_of(properties):
            return None
        if not dry_run:
            self.records.set_table_properties(identifier.database, identifier.table, properties)
        return "its options in the catalog's database were corrected."

    def _schema(self, identifier: Identifier) -> TableSchema | None:
        if not self.records.has_table(identifier.database, identifier.table):
            return None
        found = self._schemas(identifier).latest()
        # While a table is renamed, dropped or created its row may exist briefly without its files.
        if found is None and identifier.branch == MAIN_BRANCH:
            if not self.records.has_table(identifier.database, identifier.table):
                return None
            raise errors.CorruptFileError(
                f"the catalog has a table {self.name}.{identifier}, but its files are missing",
                path=self.table_location(identifier),
                remedy="Restore them from a copy, or DROP TABLE.",
            )
        return found

    def _lock(self, identifier: Identifier) -> TableLock:
        if not self.takes_locks:
            return UNLOCKED
        return JdbcLock(self._settings, Identifier(identifier.database, identifier.table))

    def _refuse_taken(self, identifier: Identifier) -> None:
        self._refuse_names(identifier)
        if self.records.has_table(identifier.database, identifier.table):
            raise self._taken_table(identifier)

    def _properties_of(self, schema: TableSchema) -> dict[str, str]:
        """The properties in rows by a table's schema."""
        return registered_options(schema) if self._synced else {}

    def _check_properties(self, database: str, properties: Mapping[str, str | None]) -> None:
        for key, value in properties.items():
            if key == EXISTS:
                raise errors.InvalidInputError(f"Database {database}: the property '{key}' is reserved by the catalog.")
            if key == _LOCATION and value != self._database_path(database):
                raise errors.InvalidInputError(
                    f"Database {database}: a JDBC catalog supports databases only in its warehouse.",
                    remedy="Leave LOCATION out.",
                )
            if len(key) > LONGEST_KEY or len(value or "") > LONGEST_VALUE:
                raise errors.InvalidInputError(
                    f"Database {database}: the property '{key[:40]}' is too long.",
                    remedy=f"The limits are {LONGEST_KEY} characters for a key and {LONGEST_VALUE} for a value.",
                )
