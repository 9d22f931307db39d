"""Databases of a Hive catalog, as entries of the metastore with a location."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pymetastore.hive_metastore.ttypes import Database

from paimon_sql.catalog.hive.client import EntryExistsError
from paimon_sql.catalog.hive.entries import Entries
from paimon_sql.catalog.hive.layout.locations import Locations, plain
from paimon_sql.catalog.hive.layout.tables import new_entry
from paimon_sql.catalog.identifier import SYSTEM_DATABASE, Identifier, check_name
from paimon_sql.catalog.registered import RegisteredCatalog
from paimon_sql.errors import DatabaseExistsError, InvalidInputError, UnsupportedError
from paimon_sql.storage.file_io import FileIO, file_io_of

_LOCATION, _COMMENT, _OWNER = "location", "comment", "owner"


class DatabasesInMetastore(RegisteredCatalog):
    """Databases as entries of the metastore.

    Attributes:
        entries: the entries of the metastore.
        locations: how entries store locations.
    """

    entries: Entries
    locations: Locations

    def list_databases(self) -> list[str]:
        return self.entries.databases()

    def database_exists(self, database: str) -> bool:
        return self.entries.database(database) is not None

    def database_properties(self, database: str) -> dict[str, str]:
        found = self._database(database)
        stored = {
            _LOCATION: self.locations.of_database(found),
            _COMMENT: found.description,
            _OWNER: found.ownerName,
        }
        return {**(found.parameters or {}), **{k: v for k, v in stored.items() if v}}

    def create_database(self, database: str, properties: Mapping[str, str]) -> None:
        check_name(database, "database")
        location = plain(properties.get(_LOCATION)) or super()._database_path(database.lower())
        entry = Database(
            name=database.lower(),
            description=properties.get(_COMMENT),
            parameters={k: v for k, v in properties.items() if k not in (_LOCATION, _COMMENT, _OWNER)},
            ownerName=properties.get(_OWNER),
        )
        self.locations.place_database(entry, location)
        taken = DatabaseExistsError(f"Database {database} already exists in catalog {self.name}.", name=database)
        if database == SYSTEM_DATABASE:
            raise taken
        try:
            self.entries.metastore.call("create_database", entry)
        except EntryExistsError:
            raise taken from None

    def alter_database(self, database: str, changes: Mapping[str, str | None]) -> None:
        found = self._database(database)
        if _LOCATION in changes and plain(changes[_LOCATION]) != self.locations.of_database(found):
            raise InvalidInputError(f"Database {database} cannot be moved.", remedy="Leave LOCATION out.")
        if _COMMENT in changes:
            found.description = changes[_COMMENT] or ""
            self.entries.metastore.call("alter_database", database, found)
            # Hive 2 ignores the change, and Hive 3 ignores a removal.
            if (self._database(database).description or "") != found.description:
                raise UnsupportedError(f"Hive's metastore does not change the comment of database {database} to that.")
        unchanged = {k: v for k, v in (found.parameters or {}).items() if k not in changes}
        new = {k: v for k, v in changes.items() if v is not None and k not in (_LOCATION, _COMMENT, _OWNER)}
        found.parameters = {**unchanged, **new}
        found.ownerName = changes.get(_OWNER, found.ownerName)
        self.entries.metastore.call("alter_database", database, found)

    def _database(self, name: str) -> Any:
        """The entry of a database; NoSuchDatabaseError if it does not exist."""
        found = self.entries.database(name)
        if found is None:
            self._require(name)
        return found

    def _database_path(self, database: str) -> str:
        found = self.entries.database(check_name(database, "database"))
        location = None if found is None else self.locations.of_database(found)
        return location or super()._database_path(database.lower())

    def _new_entry(self, identifier: Identifier, kind: str) -> Any:
        """A new entry of a table type, without columns."""
        names = identifier.database.lower(), identifier.object_name.lower()
        return new_entry(*names, self.entries.metastore.user, kind)

    def _io(self, location: str) -> FileIO:
        """The file system of a location."""
        return self.file_io if location.startswith(f"{self.warehouse}/") else file_io_of(location, self.options)
