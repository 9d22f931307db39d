"""Hive catalog: its entries in Hive's metastore are shared with Apache Paimon's `HiveCatalog`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from paimon_sql import errors
from paimon_sql.catalog.catalog import ALONE, Host
from paimon_sql.catalog.hive.client import EntryExistsError, Metastore, MissingEntryError, with_site
from paimon_sql.catalog.hive.entries import Entries, ViewsInMetastore
from paimon_sql.catalog.hive.environment import HiveLock, HivePartitions
from paimon_sql.catalog.hive.layout import tables
from paimon_sql.catalog.hive.layout.tables import InProperties, Locations, TableStruct, plain
from paimon_sql.catalog.identifier import MAIN_BRANCH, Identifier, check_name
from paimon_sql.catalog.table_types import KINDS, AnyTable, offered_kind
from paimon_sql.catalog.warehouse import LocatedTable, check_same, lists_partitions, remove_first_schema
from paimon_sql.format.layout.paths import TablePaths
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import (
    ALTER_TABLE_CASCADE,
    HIVE_SKIP_UPDATE_STATS,
    LOCATION_IN_PROPERTIES,
    LOCK_ACQUIRE_TIMEOUT,
    LOCK_CHECK_MAX_SLEEP,
    SYNC_ALL_PROPERTIES,
    TABLE_TYPE,
)
from paimon_sql.format.options.operations.snapshot import METASTORE_TAG_TO_PARTITION
from paimon_sql.format.options.table.data_file import DATA_FILE_PATH_DIRECTORY
from paimon_sql.format.options.table.table import PATH
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.commit.partition_registration import relist
from paimon_sql.storage.metadata.catalog_environment import UNLOCKED, HeldLock, TableLock
from paimon_sql.storage.metadata.directories import check_no_history, drop_directory, move_directory
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.table.table import Table


class HiveCatalog(ViewsInMetastore):
    """Databases, tables and views are entries of Hive's metastore; a table's entry has its location.

    Entries are added after files and dropped before them, so that the files of an entry are complete; `adopt` registers
    files without an entry.
    """

    stores_locations = True
    keeps_owners = True

    def __init__(self, name: str, options: Mapping[str, str], host: Host = ALONE) -> None:
        options = with_site(name, options)
        super().__init__(name, options, host)
        metastore = Metastore.of(name, options)
        self.entries = Entries(metastore)
        self.locations = InProperties() if TableOptions(self.options).get(LOCATION_IN_PROPERTIES) else Locations()
        self.takes_locks = self._wants_locks()
        timeout, longest_wait = map(TableOptions(options).get, (LOCK_ACQUIRE_TIMEOUT, LOCK_CHECK_MAX_SLEEP))
        self._new_lock = partial(HiveLock, metastore, timeout.total_seconds(), longest_wait.total_seconds())
        self._synced = bool(TableOptions(self.options).get(SYNC_ALL_PROPERTIES))

    def _drop_database(self, database: str, cascade: bool) -> None:
        location = self._database_path(database)
        for entry in self.entries.all(database) if cascade else ():
            if tables.is_paimon(entry) or tables.is_view(entry):
                self._drop(entry)
            else:
                # Hive itself knows the files of its tables.
                self.entries.metastore.call("drop_table", database, entry.tableName, True)
        # Directories without an entry are not deleted.
        with suppress(MissingEntryError):
            self.entries.metastore.call("drop_database", database, False, False)
        self._io(location).delete_dir(location)

    def _held(self, database: str) -> Mapping[str, Sequence[str]]:
        # Hive's own tables, which are not listed, prevent a drop too.
        return {"tables and views": self.entries.names(database)}

    # Tables

    def list_tables(self, database: str) -> list[str]:
        self._require(database)
        return [str(entry.tableName) for entry in self.entries.all(database) if self._is_ours(entry)]

    def table_exists(self, identifier: Identifier) -> bool:
        if identifier.branch != MAIN_BRANCH:
            return self._place(identifier) is not None
        entry = self.entries.get(identifier.database, identifier.table)
        return entry is not None and self._is_ours(entry)

    def table_location(self, identifier: Identifier) -> str:
        entry = self.entries.get(identifier.database, identifier.table)
        found = None if entry is None else self.locations.of(entry)
        return found or f"{self._database_path(identifier.database)}/{check_name(identifier.table, 'table').lower()}"

    def create_any_table(self, identifier: Identifier, schema: TableSchema) -> AnyTable:
        kind = offered_kind(schema, self.name, self.options)
        self._require(identifier.database)
        path = plain(schema.options.get(PATH.key))
        location = path or self.table_location(identifier)
        check_name(identifier.table, "table")
        entry = self._new_entry(identifier, tables.EXTERNAL if path else self._kind(schema))
        with self._alone(identifier) as hold:
            self._refuse_taken(identifier)
            if kind is KINDS["format-table"]:
                tables.describe_format(entry, schema)
                self.locations.place(entry, location)
                self._add(identifier, self.entries.fit(entry))
            else:
                self._create(identifier, replace(schema, id=0), entry, location, hold)
        return self.any_table(identifier)

    def drop_table(self, identifier: Identifier) -> None:
        with self._alone(identifier):
            self._drop(self._own_entry(identifier))

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        check_name(target.table, "table")
        with self._alone(source, target):
            entry = self._own_entry(source)
            self._require(target.database)
            self._refuse_taken(target)
            before, moves = self.locations.of(entry), tables.is_paimon(entry) and not tables.is_external(entry)
            wanted = f"{self._database_path(target.database)}/{target.table.lower()}"
            if moves and self._io(wanted).exists(wanted):
                raise errors.TableExistsError(
                    f"Table {self.name}.{source} cannot be renamed to {target}: {wanted} already exists.",
                    name=str(target),
                )
            entry.dbName, entry.tableName = target.database.lower(), target.table.lower()
            self.entries.alter(source.database, source.table, entry)
            if moves and before is not None:
                self._move_files(target, before, wanted)

    def alter_table(self, identifier: Identifier, change: Callable[[TableSchema], TableSchema]) -> TableSchema:
        entry = self.entries.get(identifier.database, identifier.table)
        if entry is not None and not tables.is_paimon(entry) and self._is_ours(entry):
            raise errors.UnsupportedError(
                f"Table {self.name}.{identifier} is a format table, whose definition is managed by Hive.",
                remedy="ALTER it in Hive.",
            )
        if identifier.branch != MAIN_BRANCH or entry is None:
            return super().alter_table(identifier, change)

        was_updated = False

        def described(schema: TableSchema) -> TableSchema:
            nonlocal was_updated
            changed = change(schema)
            if changed is not schema:
                self._check_listing(schema, changed)
                self._update_entry(identifier, schema, changed)
                was_updated = True
            return changed

        # The metastore may refuse, and is therefore updated before the new schema takes effect.
        try:
            return super().alter_table(identifier, described)
        except BaseException:
            if was_updated:
                with suppress(errors.PaimonError, OSError):
                    self._adopted(identifier, dry_run=False)
            raise

    # Tables and entries

    def _own_entry(self, identifier: Identifier) -> TableStruct:
        """The entry of a table of this catalog; NoSuchTableError if there is none."""
        entry = self.entries.get(identifier.database, identifier.table)
        if entry is None or not self._is_ours(entry):
            self.any_table(identifier)  # raises what is missing
            raise errors.NoSuchTableError(f"Table {self.name}.{identifier} does not exist.", name=str(identifier))
        return entry

    def _place(self, identifier: Identifier) -> LocatedTable | None:
        entry = self.entries.get(identifier.database, identifier.table)
        if entry is None or not self._is_ours(entry):
            return None
        location = self.locations.of(entry) or super().table_location(identifier)
        file_io = self._io(location)
        if not tables.is_paimon(entry):
            schema = tables.format_schema(entry, location) if identifier.branch == MAIN_BRANCH else None
            return None if schema is None else LocatedTable(location, file_io, schema)
        found = SchemaManager(file_io, TablePaths(location, identifier.branch).branch_root).latest()
        if found is None:
            # While a table is renamed or dropped its entry may exist briefly without its files.
            if identifier.branch != MAIN_BRANCH or self.entries.get(identifier.database, identifier.table) != entry:
                return None
            raise errors.CorruptFileError(
                f"Hive's metastore has a table {self.name}.{identifier}, but its files are missing",
                path=location,
                remedy="Restore them from a copy, or DROP TABLE.",
            )
        return LocatedTable(location, file_io, found, self._listing(entry, location, found))

    def _schema(self, identifier: Identifier) -> TableSchema | None:
        place = self._place(identifier)
        return None if place is None else place.schema

    def _listing(self, entry: TableStruct, location: str, schema: TableSchema) -> HivePartitions | None:
        """The registry of a table's partitions, if the metastore has one."""
        if not entry.partitionKeys:
            return None
        subdirectory = schema.options.get(DATA_FILE_PATH_DIRECTORY.key)
        directory = f"{location}/{subdirectory}" if subdirectory else location
        return HivePartitions(self.entries, entry.dbName, entry.tableName, directory, self.locations)

    def _create(
        self, identifier: Identifier, schema: TableSchema, entry: TableStruct, location: str, hold: HeldLock
    ) -> None:
        """Write a table's schema, unless an external table exists already, and add its entry."""
        file_io = self._io(location)
        schemas = SchemaManager(file_io, location)
        existing = schemas.latest()
        if existing is not None:
            if not tables.is_external(entry):
                raise self._unregistered(identifier, location)
            check_same(existing, schema, location)
            self._describe(entry, existing, location)
            self._add(identifier, entry)
            return
        schema = replace(schema, options={k: v for k, v in schema.options.items() if k != PATH.key})
        self._describe(entry, schema, location)
        self._check_branches(schema, file_io, location)
        check_no_history(file_io, location, f"{self.name}.{identifier}")
        if not schemas.try_add_under_lock(schema, hold):
            raise self._taken_table(identifier)
        try:
            self._add(identifier, entry)
        except BaseException:
            with suppress(errors.PaimonError):
                # Unless the entry was added after all.
                found = self.entries.get(identifier.database, identifier.table)
                if found is None or self.locations.of(found) != location:
                    remove_first_schema(schemas, location)
            raise

    def _add(self, identifier: Identifier, entry: TableStruct) -> None:
        try:
            self.entries.add(entry)
        except EntryExistsError:
            raise self._taken_table(identifier) from None

    def _drop(self, entry: TableStruct) -> None:
        location, keeps_files = self.locations.of(entry), tables.is_view(entry) or tables.is_external(entry)
        if self.entries.drop(entry.dbName, entry.tableName) and not keeps_files and location is not None:
            drop_directory(self._io(location), location)

    def _move_files(self, target: Identifier, before: str, wanted: str) -> None:
        """Move the files of a renamed table, unless the metastore has done so, and update its location."""
        entry = self.entries.get(target.database, target.table)
        if entry is None:
            return
        now = self.locations.of(entry)
        if now == before and before != wanted:
            if not move_directory(self._io(before), before, wanted):
                problem = f"The files of {target} remain in {before}: {wanted} already exists."
                raise errors.TableExistsError(problem, name=str(target))
            self.locations.place(entry, wanted)
            self.entries.alter(target.database, target.table, entry)
            self._relist_partitions(target, anew=True)

    def _update_entry(self, identifier: Identifier, before: TableSchema, schema: TableSchema) -> None:
        """Update the entry of a table to its next schema."""
        entry = self._own_entry(identifier)
        tables.forget(entry, before, schema)
        self._describe(entry, schema, self.locations.of(entry) or "")
        self._alter(identifier, entry)

    def _alter(self, identifier: Identifier, entry: TableStruct) -> None:
        keep = (
            bool(TableOptions(self.options).get(HIVE_SKIP_UPDATE_STATS))
            or (entry.parameters or {}).get("DO_NOT_UPDATE_STATS") == "true"
        )
        cascade = bool(entry.partitionKeys) and bool(TableOptions(self.options).get(ALTER_TABLE_CASCADE))
        try:
            self.entries.alter(identifier.database, identifier.table, entry, cascade=cascade, keep_statistics=keep)
        except errors.InvalidInputError as error:
            if "incompatible" not in error.message:
                raise
            raise errors.InvalidInputError(
                error.message,
                remedy="Set hive.metastore.disallow.incompatible.col.type.changes to false in Hive's metastore.",
            ) from error

    def _describe(self, entry: TableStruct, schema: TableSchema, location: str) -> None:
        tables.describe(entry, schema, all_properties=self._synced)
        self.locations.place(entry, location)
        self.entries.fit(entry)

    def _adopted(self, identifier: Identifier, *, dry_run: bool) -> str | None:
        entry = self.entries.get(identifier.database, identifier.table)
        location = self.table_location(identifier)
        schema = SchemaManager(self._io(location), location).latest()
        if schema is None or (entry is not None and not tables.is_paimon(entry)):
            return None
        if entry is None:
            if not dry_run:
                new = self._new_entry(identifier, self._kind(schema))
                self._describe(new, schema, location)
                with suppress(errors.TableExistsError):
                    self._add(identifier, new)
                self._relist_partitions(identifier)
            return "it was registered; its files were in the warehouse, but not in the catalog."
        before = (entry.sd.cols, entry.parameters)
        self._describe(entry, schema, location)
        differs = before != (entry.sd.cols, entry.parameters)
        if differs and not dry_run:
            self._alter(identifier, entry)
        if self._relist_partitions(identifier, dry_run=dry_run) or differs:
            return "its definition in Hive's metastore was corrected."
        return None

    def _relist_partitions(self, identifier: Identifier, *, dry_run: bool = False, anew: bool = False) -> bool:
        """Update the metastore's list of a table's partitions; return whether it changed."""
        table = self.any_table(identifier)
        return isinstance(table, Table) and relist(table, dry_run=dry_run, anew=anew)

    def _check_listing(self, before: TableSchema, after: TableSchema) -> None:
        """Refuse to change whether partitions are listed, for Hive cannot change a table's partition columns."""

        def shown(schema: TableSchema) -> tuple[str | None, ...]:
            listed = schema.partition_keys if lists_partitions(schema) else ()
            return (*listed, None if schema.partition_keys else schema.options.get(METASTORE_TAG_TO_PARTITION.key))

        if shown(before) != shown(after):
            raise errors.InvalidOptionError(
                "Options that decide how Hive's metastore lists partitions can be set only when a table is created.",
                key=METASTORE_TAG_TO_PARTITION.key,
            )

    def _refuse_taken(self, identifier: Identifier) -> None:
        self._refuse_others(identifier)
        entry = self.entries.get(identifier.database, identifier.table)
        if entry is None:
            return
        if tables.is_view(entry):
            raise self._taken_by_view(identifier)
        raise self._taken_table(identifier)

    def _lock(self, identifier: Identifier) -> TableLock:
        if not self.takes_locks:
            return UNLOCKED
        return self._new_lock(Identifier(identifier.database.lower(), identifier.table.lower()))

    def _kind(self, schema: TableSchema) -> str:
        """The Hive table type of a new table without a location."""
        external = tables.wants_external(schema.options) or TableOptions(self.options).get(TABLE_TYPE) == "external"
        return tables.EXTERNAL if external else tables.MANAGED

    def _is_ours(self, entry: TableStruct) -> bool:
        """Whether an entry is a table of this catalog."""
        formats = KINDS["format-table"].is_offered(self.options)
        return not tables.is_view(entry) and (
            tables.is_paimon(entry) or (formats and tables.format_of(entry) is not None)
        )
