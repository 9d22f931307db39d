"""Filesystem catalog: tables are directories, views and functions JSON files (Paimon: `FileSystemCatalog`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Generic, TypeVar

from paimon_sql.catalog.identifier import Identifier, check_name
from paimon_sql.catalog.table_types import AnyTable, offered_kind
from paimon_sql.catalog.warehouse import WarehouseCatalog
from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.schema.catalog_objects import FunctionSchema, ViewSchema, parse_function, parse_view
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.metadata.directories import check_no_history, drop_directory, is_being_moved, move_directory

_SUFFIX = ".json"


T = TypeVar("T", ViewSchema, FunctionSchema)


class Definitions(Generic[T]):
    """The definitions of one kind in a database.

    Args:
        file_io: the catalog's file system.
        folder: their directory.
        parse: parses one from its file's content and path.
    """

    def __init__(self, file_io: FileIO, folder: str, parse: Callable[[bytes, str], T]) -> None:
        self._file_io = file_io
        self._directory = folder
        self._parse: Callable[[bytes, str], T] = parse

    def names(self) -> list[str]:
        """All names, sorted."""
        found = self._file_io.list(self._directory)
        return sorted(s.name.removesuffix(_SUFFIX) for s in found if not s.is_dir and s.name.endswith(_SUFFIX))

    def get(self, name: str) -> T | None:
        """The definition of that name; None without one."""
        path = self._path(name)
        return self._parse(self._file_io.read_bytes(path), path) if self._file_io.exists(path) else None

    def exists(self, name: str) -> bool:
        """Whether a definition of that name exists."""
        return self._file_io.exists(self._path(name))

    def add(self, name: str, definition: T) -> bool:
        """Add a definition; False if one of that name exists."""
        return self._file_io.try_create_exclusive(self._path(name), definition.to_json().encode())

    def put(self, name: str, definition: T) -> None:
        """Add or replace a definition."""
        self._file_io.write_durably(self._path(name), definition.to_json().encode())

    def drop(self, name: str) -> bool:
        """Delete a definition; False if none of that name exists."""
        return self._file_io.delete_durably(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._directory}/{name}{_SUFFIX}"


VIEWS_FOLDER = "_views"
FUNCTIONS_FOLDER = "_functions"


class DefinitionsInFiles(WarehouseCatalog):
    """Views and functions as files of their database's directory; of concurrent changes the last one wins."""

    def list_views(self, database: str) -> list[str]:
        self._require(database)
        return self._views(database).names()

    def view_exists(self, identifier: Identifier) -> bool:
        return _is_plain(identifier) and self._views(identifier.database).exists(identifier.table)

    def _find_view(self, identifier: Identifier) -> ViewSchema | None:
        return self._views(identifier.database).get(identifier.table) if _is_plain(identifier) else None

    def create_view(self, identifier: Identifier, view: ViewSchema, *, replace: bool = False) -> None:
        self._check_new(identifier)
        views = self._views(identifier.database)
        if replace:
            views.put(identifier.table, view)
        elif not views.add(identifier.table, view):
            raise self._taken_view(identifier)

    def _change_view(self, identifier: Identifier, before: ViewSchema, after: ViewSchema) -> None:
        self._views(identifier.database).put(identifier.table, after)

    def drop_view(self, identifier: Identifier) -> None:
        if not _is_plain(identifier) or not self._views(identifier.database).drop(identifier.table):
            raise self._no_view(identifier)

    def rename_view(self, source: Identifier, target: Identifier) -> None:
        view = self.view(source)
        self._check_new(target)
        if not self._views(target.database).add(target.table, view):
            raise self._taken_view(target)
        self._views(source.database).drop(source.table)

    def list_functions(self, database: str) -> list[str]:
        self._require(database)
        return self._functions(database).names()

    def function_name(self, identifier: Identifier) -> str | None:
        functions, name = self._functions(identifier.database), identifier.object_name
        if functions.exists(name):
            return name
        # Not by `list_functions`, which refuses a missing database.
        return next((n for n in functions.names() if n.lower() == name.lower()), None)

    def _find_function(self, identifier: Identifier, name: str) -> FunctionSchema | None:
        return self._functions(identifier.database).get(name)

    def create_function(self, identifier: Identifier, function: FunctionSchema, *, replace: bool = False) -> None:
        self._require(identifier.database)
        functions = self._functions(identifier.database)
        name = self.function_name(identifier)
        if replace:
            functions.put(name or check_name(identifier.object_name, "function"), function)
        elif name is not None or not functions.add(check_name(identifier.object_name, "function"), function):
            raise self._taken_function(identifier)

    def _change_function(
        self, identifier: Identifier, name: str, before: FunctionSchema, after: FunctionSchema
    ) -> None:
        self._functions(identifier.database).put(name, after)

    def drop_function(self, identifier: Identifier) -> None:
        name = self.function_name(identifier)
        if name is None or not self._functions(identifier.database).drop(name):
            raise self._no_function(identifier)

    def _check_new(self, identifier: Identifier) -> None:
        self._require(identifier.database)
        self._check_view_name(identifier)
        if self.table_exists(identifier):
            raise self._taken_table(identifier)

    def _views(self, database: str) -> Definitions[ViewSchema]:
        return Definitions(self.file_io, f"{self._database_path(database)}/{VIEWS_FOLDER}", parse_view)

    def _functions(self, database: str) -> Definitions[FunctionSchema]:
        return Definitions(self.file_io, f"{self._database_path(database)}/{FUNCTIONS_FOLDER}", parse_function)


def _is_plain(identifier: Identifier) -> bool:
    """Whether a name has neither branch nor system table."""
    return "$" not in identifier.object_name


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
            raise self._taken_database(database)
        if "location" in properties:
            raise InvalidInputError(
                f"Database {database}: a filesystem catalog does not support LOCATION.", remedy="Leave LOCATION out."
            )
        self.file_io.mkdirs(self._database_path(database))

    def alter_database(self, database: str, changes: Mapping[str, str | None]) -> None:
        self._require(database)
        raise UnsupportedError(
            f"Database {database} cannot have {', '.join(sorted(changes))}: a filesystem catalog stores no"
            " properties of databases.",
            remedy="Set comments and properties of its tables.",
        )

    def _drop_database(self, database: str, cascade: bool) -> None:
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
        self._check_branches(schema, self.file_io, self.table_location(identifier))
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
            raise InvalidInputError(f"{identifier.table} cannot be the name of a table: it is reserved by the catalog.")
        self._refuse_names(identifier)
