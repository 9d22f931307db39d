"""What every catalog can do: databases and tables by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.objects import DefinedObjects
from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.errors import (
    DatabaseNotEmptyError,
    PaimonError,
    TableExistsError,
    UnsupportedError,
    WrongKindError,
)
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.branches.management import check_named_branches
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.iceberg import publish_quietly
from paimon_sql.storage.materialized.definition import is_materialized
from paimon_sql.storage.metadata.environment.maintenance_log import MaintenanceLog
from paimon_sql.storage.table.table import Table


class Catalog(DefinedObjects, ABC):
    """Databases and the tables, views and functions in them.

    Args:
        name: the catalog's name in SQL.
        options: the catalog's options, among them ``warehouse``.

    Attributes:
        keeps_owners: whether it keeps who made a database.
        places_tables: whether it keeps the place of each table, so that new ones may stand anywhere.
        run_log: where it records what is done for the maintenance of its tables; None for a catalog that does not.
        executor: who plans of its tables that are large are given to; None where the process makes them by itself.
        is_taken: whether a name is that of a table outside the catalog, beside which it cannot have one of that name.
        replaces_definitions: whether REPLACE TABLE writes the new definition itself; otherwise `replace_table` does it.
        renames_tables: whether a table can get another name.
    """

    places_tables: ClassVar[bool] = False
    keeps_owners: ClassVar[bool] = False
    replaces_definitions: ClassVar[bool] = True
    renames_tables: ClassVar[bool] = True

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        self.name = name
        self.options = dict(options)
        self.run_log: MaintenanceLog | None = None
        self.executor: Executor | None = None
        self.is_taken: Callable[[Identifier], bool] = _is_free

    @abstractmethod
    def list_databases(self) -> list[str]:
        """The names of all databases, sorted."""

    @abstractmethod
    def database_exists(self, database: str) -> bool:
        """Whether there is a database of that name."""

    @abstractmethod
    def database_properties(self, database: str) -> dict[str, str]:
        """What is kept about a database, ``location`` among it; NoSuchDatabaseError if there is none."""

    @abstractmethod
    def create_database(self, database: str, properties: Mapping[str, str]) -> None:
        """Make a database; DatabaseExistsError if there is one of that name."""

    @abstractmethod
    def alter_database(self, database: str, changes: Mapping[str, str | None]) -> None:
        """Change what is kept about a database: new values by property, None to forget one.

        Raises:
            NoSuchDatabaseError: there is no such database.
            UnsupportedError: the catalog keeps nothing about its databases.
        """

    @abstractmethod
    def drop_database(self, database: str, cascade: bool) -> None:
        """Remove a database: NoSuchDatabaseError without it, DatabaseNotEmptyError unless empty or ``cascade``."""

    def _held(self, database: str) -> Mapping[str, Sequence[str]]:
        """What keeps a database from going: names by what they are names of."""
        return {
            "tables": self.list_tables(database),
            "views": self.list_views(database),
            "functions": self.list_functions(database),
        }

    def _refuse_held(self, database: str) -> None:
        """Raise DatabaseNotEmptyError if a database that is to go holds something."""
        for what, names in self._held(database).items():
            if names:
                raise DatabaseNotEmptyError(
                    f"Database {database} still holds {len(names)} {what}, {names[0]} among them.",
                    remedy="Drop them first, or say CASCADE.",
                )

    @abstractmethod
    def list_tables(self, database: str) -> list[str]:
        """The names of a database's tables, sorted; NoSuchDatabaseError if there is no such database."""

    @abstractmethod
    def table_exists(self, identifier: Identifier) -> bool:
        """Whether there is such a table (and branch)."""

    @abstractmethod
    def table_location(self, identifier: Identifier) -> str:
        """The folder where a table of that name stands or would stand, without a slash behind it."""

    @abstractmethod
    def any_table(self, identifier: Identifier) -> AnyTable:
        """Open a table of any kind, or one of its branches.

        Raises:
            NoSuchTableError: there is none.
            UnsupportedError: tables of its kind are not offered here, or not all of it is shown to its readers.
        """

    def table(self, identifier: Identifier) -> Table:
        """Open a table with snapshots, or one of its branches.

        Raises:
            NoSuchTableError: there is none.
            WrongKindError: it is a table without snapshots.
            UnsupportedError: tables of its kind are not offered here.
        """
        return with_snapshots(self.any_table(identifier))

    def authorized_table(self, identifier: Identifier) -> AnyTable:
        """Open a table of any kind to read what its `Table.guard` lets be seen, or to write rows into it.

        Raises:
            NoSuchTableError: there is none.
            UnsupportedError: tables of its kind are not offered here.
        """
        return self.any_table(identifier)

    def damaged_table(self, identifier: Identifier) -> Table | None:
        """Open a table whose newest definition cannot be read by the newest one that can, to repair it.

        None where there is none, or where the definition does not stand in the table's directory.
        """
        return None

    @abstractmethod
    def create_any_table(self, identifier: Identifier, schema: TableSchema) -> AnyTable:
        """Make a table of any kind.

        Raises:
            TableExistsError: there is one of that name.
            NoSuchDatabaseError: there is no such database.
            UnsupportedError: tables of its kind are not offered here.
        """

    def create_table(self, identifier: Identifier, schema: TableSchema) -> Table:
        """Make a table with snapshots; TableExistsError if there is one, NoSuchDatabaseError without its database."""
        return with_snapshots(self.create_any_table(identifier, schema))

    @abstractmethod
    def drop_table(self, identifier: Identifier) -> None:
        """Remove a table with all files in its folder; NoSuchTableError if there is none."""

    @abstractmethod
    def rename_table(self, source: Identifier, target: Identifier) -> None:
        """Give a table another name or database; the target must not exist."""

    def replace_table(self, identifier: Identifier, schema: TableSchema) -> None:
        """Empty a table with snapshots and give it another definition, its snapshots staying readable.

        Raises:
            NoSuchTableError: there is none.
            UnsupportedError: that is not done by the catalog, but by whoever commits the rows, or cannot be done.
        """
        raise UnsupportedError(f"Catalog {self.name} does not replace tables by itself.")

    def _refuse_others(self, identifier: Identifier) -> None:
        """Raise TableExistsError where a table outside the catalog has the name of one that is to be made."""
        if self.is_taken(identifier):
            raise TableExistsError(
                f"{self.name}.{identifier} is a table or view already, though none of Paimon's.",
                name=str(identifier),
                remedy="DROP it first, or choose another name.",
            )

    def _refuse_names(self, identifier: Identifier) -> None:
        """Raise TableExistsError where a view, or a table outside the catalog, has a name that is to be a table's."""
        self._refuse_others(identifier)
        if self.view_exists(identifier):
            raise self._taken_by_view(identifier)

    def adopt(self, database: str | None = None, table: str | None = None, *, dry_run: bool = False) -> dict[str, str]:
        """Take up what stands in the warehouse and the catalog does not know: what was done, by ``database.table``.

        Args:
            database: only what belongs to this database.
            table: only this table of it.
            dry_run: only say what would be done.
        """
        return {}

    def has_materialized(self, identifier: Identifier) -> bool:
        """Whether a table is a materialized one; what cannot be opened is none."""
        try:
            return is_materialized(self.authorized_table(identifier).schema)
        except (PaimonError, OSError):
            return False

    def alter_table(self, identifier: Identifier, change: Callable[[TableSchema], TableSchema]) -> TableSchema:
        """Add the next version of a table's schema, made of the newest by ``change``.

        Raises:
            InvalidOptionError: an option names a branch that the table does not have.
        """
        table = self.any_table(identifier)

        def checked(schema: TableSchema) -> TableSchema:
            changed = change(schema)
            if isinstance(table, Table):
                check_named_branches(changed, table.branches, schema)
            return changed

        made = table.schemas.evolve(checked)
        if isinstance(table, Table):
            publish_quietly(replace(table, schema=made))
        return made


def _is_free(identifier: Identifier) -> bool:
    return False


def with_snapshots(table: AnyTable) -> Table:
    """A table itself, if it has snapshots; WrongKindError if it has none."""
    if isinstance(table, Table):
        return table
    raise WrongKindError(
        f"{table.name} is a format table, a folder of plain files without snapshots: this cannot be done with it.",
        remedy="SELECT reads it, INSERT writes it, TRUNCATE empties it.",
    )
