"""Base class of catalogs: databases, tables, views and functions by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar

from paimon_sql import errors
from paimon_sql.catalog.identifier import MAIN_BRANCH, Identifier, check_name
from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.format.layout.paths import TablePaths
from paimon_sql.format.schema.catalog_objects import FunctionSchema, ViewSchema
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.branches.selection import check_named_branches
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.iceberg import publish_quietly
from paimon_sql.storage.materialized.definition import is_materialized
from paimon_sql.storage.metadata.catalog_environment import MaintenanceLog
from paimon_sql.storage.metadata.refs.branches import BranchManager
from paimon_sql.storage.table.table import Table


class DefinedObjects:
    """The views and functions of a catalog; views share a namespace with tables, functions do not."""

    name: str

    def list_views(self, database: str) -> list[str]:
        """The names of a database's views, sorted; NoSuchDatabaseError if the database does not exist."""
        return []

    def view_exists(self, identifier: Identifier) -> bool:
        """Whether a view exists."""
        return self._find_view(identifier) is not None

    def view(self, identifier: Identifier) -> ViewSchema:
        """The definition of a view; NoSuchViewError if it does not exist."""
        found = self._find_view(identifier)
        if found is None:
            raise self._no_view(identifier)
        return found

    def _find_view(self, identifier: Identifier) -> ViewSchema | None:
        """The definition of a view; None if it does not exist."""
        return None

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
        found = self.view(identifier)
        changed = change(found)
        self._change_view(identifier, found, changed)
        return changed

    def _change_view(self, identifier: Identifier, before: ViewSchema, after: ViewSchema) -> None:
        """Replace the definition of an existing view."""
        raise self._keeps_none("views")

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
        names, name = self.list_functions(identifier.database), identifier.object_name
        return name if name in names else next((n for n in names if n.lower() == name.lower()), None)

    def function(self, identifier: Identifier) -> FunctionSchema:
        """The definition of a function; NoSuchFunctionError if it does not exist."""
        name = self.function_name(identifier)
        found = None if name is None else self._find_function(identifier, name)
        if found is None:
            raise self._no_function(identifier)
        return found

    def _find_function(self, identifier: Identifier, name: str) -> FunctionSchema | None:
        """The definition of a function by its stored name; None if it does not exist."""
        return None

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
        found = self.function(identifier)
        changed = change(found)
        self._change_function(identifier, self.function_name(identifier) or identifier.object_name, found, changed)
        return changed

    def _change_function(
        self, identifier: Identifier, name: str, before: FunctionSchema, after: FunctionSchema
    ) -> None:
        """Replace the definition of an existing function, by its stored name."""
        raise self._keeps_none("functions")

    def drop_function(self, identifier: Identifier) -> None:
        """Drop a function; NoSuchFunctionError if it does not exist."""
        raise self._no_function(identifier)

    def _no_view(self, identifier: Identifier) -> errors.NoSuchViewError:
        named = f"{self.name}.{identifier}"
        return errors.NoSuchViewError(
            f"View {named} does not exist.",
            name=named,
            remedy=f"SHOW VIEWS IN {self.name}.{identifier.database} lists the existing views.",
        )

    def _no_function(self, identifier: Identifier) -> errors.NoSuchFunctionError:
        named = f"{self.name}.{identifier}"
        return errors.NoSuchFunctionError(
            f"Function {named} does not exist.",
            name=named,
            remedy=f"SHOW USER FUNCTIONS IN {self.name}.{identifier.database} lists the existing ones.",
        )

    def _check_view_name(self, identifier: Identifier) -> None:
        if "$" in identifier.object_name:
            raise errors.InvalidInputError(
                f"'{identifier.object_name}' cannot be the name of a view.", remedy="Names of views cannot contain $."
            )
        check_name(identifier.table, "view")

    def _taken_table(self, identifier: Identifier) -> errors.TableExistsError:
        return errors.TableExistsError(f"Table {self.name}.{identifier} already exists.", name=str(identifier))

    def _taken_by_view(self, identifier: Identifier) -> errors.TableExistsError:
        return errors.TableExistsError(f"View {self.name}.{identifier} already exists.", name=str(identifier))

    def _taken_view(self, identifier: Identifier) -> errors.ViewExistsError:
        return errors.ViewExistsError(f"View {self.name}.{identifier} already exists.", name=str(identifier))

    def _taken_function(self, identifier: Identifier) -> errors.FunctionExistsError:
        return errors.FunctionExistsError(f"Function {self.name}.{identifier} already exists.", name=str(identifier))

    def _keeps_none(self, what: str) -> errors.UnsupportedError:
        return errors.UnsupportedError(f"Catalog {self.name} does not support {what}.")


def opened_or_suggested(catalog: Catalog, identifier: Identifier) -> AnyTable:
    """Open a table of any type; for a name that someone typed.

    Raises:
        NoSuchTableError: it does not exist; the remedy shows a similar name.
        UnsupportedError: as `Catalog.any_table`.
    """
    try:
        return catalog.any_table(identifier)
    except (errors.NoSuchTableError, errors.NoSuchDatabaseError) as error:
        with suppress(errors.PaimonError):
            error.remedy = error.remedy or _suggestion(catalog, identifier)
        raise


def _suggestion(catalog: Catalog, identifier: Identifier) -> str | None:
    try:
        return errors.did_you_mean(identifier.table, catalog.list_tables(identifier.database))
    except errors.NoSuchDatabaseError:
        return errors.did_you_mean(identifier.database, catalog.list_databases())


def _is_free(identifier: Identifier) -> bool:
    return False


@dataclass(frozen=True)
class Host:
    """What the program that opens a catalog provides.

    Attributes:
        executor: the executor of large scan plans; None to compute them in the process.
        is_used_outside: whether a name belongs to a table outside of the catalog, which excludes a table of that name.
    """

    executor: Executor | None = None
    is_used_outside: Callable[[Identifier], bool] = _is_free


ALONE = Host()
"""A process without executors, and without tables outside of the catalog."""


class Catalog(DefinedObjects, ABC):
    """Databases with their tables, views and functions (Paimon: `Catalog`).

    Args:
        name: the catalog's name in SQL.
        options: the catalog's options, ``warehouse`` included.

    Attributes:
        keeps_owners: whether it stores the owners of databases.
        stores_locations: whether it stores the location of each table, so that new ones may be anywhere.
        run_log: the log of maintenance runs of its tables; None for a catalog without one.
        host: what the program that opened it provides.
        replaces_definitions: whether REPLACE TABLE writes the new schema itself; otherwise `replace_table` does.
        renames_tables: whether tables can be renamed.
    """

    stores_locations: ClassVar[bool] = False
    keeps_owners: ClassVar[bool] = False
    replaces_definitions: ClassVar[bool] = True
    renames_tables: ClassVar[bool] = True

    def __init__(self, name: str, options: Mapping[str, str], host: Host = ALONE) -> None:
        self.name = name
        self.options = dict(options)
        self.run_log: MaintenanceLog | None = None
        self.host = host

    def identifier_of(self, name: str) -> Identifier | None:
        """The table of a whole name if the catalog has its own form of names; None if names are ``database.table``."""
        return None

    @abstractmethod
    def list_databases(self) -> list[str]:
        """The names of all databases, sorted."""

    @abstractmethod
    def database_exists(self, database: str) -> bool:
        """Whether a database of that name exists."""

    @abstractmethod
    def database_properties(self, database: str) -> dict[str, str]:
        """The properties of a database, ``location`` included; NoSuchDatabaseError if it does not exist."""

    @abstractmethod
    def create_database(self, database: str, properties: Mapping[str, str]) -> None:
        """Create a database; DatabaseExistsError if it exists."""

    @abstractmethod
    def alter_database(self, database: str, changes: Mapping[str, str | None]) -> None:
        """Change the properties of a database: new values by name, None to remove one.

        Raises:
            NoSuchDatabaseError: the database does not exist.
            UnsupportedError: the catalog stores no properties of databases.
        """

    def drop_database(self, database: str, cascade: bool) -> None:
        """Drop a database; NoSuchDatabaseError, or DatabaseNotEmptyError unless it is empty or ``cascade``."""
        self._require(database)
        if not cascade:
            self._refuse_held(database)
        self._drop_database(database, cascade)

    @abstractmethod
    def _drop_database(self, database: str, cascade: bool) -> None:
        """Drop an existing database, with ``cascade`` also what it contains."""

    def _require(self, database: str) -> None:
        """Raise NoSuchDatabaseError unless the database exists."""
        if not self.database_exists(database):
            raise self._no_database(database)

    def _no_database(self, database: str) -> errors.NoSuchDatabaseError:
        return errors.NoSuchDatabaseError(f"Database {database} does not exist in catalog {self.name}.", name=database)

    def _taken_database(self, database: str) -> errors.DatabaseExistsError:
        return errors.DatabaseExistsError(f"Database {database} already exists in catalog {self.name}.", name=database)

    def _held(self, database: str) -> Mapping[str, Sequence[str]]:
        """The names of the contents that prevent a drop of the database, by kind."""
        return {
            "tables": self.list_tables(database),
            "views": self.list_views(database),
            "functions": self.list_functions(database),
        }

    def _refuse_held(self, database: str) -> None:
        """Raise DatabaseNotEmptyError if a database has contents."""
        for kind, names in self._held(database).items():
            if names:
                raise errors.DatabaseNotEmptyError(
                    f"Database {database} is not empty: it contains {len(names)} {kind}, including {names[0]}.",
                    remedy="Drop them first, or use CASCADE.",
                )

    def _no_table(self, identifier: Identifier) -> errors.NoSuchTableError:
        """The error for a table or branch that does not exist, or is a view."""
        named, branch = f"{self.name}.{identifier.database}.{identifier.table}", identifier.branch
        if self.view_exists(Identifier(identifier.database, identifier.table)):
            return errors.NoSuchTableError(f"{named} is a view, not a table.", name=named)
        what = f"Branch {branch} of table" if branch != MAIN_BRANCH else "Table"
        return errors.NoSuchTableError(f"{what} {named} does not exist.", name=named)

    def _check_branches(self, schema: TableSchema, file_io: FileIO, location: str) -> None:
        """Check the branches that the options of a new table name.

        Raises:
            InvalidOptionError: one of them does not exist.
        """
        check_named_branches(schema, BranchManager(file_io, TablePaths(location)))

    @abstractmethod
    def list_tables(self, database: str) -> list[str]:
        """The names of a database's tables, sorted; NoSuchDatabaseError if the database does not exist."""

    @abstractmethod
    def table_exists(self, identifier: Identifier) -> bool:
        """Whether a table (and branch) exists."""

    @abstractmethod
    def table_location(self, identifier: Identifier) -> str:
        """The directory of a table, existing or not, without a trailing slash."""

    @abstractmethod
    def any_table(self, identifier: Identifier) -> AnyTable:
        """Open a table of any type, or one of its branches.

        Raises:
            NoSuchTableError: it does not exist.
            UnsupportedError: its type is not supported, or its query authorization hides rows or values.
        """

    def table(self, identifier: Identifier) -> Table:
        """Open a table with snapshots, or one of its branches.

        Raises:
            NoSuchTableError: it does not exist.
            WrongKindError: it is a table without snapshots.
            UnsupportedError: its type is not supported.
        """
        return with_snapshots(self.any_table(identifier))

    def authorized_table(self, identifier: Identifier) -> AnyTable:
        """Open a table of any type, for reads that apply its `Table.query_auth` and for writes.

        Raises:
            NoSuchTableError: it does not exist.
            UnsupportedError: its type is not supported.
        """
        return self.any_table(identifier)

    def damaged_table(self, identifier: Identifier) -> Table | None:
        """Open a table whose latest schema is unreadable with the latest readable one, to repair it.

        None without one, or if schemas are not stored in the table's directory.
        """
        return None

    @abstractmethod
    def create_any_table(self, identifier: Identifier, schema: TableSchema) -> AnyTable:
        """Create a table of any type.

        Raises:
            TableExistsError: it exists.
            NoSuchDatabaseError: the database does not exist.
            UnsupportedError: its type is not supported.
        """

    def create_table(self, identifier: Identifier, schema: TableSchema) -> Table:
        """Create a table with snapshots; TableExistsError if it exists, NoSuchDatabaseError without its database."""
        return with_snapshots(self.create_any_table(identifier, schema))

    @abstractmethod
    def drop_table(self, identifier: Identifier) -> None:
        """Drop a table with all files in its directory; NoSuchTableError if it does not exist."""

    @abstractmethod
    def rename_table(self, source: Identifier, target: Identifier) -> None:
        """Rename a table, also to another database; the target must not exist."""

    def replace_table(self, identifier: Identifier, schema: TableSchema) -> None:
        """Truncate a table with snapshots and replace its schema; its snapshots stay readable.

        Raises:
            NoSuchTableError: it does not exist.
            UnsupportedError: the catalog cannot do it, or the commit of the rows does it instead.
        """
        raise errors.UnsupportedError(f"Catalog {self.name} does not support replacing tables.")

    def _refuse_others(self, identifier: Identifier) -> None:
        """Raise TableExistsError if a table outside of the catalog has the name."""
        if self.host.is_used_outside(identifier):
            raise errors.TableExistsError(
                f"{self.name}.{identifier} already exists as a table or view that is not a Paimon table.",
                name=str(identifier),
                remedy="DROP it first, or choose another name.",
            )

    def _refuse_names(self, identifier: Identifier) -> None:
        """Raise TableExistsError if a view, or a table outside of the catalog, has the name."""
        self._refuse_others(identifier)
        if self.view_exists(identifier):
            raise self._taken_by_view(identifier)

    def adopt(self, database: str | None = None, table: str | None = None, *, dry_run: bool = False) -> dict[str, str]:
        """Register databases and tables of the warehouse that the catalog does not know.

        Args:
            database: only this database.
            table: only this table of it.
            dry_run: only report what would be done.

        Returns:
            What was done, by ``database.table``.
        """
        return {}

    def has_materialized(self, identifier: Identifier) -> bool:
        """Whether a table is a materialized table; False if it cannot be opened."""
        try:
            return is_materialized(self.authorized_table(identifier).schema)
        except (errors.PaimonError, OSError):
            return False

    def alter_table(self, identifier: Identifier, change: Callable[[TableSchema], TableSchema]) -> TableSchema:
        """Add the next version of a table's schema, computed from the latest by ``change``.

        Raises:
            InvalidOptionError: an option names a branch that does not exist.
        """
        table = self.any_table(identifier)

        def checked(schema: TableSchema) -> TableSchema:
            changed = change(schema)
            if isinstance(table, Table):
                check_named_branches(changed, table.branches, schema)
            return changed

        new_schema = table.schemas.evolve(checked)
        if isinstance(table, Table):
            publish_quietly(replace(table, schema=new_schema))
        return new_schema


def with_snapshots(table: AnyTable) -> Table:
    """The table itself, if it has snapshots; WrongKindError if it has none."""
    if isinstance(table, Table):
        return table
    raise errors.WrongKindError(
        f"{table.name} is a format table (plain files without snapshots), which does not support this operation.",
        remedy="Use SELECT, INSERT or TRUNCATE.",
    )
