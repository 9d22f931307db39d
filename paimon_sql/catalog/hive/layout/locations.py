"""Locations in entries of the metastore: in Hive's own fields, or as properties."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from paimon_sql.storage.file_io.paths import scheme_of, without_scheme

_PROPERTY = "paimon_location"


class Locations(ABC):
    """Reads and writes the locations of entries."""

    @abstractmethod
    def place_database(self, database: Any, location: str) -> None:
        """Set the location of a database."""

    @abstractmethod
    def place(self, thing: Any, location: str) -> None:
        """Set the location of a table or a partition."""

    def of_database(self, database: Any) -> str | None:
        """The location of a database."""
        return plain(database.locationUri)

    def of(self, thing: Any) -> str | None:
        """The location of a table or a partition."""
        return plain(thing.sd.location if thing.sd else None)


class InDescriptors(Locations):
    """Locations in Hive's own fields."""

    def place_database(self, database: Any, location: str) -> None:
        database.locationUri = location

    def place(self, thing: Any, location: str) -> None:
        thing.sd.location = location


class InProperties(Locations):
    """Locations as properties, for storage that Hive cannot access."""

    def place_database(self, database: Any, location: str) -> None:
        database.parameters = {**(database.parameters or {}), _PROPERTY: location}
        database.locationUri = None

    def place(self, thing: Any, location: str) -> None:
        thing.parameters = {**(thing.parameters or {}), _PROPERTY: location}

    def of_database(self, database: Any) -> str | None:
        return plain((database.parameters or {}).get(_PROPERTY)) or super().of_database(database)

    def of(self, thing: Any) -> str | None:
        return plain((thing.parameters or {}).get(_PROPERTY)) or super().of(thing)


def plain(location: str | None) -> str | None:
    """A location as in tables: a local path without ``file:``, and no trailing slash."""
    if not location:
        return None
    found = location.rstrip("/") or "/"
    return without_scheme(found)[1] if scheme_of(found) == "file" else found
