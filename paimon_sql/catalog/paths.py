"""Path catalog: tables by the path of their directory, without names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from paimon_sql import errors
from paimon_sql.catalog.catalog import ALONE, Catalog, Host
from paimon_sql.catalog.identifier import Identifier, parse_identifier
from paimon_sql.catalog.table_types import AnyTable, kind_of
from paimon_sql.format.layout.paths import TablePaths
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.file_io import FileIO, file_io_of
from paimon_sql.storage.file_io.paths import join, name_of, parent_of
from paimon_sql.storage.metadata.directories import drop_directory
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True, slots=True)
class PathIdentifier(Identifier):
    """A table by the path of its directory in place of a name; it is in no database.

    Attributes:
        file_system: the options of its file system.
    """

    file_system: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.object_name

    @property
    def file_io(self) -> FileIO:
        """The table's file system."""
        return file_io_of(self.table, dict(self.file_system))

    @property
    def schemas(self) -> SchemaManager:
        """The schemas of the table, or of its branch."""
        return SchemaManager(self.file_io, TablePaths(self.table, self.branch).branch_root)


def identifier_at(path: str, file_system: Mapping[str, str]) -> PathIdentifier:
    """Parse a path: a table's directory, with a branch or system table after a ``$`` as in names.

    Args:
        path: an absolute path, or a URI.
        file_system: the options of its file system.

    Raises:
        InvalidInputError: there are too many parts after the ``$``.
    """
    stripped = path.rstrip("/")
    options = tuple(sorted(file_system.items()))
    if "$" not in name_of(stripped):
        return PathIdentifier("", stripped, file_system=options)
    parsed = parse_identifier("", name_of(stripped))
    return PathIdentifier("", join(parent_of(stripped), parsed.table), parsed.branch, parsed.system_table, options)


class PathCatalog(Catalog):
    """All tables with a directory, by `PathIdentifier`; there are no databases, and nothing can be listed.

    Args:
        name: the catalog's name.
        host: what the program that opens it provides.
        file_system: the options of the file systems of tables that procedures name by their paths.
    """

    renames_tables: ClassVar[bool] = False

    def __init__(self, name: str, host: Host = ALONE, file_system: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__(name, file_system, host)

    def identifier_of(self, name: str) -> Identifier:
        return identifier_at(name, self.options)

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

    def _drop_database(self, database: str, cascade: bool) -> None:
        raise self._no_database(database)

    def list_tables(self, database: str) -> list[str]:
        raise self._no_database(database)

    def table_exists(self, identifier: Identifier) -> bool:
        return bool(_at(identifier).schemas.ids())

    def table_location(self, identifier: Identifier) -> str:
        return _at(identifier).table

    def any_table(self, identifier: Identifier) -> AnyTable:
        target = _at(identifier)
        schema = target.schemas.latest()
        label = str(replace(target, system_table=None))
        if schema is None:
            raise errors.NoSuchTableError(
                f"There is no Paimon table at {label}.",
                name=label,
                remedy="Use the path of the table's directory; a write without a mode creates a table.",
            )
        found = Table(label, target.table, target.file_io, schema, target.branch, executor=self.host.executor)
        table = kind_of(schema).opened(found, dict(target.file_system))
        if isinstance(table, Table):
            return table
        raise errors.UnsupportedError(
            f"{label} is a format table, which can be used only by its name.",
            remedy=f"Read its files: spark.read.format('{table.format}').load('{table.location}').",
        )

    def create_any_table(self, identifier: Identifier, schema: TableSchema) -> AnyTable:
        target = _at(identifier)
        if self.table_exists(target):
            raise errors.TableExistsError(f"A Paimon table already exists at {target}.", name=str(target))
        if kind_of(schema).may_stand_elsewhere:
            problem = f"A format table cannot be created at {target}: it can be used only by its name."
            raise errors.UnsupportedError(problem)
        self._check_branches(schema, target.file_io, target.table)
        # A failed or dropped table is removed with its directory, so the directory must contain nothing else.
        if target.file_io.list(target.table):
            raise errors.InvalidInputError(
                f"A table cannot be created at {target}: the directory is not empty.",
                remedy="Choose an empty directory.",
            )
        if not target.schemas.try_add(replace(schema, id=0)):
            raise errors.TableExistsError(f"A Paimon table already exists at {target}.", name=str(target))
        return self.any_table(target)

    def drop_table(self, identifier: Identifier) -> None:
        target = _at(identifier)
        self.any_table(target)
        drop_directory(target.file_io, target.table)

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        raise errors.UnsupportedError(f"{source} cannot be renamed: its path is its name.", remedy="Copy the table.")

    def _no_database(self, database: str) -> errors.NoSuchDatabaseError:
        problem = f"Catalog {self.name} has no database {database}: it supports only paths."
        return errors.NoSuchDatabaseError(problem, name=database)


def _at(identifier: Identifier) -> PathIdentifier:
    assert isinstance(identifier, PathIdentifier)
    return identifier
