"""Views and functions of a catalog by name: what a catalog that keeps none answers."""

from __future__ import annotations

from collections.abc import Callable

from paimon_sql.catalog.identifier import Identifier, check_name
from paimon_sql.errors import (
    FunctionExistsError,
    InvalidInputError,
    NoSuchFunctionError,
    NoSuchViewError,
    TableExistsError,
    UnsupportedError,
    ViewExistsError,
)
from paimon_sql.format.catalog_objects.function import FunctionSchema
from paimon_sql.format.catalog_objects.view import ViewSchema


class DefinedObjects:
    """The views and functions of a catalog; views share their names with tables, functions have names of their own."""

    name: str

    def list_views(self, database: str) -> list[str]:
        """The names of a database's views, sorted; NoSuchDatabaseError if there is no such database."""
        return []

    def view_exists(self, identifier: Identifier) -> bool:
        """Whether there is such a view."""
        return False

    def view(self, identifier: Identifier) -> ViewSchema:
        """A view's definition; NoSuchViewError if there is none."""
        raise self._no_view(identifier)

    def create_view(self, identifier: Identifier, view: ViewSchema, *, replace: bool = False) -> None:
        """Make a view, or with ``replace`` put it in the place of another.

        Raises:
            ViewExistsError: there is one of that name, and it is not to be replaced.
            TableExistsError: there is a table of that name.
            NoSuchDatabaseError: there is no such database.
            UnsupportedError: the catalog keeps no views.
        """
        raise self._keeps_none("views")

    def alter_view(self, identifier: Identifier, change: Callable[[ViewSchema], ViewSchema]) -> ViewSchema:
        """Put what ``change`` makes of a view in its place; NoSuchViewError if there is none."""
        raise self._no_view(identifier)

    def drop_view(self, identifier: Identifier) -> None:
        """Remove a view; NoSuchViewError if there is none."""
        raise self._no_view(identifier)

    def rename_view(self, source: Identifier, target: Identifier) -> None:
        """Give a view another name or database.

        Raises:
            NoSuchViewError: there is no such view.
            ViewExistsError: there is a view of the other name.
            TableExistsError: there is a table of the other name.
        """
        raise self._no_view(source)

    def list_functions(self, database: str) -> list[str]:
        """The names of a database's functions, sorted; NoSuchDatabaseError if there is no such database."""
        return []

    def function_name(self, identifier: Identifier) -> str | None:
        """The name of a function as it is kept, which calls may write in any case; None if there is none."""
        return None

    def function(self, identifier: Identifier) -> FunctionSchema:
        """A function's definition; NoSuchFunctionError if there is none."""
        raise self._no_function(identifier)

    def create_function(self, identifier: Identifier, function: FunctionSchema, *, replace: bool = False) -> None:
        """Make a function, or with ``replace`` put it in the place of another.

        Raises:
            FunctionExistsError: there is one of that name, and it is not to be replaced.
            NoSuchDatabaseError: there is no such database.
            UnsupportedError: the catalog keeps no functions.
        """
        raise self._keeps_none("functions")

    def alter_function(
        self, identifier: Identifier, change: Callable[[FunctionSchema], FunctionSchema]
    ) -> FunctionSchema:
        """Put what ``change`` makes of a function in its place; NoSuchFunctionError if there is none."""
        raise self._no_function(identifier)

    def drop_function(self, identifier: Identifier) -> None:
        """Remove a function; NoSuchFunctionError if there is none."""
        raise self._no_function(identifier)

    def _no_view(self, identifier: Identifier) -> NoSuchViewError:
        named = f"{self.name}.{identifier}"
        return NoSuchViewError(
            f"View {named} does not exist.",
            name=named,
            remedy=f"SHOW VIEWS IN {self.name}.{identifier.database} lists what there is.",
        )

    def _no_function(self, identifier: Identifier) -> NoSuchFunctionError:
        named = f"{self.name}.{identifier}"
        return NoSuchFunctionError(
            f"Function {named} does not exist.",
            name=named,
            remedy=f"SHOW USER FUNCTIONS IN {self.name}.{identifier.database} lists what there is.",
        )

    def _check_view_name(self, identifier: Identifier) -> None:
        if "$" in identifier.object_name:
            raise InvalidInputError(
                f"'{identifier.object_name}' cannot be the name of a view.", remedy="A view's name has no $."
            )
        check_name(identifier.table, "view")

    def _taken_table(self, identifier: Identifier) -> TableExistsError:
        return TableExistsError(f"Table {self.name}.{identifier} already exists.", name=str(identifier))

    def _taken_by_view(self, identifier: Identifier) -> TableExistsError:
        return TableExistsError(f"View {self.name}.{identifier} already exists.", name=str(identifier))

    def _taken_view(self, identifier: Identifier) -> ViewExistsError:
        return ViewExistsError(f"View {self.name}.{identifier} already exists.", name=str(identifier))

    def _taken_function(self, identifier: Identifier) -> FunctionExistsError:
        return FunctionExistsError(f"Function {self.name}.{identifier} already exists.", name=str(identifier))

    def _keeps_none(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"Catalog {self.name} keeps no {what}.")
