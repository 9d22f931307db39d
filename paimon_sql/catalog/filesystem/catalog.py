"""Filesystem catalog: its databases and tables are the directories of the warehouse (Paimon: `FileSystemCatalog`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from paimon_sql.catalog.filesystem.objects import FUNCTIONS_FOLDER, VIEWS_FOLDER, DefinitionsInFiles
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.table_types import AnyTable, offered_kind
from paimon_sql.errors import (
    DatabaseExistsError,
    InvalidInputError,
    UnsupportedError,
)
from paimon_sql.format.layout.paths import TablePaths
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.branches.management import check_named_branches
from paimon_sql.storage.metadata.directories import check_no_history, drop_directory, is_being_moved, move_directory
from paimon_sql.storage.metadata.refs.branches import BranchManager


class FileSystemCatalog(DefinitionsInFiles):
    """Databases are directories of the warehouse, and tables directories of these; nothing else is stored.

    Views and functions are files in two more directories of their database.
    """

    def list_databases(self) -> list[str]:
        return self._database_folders()

    def database_exists(self, database: str) -> bool:
        return self.file_io.exists(self._database_path(database))

    def database_properties(self, database: str) -> dict[str, str]:
        self._require(database)
        return {"location": self._database_path(database)}

    def create_database(self, database: str, properties: Mapping[str, str]) -> None:
        if self.database_exists(database):
            raise DatabaseExistsError(f"Database {database} already exists in catalog {self.name}.", name=database)
        if "location" in properties:
            raise InvalidInputError(
                f"Database {database}: a filesystem catalog cannot place a database elsewhere.",
                remedy="Leave LOCATION out.",
            )
        self.file_io.mkdirs(self._database_path(database))

    def alter_database(self, database: str, changes: Mapping[str, str | None]) -> None:
        self._require(database)
        raise UnsupportedError(
            f"Database {database} cannot take {', '.join(sorted(changes))}: in a filesystem catalog a database is a"
            " folder, about which nothing is kept.",
            remedy="Give comments and properties to the tables in it.",
        )

    def drop_database(self, database: str, cascade: bool) -> None:
        self._require(database)
        if not cascade:
            self._refuse_held(database)
        self.file_io.delete_dir(self._database_path(database), recursive=True)
        self.file_io.sync_directory(self.warehouse)

    def list_tables(self, database: str) -> list[str]:
        self._require(database)
        return self._table_folders(database)

    def table_exists(self, identifier: Identifier) -> bool:
        return self._schema(identifier) is not None

    def create_any_table(self, identifier: Identifier, schema: TableSchema) -> AnyTable:
        offered_kind(schema, self.name, self.options)
        self._require(identifier.database)
        self._refuse_view(identifier)
        check_named_branches(schema, BranchManager(self.file_io, TablePaths(self.table_location(identifier))))
        manager, location = self._schemas(identifier), self.table_location(identifier)
        if not manager.ids():
            check_no_history(self.file_io, location, f"{self.name}.{identifier}")
        if manager.latest() is not None or not manager.try_add(replace(schema, id=0)):
            raise self._taken_table(identifier)
        return self.any_table(identifier)

    def drop_table(self, identifier: Identifier) -> None:
        if not self._schemas(identifier).ids():
            self.any_table(identifier)  # raises what is missing
        drop_directory(self.file_io, self.table_location(identifier))

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        location = self.table_location(target)
        is_begun = is_being_moved(self.file_io, location)
        if not is_begun:
            self.any_table(source)  # raises what is missing
        self._require(target.database)
        self._refuse_view(target)
        if self.table_exists(target) and not is_begun:
            raise self._taken_table(target)
        if not move_directory(self.file_io, self.table_location(source), location):
            raise self._taken_table(target)

    def _schema(self, identifier: Identifier) -> TableSchema | None:
        return self._schemas(identifier).latest()

    def _refuse_view(self, identifier: Identifier) -> None:
        if identifier.table in (VIEWS_FOLDER, FUNCTIONS_FOLDER):
            raise InvalidInputError(f"{identifier.table} cannot be the name of a table: the catalog needs it itself.")
        self._refuse_names(identifier)
