"""Where the metastore keeps the places of things: where Hive looks for them, or among properties."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from paimon_sql.storage.file_io.paths import scheme_of, without_scheme

_PROPERTY = "paimon_location"


class Locations(ABC):
    """Reads and writes the places that objects of the metastore have."""

    @abstractmethod
    def place_database(self, database: Any, location: str) -> None:
        """Say where the tables of a database stand."""

    @abstractmethod
    def place(self, thing: Any, location: str) -> None:
        """Say where a table or a partition stands."""

    def of_database(self, database: Any) -> str | None:
        """Where the tables of a database stand."""
        return plain(database.locationUri)

    def of(self, thing: Any) -> str | None:
        """Where a table or a partition stands."""
        return plain(thing.sd.location if thing.sd else None)


class InDescriptors(Locations):
    """Where Hive itself looks for them."""

    def place_database(self, database: Any, location: str) -> None:
        database.locationUri = location

    def place(self, thing: Any, location: str) -> None:
        thing.sd.location = location


class InProperties(Locations):
    """Among the properties, for a storage that Hive cannot look into."""

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
    """A place as tables name theirs: a local folder without ``file:``, nothing with a slash behind it."""
    if not location:
        return None
    found = location.rstrip("/") or "/"
    return without_scheme(found)[1] if scheme_of(found) == "file" else found
