"""The views and functions of a filesystem catalog."""

from __future__ import annotations

from collections.abc import Callable

from paimon_sql.catalog.filesystem.definitions import Definitions
from paimon_sql.catalog.identifier import Identifier, check_name
from paimon_sql.catalog.warehouse import WarehouseCatalog
from paimon_sql.format.catalog_objects.function import FunctionSchema, parse_function
from paimon_sql.format.catalog_objects.view import ViewSchema, parse_view

VIEWS_FOLDER = "_views"
FUNCTIONS_FOLDER = "_functions"


class DefinitionsInFiles(WarehouseCatalog):
    """Views and functions as files of their database's folder; two who change one at a time, the later one wins."""

    def list_views(self, database: str) -> list[str]:
        self._require(database)
        return self._views(database).names()

    def view_exists(self, identifier: Identifier) -> bool:
        return _is_plain(identifier) and self._views(identifier.database).exists(identifier.table)

    def view(self, identifier: Identifier) -> ViewSchema:
        found = self._views(identifier.database).get(identifier.table) if _is_plain(identifier) else None
        if found is None:
            raise self._no_view(identifier)
        return found

    def create_view(self, identifier: Identifier, view: ViewSchema, *, replace: bool = False) -> None:
        self._check_new(identifier)
        views = self._views(identifier.database)
        if replace:
            views.put(identifier.table, view)
        elif not views.add(identifier.table, view):
            raise self._taken_view(identifier)

    def alter_view(self, identifier: Identifier, change: Callable[[ViewSchema], ViewSchema]) -> ViewSchema:
        changed = change(self.view(identifier))
        self._views(identifier.database).put(identifier.table, changed)
        return changed

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
        return next((n for n in functions.names() if n.lower() == name.lower()), None)

    def function(self, identifier: Identifier) -> FunctionSchema:
        name = self.function_name(identifier)
        found = None if name is None else self._functions(identifier.database).get(name)
        if found is None:
            raise self._no_function(identifier)
        return found

    def create_function(self, identifier: Identifier, function: FunctionSchema, *, replace: bool = False) -> None:
        self._require(identifier.database)
        functions = self._functions(identifier.database)
        name = self.function_name(identifier)
        if replace:
            functions.put(name or check_name(identifier.object_name, "function"), function)
        elif name is not None or not functions.add(check_name(identifier.object_name, "function"), function):
            raise self._taken_function(identifier)

    def alter_function(
        self, identifier: Identifier, change: Callable[[FunctionSchema], FunctionSchema]
    ) -> FunctionSchema:
        changed = change(self.function(identifier))
        self._functions(identifier.database).put(self.function_name(identifier) or identifier.object_name, changed)
        return changed

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
    """Whether a name is neither a branch's nor a system table's."""
    return "$" not in identifier.object_name
