"""Entries of Hive's metastore by name: databases, tables and views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pymetastore.hive_metastore.ttypes import (
    ClientCapabilities,
    ClientCapability,
    EnvironmentContext,
    GetTableRequest,
    GetTablesRequest,
)

from paimon_sql.catalog.hive.client import Metastore, MissingEntryError
from paimon_sql.catalog.hive.layout.column_types import LOCAL_TIMESTAMP

_AT_ONCE = 300
# Without it Hive refuses to list a database with such a table.
_CAPABILITIES = ClientCapabilities(values=[ClientCapability.INSERT_ONLY_TABLES])


@dataclass(frozen=True)
class Entries:
    """The entries of a metastore; names are case-insensitive."""

    metastore: Metastore

    def databases(self) -> list[str]:
        """The names of all databases, sorted."""
        return sorted(self.metastore.call("get_all_databases"))

    def database(self, name: str) -> Any | None:
        """A database; None if it does not exist."""
        try:
            return self.metastore.call("get_database", name)
        except MissingEntryError:
            return None

    def names(self, database: str) -> list[str]:
        """The names of all tables and views of a database, sorted."""
        return sorted(self.metastore.call("get_all_tables", database))

    def all(self, database: str) -> list[Any]:
        """All tables and views of a database, sorted by name."""
        names, found = self.names(database), []
        for start in range(0, len(names), _AT_ONCE):
            batch = names[start : start + _AT_ONCE]
            request = GetTablesRequest(dbName=database, tblNames=batch, capabilities=_CAPABILITIES)
            found += self.metastore.call("get_table_objects_by_name_req", request).tables
        return sorted(found, key=lambda entry: str(entry.tableName))

    def get(self, database: str, name: str) -> Any | None:
        """A table or view; None if it does not exist."""
        try:
            request = GetTableRequest(dbName=database, tblName=name, capabilities=_CAPABILITIES)
            return self.metastore.call("get_table_req", request).table
        except MissingEntryError:
            return None

    @cached_property
    def has_zoned_timestamps(self) -> bool:
        """Whether this Hive has TIMESTAMP WITH LOCAL TIME ZONE (since version 3)."""
        return self.metastore.knows("get_catalogs")

    def fit(self, entry: Any) -> Any:
        """Replace column types of an entry that this Hive lacks, in place, and return the entry."""
        for column in (*entry.sd.cols, *(entry.partitionKeys or ())):
            if LOCAL_TIMESTAMP in column.type and not self.has_zoned_timestamps:
                column.type = column.type.replace(LOCAL_TIMESTAMP, "timestamp")
        return entry

    def add(self, entry: Any) -> None:
        """Add a table or view; EntryExistsError if it exists."""
        self.metastore.call("create_table", entry)

    def alter(
        self,
        database: str,
        name: str,
        entry: Any,
        *,
        cascade: bool = False,
        keep_statistics: bool = True,
        said: Mapping[str, str] | None = None,
    ) -> None:
        """Replace an entry; MissingEntryError if it does not exist.

        Args:
            database: its database.
            name: its name.
            entry: the new entry, which may have another name.
            cascade: whether its partitions get its columns.
            keep_statistics: whether Hive does not update its statistics.
            said: additional properties of the call.
        """
        properties = {
            **(said or {}),
            "DO_NOT_UPDATE_STATS": str(keep_statistics).lower(),
            **({"CASCADE": "true"} if cascade else {}),
        }
        self.metastore.call(
            "alter_table_with_environment_context", database, name, entry, EnvironmentContext(properties=properties)
        )

    def drop(self, database: str, name: str) -> bool:
        """Drop a table or view without its files; False if it does not exist."""
        try:
            self.metastore.call("drop_table", database, name, False)
        except MissingEntryError:
            return False
        return True
