"""The entries of Hive's metastore by name: databases, and the tables and views in them."""

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
# Without it Hive refuses to list a database that holds such a table.
_CAPABILITIES = ClientCapabilities(values=[ClientCapability.INSERT_ONLY_TABLES])


@dataclass(frozen=True)
class Entries:
    """What a metastore keeps; Hive does not tell upper case from lower."""

    metastore: Metastore

    def databases(self) -> list[str]:
        """The names of all databases, sorted."""
        return sorted(self.metastore.call("get_all_databases"))

    def database(self, name: str) -> Any | None:
        """A database; None if there is none."""
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
            part = names[start : start + _AT_ONCE]
            request = GetTablesRequest(dbName=database, tblNames=part, capabilities=_CAPABILITIES)
            found += self.metastore.call("get_table_objects_by_name_req", request).tables
        return sorted(found, key=lambda entry: str(entry.tableName))

    def get(self, database: str, name: str) -> Any | None:
        """A table or view; None if there is none."""
        try:
            request = GetTableRequest(dbName=database, tblName=name, capabilities=_CAPABILITIES)
            return self.metastore.call("get_table_req", request).table
        except MissingEntryError:
            return None

    @cached_property
    def has_zoned_timestamps(self) -> bool:
        """Whether this Hive has TIMESTAMP WITH LOCAL TIME ZONE, as it does since its version 3."""
        return self.metastore.knows("get_catalogs")

    def fit(self, entry: Any) -> Any:
        """Let the columns of an entry have types that this Hive has; the entry."""
        for column in (*entry.sd.cols, *(entry.partitionKeys or ())):
            if LOCAL_TIMESTAMP in column.type and not self.has_zoned_timestamps:
                column.type = column.type.replace(LOCAL_TIMESTAMP, "timestamp")
        return entry

    def add(self, entry: Any) -> None:
        """Keep a new table or view; TakenEntryError if there is one."""
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
        """Put an entry in the place of another; MissingEntryError if there is none.

        Args:
            database: its database.
            name: its name.
            entry: what it is to be, which may have another name.
            cascade: whether its partitions get its columns.
            keep_statistics: whether Hive leaves its statistics alone.
            said: what else the metastore is told.
        """
        told = {
            **(said or {}),
            "DO_NOT_UPDATE_STATS": str(keep_statistics).lower(),
            **({"CASCADE": "true"} if cascade else {}),
        }
        self.metastore.call(
            "alter_table_with_environment_context", database, name, entry, EnvironmentContext(properties=told)
        )

    def drop(self, database: str, name: str) -> bool:
        """Forget a table or view and leave its files alone; False if there is none."""
        try:
            self.metastore.call("drop_table", database, name, False)
        except MissingEntryError:
            return False
        return True
