"""Catalog objects: views and functions by name, with the implementation for a catalog that has none."""

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
    """The views and functions of a catalog; views share a namespace with tables, functions do not."""

    name: str

    def list_views(self, database: str) -> list[str]:
        """The names of a database's views, sorted; NoSuchDatabaseError if the database does not exist."""
        return []

    def view_exists(self, identifier: Identifier) -> bool:
        """Whether a view exists."""
        return False

    def view(self, identifier: Identifier) -> ViewSchema:
        """The definition of a view; NoSuchViewError if it does not exist."""
        raise self._no_view(identifier)

    def create_view(self, identifier: Identifier, view: ViewSchema, *, replace: bool = False) -> None:
        """Create a view, or with ``replace`` replace an existing one.

        Raises:
            ViewExistsError: it exists, and ``replace`` is False.
            TableExistsError: a table of that name exists.
            NoSuchDatabaseError: the database does not exist.
            UnsupportedError: the catalog has no views.
        """
        raise self._keeps_none("views")

    def alter_view(self, identifier: Identifier, change: Callable[[ViewSchema], ViewSchema]) -> ViewSchema:
        """Replace a view by the result of ``change``; NoSuchViewError if it does not exist."""
        raise self._no_view(identifier)

    def drop_view(self, identifier: Identifier) -> None:
        """Drop a view; NoSuchViewError if it does not exist."""
        raise self._no_view(identifier)

    def rename_view(self, source: Identifier, target: Identifier) -> None:
        """Rename a view, also to another database.

        Raises:
            NoSuchViewError: it does not exist.
            ViewExistsError: a view of the new name exists.
            TableExistsError: a table of the new name exists.
        """
        raise self._no_view(source)

    def list_functions(self, database: str) -> list[str]:
        """The names of a database's functions, sorted; NoSuchDatabaseError if the database does not exist."""
        return []

    def function_name(self, identifier: Identifier) -> str | None:
        """The name of a function as stored, by its name in any case; None if it does not exist."""
        return None

    def function(self, identifier: Identifier) -> FunctionSchema:
        """The definition of a function; NoSuchFunctionError if it does not exist."""
        raise self._no_function(identifier)

    def create_function(self, identifier: Identifier, function: FunctionSchema, *, replace: bool = False) -> None:
        """Create a function, or with ``replace`` replace an existing one.

        Raises:
            FunctionExistsError: it exists, and ``replace`` is False.
            NoSuchDatabaseError: the database does not exist.
            UnsupportedError: the catalog has no functions.
        """
        raise self._keeps_none("functions")

    def alter_function(
        self, identifier: Identifier, change: Callable[[FunctionSchema], FunctionSchema]
    ) -> FunctionSchema:
        """Replace a function by the result of ``change``; NoSuchFunctionError if it does not exist."""
        raise self._no_function(identifier)

    def drop_function(self, identifier: Identifier) -> None:
        """Drop a function; NoSuchFunctionError if it does not exist."""
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
