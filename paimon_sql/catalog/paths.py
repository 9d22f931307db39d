"""Tables by their folders: a catalog that keeps no names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import MAIN_BRANCH, Identifier, parse_identifier
from paimon_sql.catalog.table_types import AnyTable, kind_of
from paimon_sql.errors import (
    InvalidInputError,
    NoSuchDatabaseError,
    NoSuchTableError,
    TableExistsError,
    UnsupportedError,
)
from paimon_sql.format.layout.paths import TablePaths
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.branches.management import check_named_branches
from paimon_sql.storage.file_io import FileIO, file_io_of
from paimon_sql.storage.file_io.paths import join, name_of, parent_of
from paimon_sql.storage.metadata.directories import drop_directory
from paimon_sql.storage.metadata.refs.branches import BranchManager
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True, slots=True)
class PathIdentifier(Identifier):
    """A table by the path of its folder, which stands where others have a name; it is in no database.

    Attributes:
        file_system: the options of the file system that holds it.
    """

    file_system: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.object_name

    @property
    def file_io(self) -> FileIO:
        """The file system that holds the table."""
        return file_io_of(self.table, dict(self.file_system))

    @property
    def schemas(self) -> SchemaManager:
        """The versions of the definition of the table, or of its branch."""
        root = self.table if self.branch == MAIN_BRANCH else join(self.table, "branch", f"branch-{self.branch}")
        return SchemaManager(self.file_io, root)


def identifier_at(path: str, file_system: Mapping[str, str]) -> PathIdentifier:
    """What a path stands for: a table's folder, with a branch or system table behind a ``$`` as names have them.

    Args:
        path: the path from the root, or a URI.
        file_system: the options of the file system that holds it.

    Raises:
        InvalidInputError: what stands behind the ``$`` is too much.
    """
    place = path.rstrip("/")
    options = tuple(sorted(file_system.items()))
    if "$" not in name_of(place):
        return PathIdentifier("", place, file_system=options)
    own = parse_identifier("", name_of(place))
    return PathIdentifier("", join(parent_of(place), own.table), own.branch, own.system_table, options)


class PathCatalog(Catalog):
    """All tables that have a folder, by `PathIdentifier`; there are no databases, and nothing is listed."""

    renames_tables: ClassVar[bool] = False

    def __init__(self, name: str) -> None:
        super().__init__(name, {})

    def list_databases(self) -> list[str]:
        return []

    def database_exists(self, database: str) -> bool:
        return False

    def database_properties(self, database: str) -> dict[str, str]:
        raise self._no_database(database)

    def create_database(self, database: str, properties: Mapping[str, str]) -> None:
        raise self._keeps_none("databases")

    def alter_database(self, database: str, changes: Mapping[str, str | None]) -> None:
        raise self._no_database(database)

    def drop_database(self, database: str, cascade: bool) -> None:
        raise self._no_database(database)

    def list_tables(self, database: str) -> list[str]:
        raise self._no_database(database)

    def table_exists(self, identifier: Identifier) -> bool:
        return bool(_at(identifier).schemas.ids())

    def table_location(self, identifier: Identifier) -> str:
        return _at(identifier).table

    def any_table(self, identifier: Identifier) -> AnyTable:
        place = _at(identifier)
        schema = place.schemas.latest()
        own = str(replace(place, system_table=None))
        if schema is None:
            raise NoSuchTableError(
                f"There is no Paimon table at {own}.",
                name=own,
                remedy="Give the path of the table's own folder; a write without a mode makes a table.",
            )
        found = Table(own, place.table, place.file_io, schema, place.branch, executor=self.executor)
        table = kind_of(schema).opened(found, dict(place.file_system))
        if isinstance(table, Table):
            return table
        raise UnsupportedError(
            f"At {own} there is a format table, which is used by its name only.",
            remedy=f"Read its files: spark.read.format('{table.format}').load('{table.location}').",
        )

    def create_any_table(self, identifier: Identifier, schema: TableSchema) -> AnyTable:
        place = _at(identifier)
        if self.table_exists(place):
            raise TableExistsError(f"There is a Paimon table at {place} already.", name=str(place))
        if kind_of(schema).may_stand_elsewhere:
            raise UnsupportedError(f"No format table can be made at {place}: it is found by its name only.")
        check_named_branches(schema, BranchManager(place.file_io, TablePaths(place.table)))
        # Whoever gives a table up removes its folder, in which nothing else may be lost.
        if place.file_io.list(place.table):
            raise InvalidInputError(
                f"No table can be made at {place}: the folder holds something else.", remedy="Choose an empty folder."
            )
        if not place.schemas.try_add(replace(schema, id=0)):
            raise TableExistsError(f"There is a Paimon table at {place} already.", name=str(place))
        return self.any_table(place)

    def drop_table(self, identifier: Identifier) -> None:
        place = _at(identifier)
        self.any_table(place)
        drop_directory(place.file_io, place.table)

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        raise UnsupportedError(f"{source} cannot be renamed: its path is its name.", remedy="Copy the table.")

    def _no_database(self, database: str) -> NoSuchDatabaseError:
        return NoSuchDatabaseError(f"Catalog {self.name} has no database {database}, but paths only.", name=database)


def _at(identifier: Identifier) -> PathIdentifier:
    assert isinstance(identifier, PathIdentifier)
    return identifier
