"""Base classes of catalogs with a warehouse directory, and of those that register tables outside of it."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from paimon_sql import errors
from paimon_sql.catalog.catalog import ALONE, Catalog, Host, with_snapshots
from paimon_sql.catalog.identifier import MAIN_BRANCH, Identifier, check_name
from paimon_sql.catalog.table_types import KINDS, AnyTable, offered_kind
from paimon_sql.format.layout.paths import TablePaths
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import LOCK_ENABLED, MAINTENANCE_RUNS_RETAINED
from paimon_sql.format.options.operations.commit import METASTORE_PARTITIONED_TABLE
from paimon_sql.format.options.table.table import PATH, TYPE
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.file_io import FileIO, file_io_of
from paimon_sql.storage.file_io.external.locations import ExternalAccess
from paimon_sql.storage.file_io.paths import has_drive
from paimon_sql.storage.metadata.catalog_environment import (
    UNLOCKED,
    HeldLock,
    MaintenanceLog,
    PartitionRegistry,
    TableLock,
)
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.table.table import Table

_DATABASE_SUFFIX = ".db"
_RUNS_DIRECTORY = "_maintenance_runs"
_THREADS = 8


def absolute_warehouse(warehouse: str | os.PathLike[str]) -> str:
    """A warehouse's directory as an absolute path, which is valid in any working directory; a URI unchanged."""
    location = os.fspath(warehouse)
    if ":" in location.split("/", 1)[0] and not has_drive(location):
        return location
    return Path(location).expanduser().absolute().as_posix()


@dataclass(frozen=True)
class LocatedTable:
    """A table or branch as found by its catalog.

    Attributes:
        path: the table's directory.
        file_io: its file system.
        schema: its latest schema.
        partition_registry: the catalog's registry of its partitions.
    """

    path: str
    file_io: FileIO
    schema: TableSchema
    partition_registry: PartitionRegistry | None = None


class WarehouseCatalog(Catalog):
    """A catalog whose tables are in directories by name; subclasses know which tables exist.

    Attributes:
        warehouse: the directory or URI.
        file_io: its file system.
        takes_locks: whether commits, and changes of names and schemas, take the catalog's lock.
    """

    takes_locks = False

    def __init__(self, name: str, options: Mapping[str, str], host: Host = ALONE) -> None:
        super().__init__(name, options, host)
        warehouse = self.options.get("warehouse", "").rstrip("/")
        if not warehouse:
            raise errors.InvalidOptionError(
                f"Catalog {name} has no warehouse.",
                key="warehouse",
                remedy=f"Set spark.sql.catalog.{name}.warehouse to a directory.",
            )
        self.warehouse = warehouse
        self.file_io: FileIO = file_io_of(warehouse, self.options)
        self.access = ExternalAccess.of(self.options, warehouse)
        retained = TableOptions(self.options).get(MAINTENANCE_RUNS_RETAINED)
        self.run_log = MaintenanceLog(self.file_io, f"{warehouse}/{_RUNS_DIRECTORY}", name, retained)

    def table_location(self, identifier: Identifier) -> str:
        return f"{self._database_path(identifier.database)}/{check_name(identifier.table, 'table')}"

    def any_table(self, identifier: Identifier) -> AnyTable:
        place = self._place(identifier)
        if place is None:
            raise self._no_table(identifier)
        return self._opened(identifier, place)

    def damaged_table(self, identifier: Identifier) -> Table | None:
        location = self.table_location(identifier)
        file_io = self._io(location)
        schema = SchemaManager(file_io, location).newest_readable()
        if schema is None:
            return None
        return with_snapshots(
            self._opened(replace(identifier, branch=MAIN_BRANCH), LocatedTable(location, file_io, schema))
        )

    def _opened(self, identifier: Identifier, place: LocatedTable) -> AnyTable:
        own = replace(identifier, system_table=None)
        kind = offered_kind(place.schema, self.name, self.options)
        found = Table(
            name=f"{self.name}.{own}",
            path=place.path,
            file_io=place.file_io,
            schema=place.schema,
            branch=identifier.branch,
            run_log=self.run_log,
            lock=self._lock(identifier),
            partition_registry=place.partition_registry,
            access=self.access,
            executor=self.host.executor,
        )
        return kind.opened(found, self.options)

    def _io(self, location: str) -> FileIO:
        """The file system of a location."""
        return self.file_io if location.startswith(f"{self.warehouse}/") else file_io_of(location, self.options)

    def _place(self, identifier: Identifier) -> LocatedTable | None:
        """Find a table or branch; None if it does not exist."""
        schema = self._schema(identifier)
        return None if schema is None else LocatedTable(self.table_location(identifier), self.file_io, schema)

    @abstractmethod
    def _schema(self, identifier: Identifier) -> TableSchema | None:
        """The latest schema of a table or branch; None if it does not exist."""

    def _lock(self, identifier: Identifier) -> TableLock:
        """The lock of a table."""
        return UNLOCKED

    def _wants_locks(self) -> bool:
        """Whether the catalog's options, or else its storage, require locks."""
        value = self.options.get(LOCK_ENABLED.key)
        # Object stores may lack exclusive creation of files, and then need the lock.
        return self.file_io.is_object_store(self.warehouse) if value is None else bool(LOCK_ENABLED.read(value))

    @contextmanager
    def _alone(self, *identifiers: Identifier) -> Iterator[HeldLock]:
        """Hold the locks of these names, if the catalog takes locks, and yield the last one."""
        tables = {str(i): i for i in (Identifier(i.database, i.table) for i in identifiers)}
        with ExitStack() as locks:
            # In a fixed order, so that no two callers wait for each other.
            *_, last = [locks.enter_context(self._lock(tables[key]).acquire(MAIN_BRANCH)) for key in sorted(tables)]
            yield last

    def _database_folders(self) -> list[str]:
        """The names of the databases with a directory."""
        folders = [s.name for s in self.file_io.list(self.warehouse) if s.is_dir and s.name != _DATABASE_SUFFIX]
        return sorted(name.removesuffix(_DATABASE_SUFFIX) for name in folders if name.endswith(_DATABASE_SUFFIX))

    def _table_folders(self, database: str) -> list[str]:
        """The names of the tables with a directory, of the types that this catalog has."""
        path = self._database_path(database)
        directories = [s for s in self.file_io.list(path) if s.is_dir]
        threads = _THREADS if self.file_io.is_object_store(path) else 1
        are_tables = map_in_threads(lambda s: self._is_shown(SchemaManager(self.file_io, s.path)), directories, threads)
        return sorted(s.name for s, is_table in zip(directories, are_tables, strict=True) if is_table)

    def _is_shown(self, schemas: SchemaManager) -> bool:
        """Whether a directory with such schemas is a table of this catalog."""
        # A table with an unreadable schema is listed, so that it can be repaired or dropped.
        ids = schemas.ids()
        if not ids or all(kind.is_offered(self.options) for kind in KINDS.values()):
            return bool(ids)
        try:
            name = schemas.get(ids[-1]).options.get(TYPE.key, "table")
        except errors.PaimonError:
            return True
        return name not in KINDS or KINDS[name].is_offered(self.options)

    def _schemas(self, identifier: Identifier) -> SchemaManager:
        """The schemas in the directory of a table or branch."""
        paths = TablePaths(self.table_location(identifier), identifier.branch)
        return SchemaManager(self.file_io, paths.branch_root)

    def _database_path(self, database: str) -> str:
        """The directory of a database."""
        return f"{self.warehouse}/{check_name(database, 'database')}{_DATABASE_SUFFIX}"


class RegisteredCatalog(WarehouseCatalog):
    """A catalog whose tables are those registered; other tables of the warehouse can be adopted."""

    def __init__(self, name: str, options: Mapping[str, str], host: Host = ALONE) -> None:
        # The registered locations must be valid for all readers.
        absolute = {"warehouse": absolute_warehouse(options["warehouse"])} if options.get("warehouse") else {}
        super().__init__(name, {**options, **absolute}, host)

    def adopt(self, database: str | None = None, table: str | None = None, *, dry_run: bool = False) -> dict[str, str]:
        done: dict[str, str] = {}
        for db in self._database_folders() if database is None else [database]:
            found = [t for t in self._table_folders(db) if table in (None, t)]
            is_registered, is_wanted = self.database_exists(db), not dry_run and (found or table is None)
            if not is_registered and is_wanted and self.file_io.exists(self._database_path(db)):
                with suppress(errors.DatabaseExistsError):
                    self.create_database(db, {})
            for name in found:
                result = self._adopted(Identifier(db, name), dry_run=dry_run)
                if result is not None:
                    done[f"{db}.{name}"] = result
        return done

    @abstractmethod
    def _adopted(self, identifier: Identifier, *, dry_run: bool) -> str | None:
        """Update the catalog's entry by the files in a table's directory; return what was done, None for nothing."""

    def _unregistered(self, identifier: Identifier, location: str) -> errors.InvalidInputError:
        """The error for a new table at the location of one that is not registered."""
        return errors.InvalidInputError(
            f"Table {self.name}.{identifier} cannot be created: {location} contains a table that"
            " is not registered in the catalog.",
            remedy=f"CALL {self.name}.sys.repair('{identifier.database}.{identifier.table}') registers it.",
        )


def remove_first_schema(schemas: SchemaManager, location: str) -> None:
    """Delete the schema of a table that could not be registered, with its empty directories."""
    file_io, directory = schemas.directory.file_io, schemas.directory.directory
    file_io.delete(schemas.directory.path(0))
    file_io.delete_dir(directory)
    file_io.delete_dir(location)


def lists_partitions(schema: TableSchema) -> bool:
    """Whether a catalog lists the partitions of a table with such a schema (Paimon: `metastore.partitioned-table`)."""
    return bool(schema.partition_keys) and bool(TableOptions(schema.options).get(METASTORE_PARTITIONED_TABLE))


def registered_options(schema: TableSchema) -> dict[str, str]:
    """A table's options and keys as catalogs register them (Paimon: `JdbcCatalog.convertToPropertiesTableKey`)."""
    keys = {"primary-key": schema.primary_keys, "partition": schema.partition_keys, "bucket-key": schema.bucket_keys}
    return {**schema.options, **{k: ",".join(names) for k, names in keys.items() if names}}


def check_same(existing: TableSchema, wanted: TableSchema, location: str) -> None:
    """Refuse a schema that does not match the existing table.

    Args:
        existing: the table's latest schema.
        wanted: the schema of the statement.
        location: the table's directory.

    Raises:
        InvalidInputError: columns, keys or given options differ.
    """

    def shape(schema: TableSchema) -> tuple[object, ...]:
        return [(f.name, f.type) for f in schema.fields], schema.partition_keys, schema.primary_keys

    given = {k: v for k, v in wanted.options.items() if k not in (PATH.key, "external")}
    options = {k: v for k, v in given.items() if existing.options.get(k) != v}
    if shape(existing) != shape(wanted) or options:
        what = (
            f"its options are not {', '.join(f'{k}={v}' for k, v in sorted(options.items()))}"
            if options
            else "it has other columns or keys"
        )
        raise errors.InvalidInputError(
            f"The existing table in {location} does not match the definition: {what}.",
            remedy="Use the definition of the existing table.",
        )
