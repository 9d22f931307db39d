"""The catalog that is a folder: ``<warehouse>/<database>.db/<table>/schema/schema-N``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from paimon_sql.catalog.filesystem_definitions import FUNCTIONS_FOLDER, VIEWS_FOLDER, DefinitionsInFiles
from paimon_sql.catalog.identifier import MAIN_BRANCH, Identifier, check_name
from paimon_sql.catalog.kinds import KINDS, AnyTable, offered_kind
from paimon_sql.errors import (
    DatabaseExistsError,
    DatabaseNotEmptyError,
    InvalidInputError,
    InvalidOptionError,
    NoSuchDatabaseError,
    NoSuchTableError,
    PaimonError,
    TableExistsError,
    UnsupportedError,
)
from paimon_sql.format.options.catalog import MAINTENANCE_RUNS_RETAINED
from paimon_sql.format.options.table import TYPE
from paimon_sql.format.paths import TablePaths
from paimon_sql.format.schema import TableSchema
from paimon_sql.storage.branches import BranchManager
from paimon_sql.storage.branching import check_named_branches
from paimon_sql.storage.file_io import FileIO, file_io_of
from paimon_sql.storage.maintenance_runs import RunLog
from paimon_sql.storage.schemas import SchemaManager
from paimon_sql.storage.table import Table
from paimon_sql.storage.threads import spread

_DATABASE_SUFFIX = ".db"
_RUNS_FOLDER = "_maintenance_runs"
_THREADS = 8


def absolute_warehouse(warehouse: str | os.PathLike[str]) -> str:
    """A warehouse's folder or URI as it is kept: a folder gets its full path, so that it stays the same everywhere."""
    text = os.fspath(warehouse)
    return text if ":" in text.split("/", 1)[0] else str(Path(text).expanduser().absolute())


class FileSystemCatalog(DefinitionsInFiles):
    """Databases are folders of the warehouse, tables folders of those; nothing else is kept about them.

    Views and functions are files in two more folders of their database.
    """

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        super().__init__(name, options)
        warehouse = self.options.get("warehouse", "").rstrip("/")
        if not warehouse:
            raise InvalidOptionError(
                f"Catalog {name} has no warehouse.",
                key="warehouse",
                remedy=f"Set spark.sql.catalog.{name}.warehouse to a folder.",
            )
        self.warehouse = warehouse
        self.file_io: FileIO = file_io_of(warehouse, self.options)
        kept = self.options.get(MAINTENANCE_RUNS_RETAINED.key, MAINTENANCE_RUNS_RETAINED.default_text or "0")
        retained = MAINTENANCE_RUNS_RETAINED.read(kept)
        self.run_log = RunLog(self.file_io, f"{warehouse}/{_RUNS_FOLDER}", name, retained)

    def list_databases(self) -> list[str]:
        found = self.file_io.list(self.warehouse)
        return sorted(s.name.removesuffix(_DATABASE_SUFFIX) for s in found if s.is_dir and _is_database(s.name))

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
        held = {
            "tables": self.list_tables(database),
            "views": self.list_views(database),
            "functions": self.list_functions(database),
        }
        for what, names in held.items():
            if names and not cascade:
                raise DatabaseNotEmptyError(
                    f"Database {database} still holds {len(names)} {what}, {names[0]} among them.",
                    remedy="Drop them first, or say CASCADE.",
                )
        self.file_io.delete_dir(self._database_path(database), recursive=True)

    def list_tables(self, database: str) -> list[str]:
        self._require(database)
        path = self._database_path(database)
        folders = [s for s in self.file_io.list(path) if s.is_dir]
        threads = _THREADS if self.file_io.is_object_store(path) else 1
        are_tables = spread(lambda s: self._is_shown(SchemaManager(self.file_io, s.path)), folders, threads)
        return sorted(s.name for s, is_table in zip(folders, are_tables, strict=True) if is_table)

    def table_exists(self, identifier: Identifier) -> bool:
        return self._latest_schema(self._root(identifier)) is not None

    def any_table(self, identifier: Identifier) -> AnyTable:
        schema = self._latest_schema(self._root(identifier))
        own = replace(identifier, system_table=None)
        if schema is None:
            what = f"Branch {own.branch} of table" if own.branch != MAIN_BRANCH else "Table"
            named = f"{self.name}.{own.database}.{own.table}"
            if self.view_exists(Identifier(own.database, own.table)):
                raise NoSuchTableError(f"{named} is a view and no table.", name=named)
            raise NoSuchTableError(f"{what} {named} does not exist.", name=named)
        kind = offered_kind(schema, self.name, self.options)
        found = Table(
            name=f"{self.name}.{own}",
            path=self._table_path(identifier),
            file_io=self.file_io,
            schema=schema,
            branch=identifier.branch,
            run_log=self.run_log,
        )
        return kind.opened(found, self.options)

    def create_any_table(self, identifier: Identifier, schema: TableSchema) -> AnyTable:
        offered_kind(schema, self.name, self.options)
        self._require(identifier.database)
        self._refuse_view(identifier)
        check_named_branches(schema, BranchManager(self.file_io, TablePaths(self._table_path(identifier))))
        manager = SchemaManager(self.file_io, self._root(identifier))
        if manager.latest() is not None or not manager.try_add(replace(schema, id=0)):
            raise TableExistsError(f"Table {self.name}.{identifier} already exists.", name=str(identifier))
        return self.any_table(identifier)

    def drop_table(self, identifier: Identifier) -> None:
        if not SchemaManager(self.file_io, self._root(identifier)).ids():
            self.any_table(identifier)  # which says what is missing
        self.file_io.delete_dir(self._table_path(identifier), recursive=True)

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        origin = self.any_table(source)
        self._require(target.database)
        self._refuse_view(target)
        if self.table_exists(target) or not self.file_io.rename(origin.path, self._table_path(target)):
            raise TableExistsError(f"Table {self.name}.{target} already exists.", name=str(target))

    def _is_shown(self, schemas: SchemaManager) -> bool:
        """Whether a folder with such schemas is a table that this catalog has."""
        # A table whose schema cannot be read is still there, to be repaired or dropped.
        ids = schemas.ids()
        if not ids or all(kind.is_offered(self.options) for kind in KINDS.values()):
            return bool(ids)
        try:
            name = schemas.get(ids[-1]).options.get(TYPE.key, "table")
        except PaimonError:
            return True
        return name not in KINDS or KINDS[name].is_offered(self.options)

    def _require(self, database: str) -> None:
        if not self.database_exists(database):
            raise NoSuchDatabaseError(f"Database {database} does not exist in catalog {self.name}.", name=database)

    def _latest_schema(self, root: str) -> TableSchema | None:
        return SchemaManager(self.file_io, root).latest()

    def _database_path(self, database: str) -> str:
        return f"{self.warehouse}/{check_name(database, 'database')}{_DATABASE_SUFFIX}"

    def _refuse_view(self, identifier: Identifier) -> None:
        if identifier.table in (VIEWS_FOLDER, FUNCTIONS_FOLDER):
            raise InvalidInputError(f"{identifier.table} cannot be the name of a table: the catalog needs it itself.")
        if self.view_exists(identifier):
            raise TableExistsError(f"View {self.name}.{identifier} already exists.", name=str(identifier))

    def _table_path(self, identifier: Identifier) -> str:
        return f"{self._database_path(identifier.database)}/{check_name(identifier.table, 'table')}"

    def _root(self, identifier: Identifier) -> str:
        path = self._table_path(identifier)
        return path if identifier.branch == MAIN_BRANCH else f"{path}/branch/branch-{identifier.branch}"


def _is_database(folder: str) -> bool:
    return folder.endswith(_DATABASE_SUFFIX) and len(folder) > len(_DATABASE_SUFFIX)
