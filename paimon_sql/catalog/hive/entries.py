"""Entries of Hive's metastore by name: the databases, tables and views of a Hive catalog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pymetastore.hive_metastore import ttypes

from paimon_sql.catalog.hive.client import EntryExistsError, Metastore, MissingEntryError
from paimon_sql.catalog.hive.layout import tables
from paimon_sql.catalog.hive.layout.column_types import LOCAL_TIMESTAMP, paimon_type
from paimon_sql.catalog.identifier import SYSTEM_DATABASE, Identifier, check_name
from paimon_sql.catalog.warehouse import RegisteredCatalog
from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.schema.catalog_objects import ViewSchema
from paimon_sql.format.schema.types import DataField

_AT_ONCE = 300
# Without it Hive refuses to list a database with such a table.
_CAPABILITIES = ttypes.ClientCapabilities(values=[ttypes.ClientCapability.INSERT_ONLY_TABLES])


@dataclass(frozen=True)
class Entries:
    """The entries of a metastore; names are case-insensitive."""

    metastore: Metastore

    def database(self, name: str) -> tables.DatabaseStruct | None:
        """A database; None if it does not exist."""
        try:
            found: tables.DatabaseStruct = self.metastore.call("get_database", name)
            return found
        except MissingEntryError:
            return None

    def names(self, database: str) -> list[str]:
        """The names of all tables and views of a database, sorted."""
        return sorted(self.metastore.call("get_all_tables", database))

    def all(self, database: str) -> list[tables.TableStruct]:
        """All tables and views of a database, sorted by name."""
        names, found = self.names(database), []
        for start in range(0, len(names), _AT_ONCE):
            batch = names[start : start + _AT_ONCE]
            request = ttypes.GetTablesRequest(dbName=database, tblNames=batch, capabilities=_CAPABILITIES)
            found += self.metastore.call("get_table_objects_by_name_req", request).tables
        return sorted(found, key=lambda entry: str(entry.tableName))

    def get(self, database: str, name: str) -> tables.TableStruct | None:
        """A table or view; None if it does not exist."""
        try:
            request = ttypes.GetTableRequest(dbName=database, tblName=name, capabilities=_CAPABILITIES)
            found: tables.TableStruct = self.metastore.call("get_table_req", request).table
            return found
        except MissingEntryError:
            return None

    @cached_property
    def has_zoned_timestamps(self) -> bool:
        """Whether this Hive has TIMESTAMP WITH LOCAL TIME ZONE (since version 3)."""
        return self.metastore.knows("get_catalogs")

    def fit(self, entry: tables.TableStruct) -> tables.TableStruct:
        """Replace column types of an entry that this Hive lacks, in place, and return the entry."""
        for column in (*entry.sd.cols, *(entry.partitionKeys or ())):
            if LOCAL_TIMESTAMP in column.type and not self.has_zoned_timestamps:
                column.type = column.type.replace(LOCAL_TIMESTAMP, "timestamp")
        return entry

    def add(self, entry: tables.TableStruct) -> None:
        """Add a table or view; EntryExistsError if it exists."""
        self.metastore.call("create_table", entry)

    def alter(
        self,
        database: str,
        name: str,
        entry: tables.TableStruct,
        *,
        cascade: bool = False,
        keep_statistics: bool = True,
        extra: Mapping[str, str] | None = None,
    ) -> None:
        """Replace an entry; MissingEntryError if it does not exist.

        Args:
            database: its database.
            name: its name.
            entry: the new entry, which may have another name.
            cascade: whether its partitions get its columns.
            keep_statistics: whether Hive does not update its statistics.
            extra: additional properties of the call.
        """
        properties = {**(extra or {}), "DO_NOT_UPDATE_STATS": str(keep_statistics).lower()}
        context = ttypes.EnvironmentContext(properties=properties | ({"CASCADE": "true"} if cascade else {}))
        self.metastore.call("alter_table_with_environment_context", database, name, entry, context)

    def drop(self, database: str, name: str) -> bool:
        """Drop a table or view without its files; False if it does not exist."""
        try:
            self.metastore.call("drop_table", database, name, False)
        except MissingEntryError:
            return False
        return True


_LOCATION, _COMMENT, _OWNER = "location", "comment", "owner"


class DatabasesInMetastore(RegisteredCatalog):
    """Databases as entries of the metastore.

    Attributes:
        entries: the entries of the metastore.
        locations: how entries store locations.
    """

    entries: Entries
    locations: tables.Locations

    def list_databases(self) -> list[str]:
        return sorted(self.entries.metastore.call("get_all_databases"))

    def database_exists(self, database: str) -> bool:
        return self.entries.database(database) is not None

    def database_properties(self, database: str) -> dict[str, str]:
        found = self._database(database)
        stored = {_LOCATION: self.locations.of_database(found), _COMMENT: found.description, _OWNER: found.ownerName}
        return {**(found.parameters or {}), **{k: v for k, v in stored.items() if v}}

    def create_database(self, database: str, properties: Mapping[str, str]) -> None:
        check_name(database, "database")
        location = tables.plain(properties.get(_LOCATION)) or super()._database_path(database.lower())
        entry: tables.DatabaseStruct = ttypes.Database(
            name=database.lower(),
            description=properties.get(_COMMENT),
            parameters={k: v for k, v in properties.items() if k not in (_LOCATION, _COMMENT, _OWNER)},
            ownerName=properties.get(_OWNER),
        )
        self.locations.place_database(entry, location)
        if database == SYSTEM_DATABASE:
            raise self._taken_database(database)
        try:
            self.entries.metastore.call("create_database", entry)
        except EntryExistsError:
            raise self._taken_database(database) from None

    def alter_database(self, database: str, changes: Mapping[str, str | None]) -> None:
        found = self._database(database)
        if _LOCATION in changes and tables.plain(changes[_LOCATION]) != self.locations.of_database(found):
            raise InvalidInputError(f"Database {database} cannot be moved.", remedy="Leave LOCATION out.")
        if _COMMENT in changes:
            found.description = changes[_COMMENT] or ""
            self.entries.metastore.call("alter_database", database, found)
            # Hive 2 ignores the change, and Hive 3 ignores a removal.
            if (self._database(database).description or "") != found.description:
                raise UnsupportedError(f"Hive's metastore did not change the comment of database {database}.")
        unchanged = {k: v for k, v in (found.parameters or {}).items() if k not in changes}
        new = {k: v for k, v in changes.items() if v is not None and k not in (_LOCATION, _COMMENT, _OWNER)}
        found.parameters = {**unchanged, **new}
        found.ownerName = changes.get(_OWNER, found.ownerName)
        self.entries.metastore.call("alter_database", database, found)

    def _database(self, name: str) -> tables.DatabaseStruct:
        """The entry of a database; NoSuchDatabaseError if it does not exist."""
        while (found := self.entries.database(name)) is None:
            self._require(name)
        return found

    def _database_path(self, database: str) -> str:
        found = self.entries.database(check_name(database, "database"))
        location = None if found is None else self.locations.of_database(found)
        return location or super()._database_path(database.lower())

    def _new_entry(self, identifier: Identifier, kind: str) -> tables.TableStruct:
        """A new entry of a table type, without columns."""
        database, name = identifier.database.lower(), identifier.object_name.lower()
        return tables.new_entry(database, name, self.entries.metastore.user, kind)


_INPUT = "org.apache.hadoop.mapred.SequenceFileInputFormat"
_OUTPUT = "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat"
_SERDE = "org.apache.hadoop.hive.serde2.MetadataTypedColumnsetSerDe"
_SERVER_PROPERTIES = frozenset(("transient_lastDdlTime",))


class ViewsInMetastore(DatabasesInMetastore):
    """Views as entries of the metastore, with one query for all engines."""

    def list_views(self, database: str) -> list[str]:
        self._require(database)
        return sorted(self.entries.metastore.call("get_tables_by_type", database, "*", tables.VIEW))

    def view_exists(self, identifier: Identifier) -> bool:
        return self._view(identifier) is not None

    def _find_view(self, identifier: Identifier) -> ViewSchema | None:
        entry = self._view(identifier)
        if entry is None:
            return None
        options = {k: v for k, v in (entry.parameters or {}).items() if k not in _SERVER_PROPERTIES}
        return ViewSchema(
            fields=tuple(DataField(i, c.name, paimon_type(c.type), c.comment) for i, c in enumerate(entry.sd.cols)),
            query=entry.viewExpandedText or entry.viewOriginalText,
            comment=options.pop(tables.COMMENT, None),
            options=options,
        )

    def create_view(self, identifier: Identifier, view: ViewSchema, *, replace: bool = False) -> None:
        self._require(identifier.database)
        self._check_view_name(identifier)
        self._refuse_others(identifier)
        entry = self._entry(identifier, view)
        try:
            self.entries.add(entry)
        except EntryExistsError:
            if not self.view_exists(identifier):
                raise self._taken_table(identifier) from None
            if not replace:
                raise self._taken_view(identifier) from None
            self._put(identifier, entry)

    def _change_view(self, identifier: Identifier, before: ViewSchema, after: ViewSchema) -> None:
        self._put(identifier, self._entry(identifier, after))

    def drop_view(self, identifier: Identifier) -> None:
        if self._view(identifier) is None or not self.entries.drop(identifier.database, identifier.object_name):
            raise self._no_view(identifier)

    def rename_view(self, source: Identifier, target: Identifier) -> None:
        entry = self._view(source)
        if entry is None:
            raise self._no_view(source)
        self._require(target.database)
        self._check_view_name(target)
        self._refuse_others(target)
        existing = self.entries.get(target.database, target.table)
        if existing is not None:
            if tables.is_view(existing):
                raise self._taken_view(target)
            raise self._taken_table(target)
        entry.dbName, entry.tableName = target.database.lower(), target.table.lower()
        self._put(source, entry)

    def _view(self, identifier: Identifier) -> tables.TableStruct | None:
        found = self.entries.get(identifier.database, identifier.object_name)
        return found if found is not None and tables.is_view(found) else None

    def _put(self, identifier: Identifier, entry: tables.TableStruct) -> None:
        try:
            self.entries.alter(identifier.database, identifier.object_name, entry)
        except MissingEntryError:
            raise self._no_view(identifier) from None

    def _entry(self, identifier: Identifier, view: ViewSchema) -> tables.TableStruct:
        others = sorted(engine for engine, query in view.dialects.items() if query != view.query)
        if others:
            raise UnsupportedError(
                f"View {self.name}.{identifier} cannot have a separate query for {', '.join(others)}: Hive's"
                " metastore stores one query per view."
            )
        entry = self._new_entry(identifier, tables.VIEW)
        entry.parameters = dict(view.options)
        if view.comment is not None:
            entry.parameters[tables.COMMENT] = view.comment
        entry.viewOriginalText = entry.viewExpandedText = view.query
        entry.sd.inputFormat, entry.sd.outputFormat = _INPUT, _OUTPUT
        entry.sd.serdeInfo.serializationLib = _SERDE
        entry.sd.cols = tables.columns(view.fields)
        return self.entries.fit(entry)
