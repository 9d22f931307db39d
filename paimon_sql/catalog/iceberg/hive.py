"""Registration of tables in Hive's metastore, for Iceberg's Hive catalog."""

from __future__ import annotations

import getpass

from pymetastore.hive_metastore.ttypes import Database, FieldSchema

from paimon_sql.catalog.hive.client import EntryExistsError, Metastore, with_site
from paimon_sql.catalog.hive.entries import Entries
from paimon_sql.catalog.hive.layout.column_types import hive_type
from paimon_sql.catalog.hive.layout.tables import EXTERNAL, KIND, ColumnStruct, TableStruct, is_paimon, new_entry
from paimon_sql.catalog.iceberg.tables import databases_of, name_in_catalog
from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.iceberg.table_metadata import TableMetadata
from paimon_sql.format.options.engines.catalog import HIVE_CONF_DIR, URI
from paimon_sql.format.options.table.iceberg import (
    METADATA_ICEBERG_DATABASE,
    METADATA_ICEBERG_GLUE_SKIP_ARCHIVE,
    METADATA_ICEBERG_HIVE_CONF_DIR,
    METADATA_ICEBERG_HIVE_SKIP_UPDATE_STATS,
    METADATA_ICEBERG_URI,
)
from paimon_sql.storage.file_io.paths import parent_of
from paimon_sql.storage.iceberg.location import database_folder
from paimon_sql.storage.iceberg.registration import Registration
from paimon_sql.storage.iceberg.store import MetadataStore
from paimon_sql.storage.table.table import Table

_LOCATION, _PREVIOUS = "metadata_location", "previous_metadata_location"
_ICEBERG = "ICEBERG"


class HiveRegistration(Registration):
    """Entries of Hive's metastore with the location of the table's Iceberg metadata.

    Paimon: `IcebergHiveMetadataCommitter`.

    Args:
        table: the table, whose options name the metastore.

    Raises:
        InvalidOptionError: no metastore is set.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        options = table.options
        given = {URI: METADATA_ICEBERG_URI, HIVE_CONF_DIR: METADATA_ICEBERG_HIVE_CONF_DIR}
        found = with_site(table.name, {k.key: value for k, option in given.items() if (value := options.get(option))})
        if not found.get(URI.key):
            raise InvalidOptionError(
                f"{table.name}: the Hive metastore for Iceberg's readers is not configured.",
                key=METADATA_ICEBERG_URI.key,
                remedy=f"Set '{METADATA_ICEBERG_URI.key}' to thrift://host:9083.",
            )
        self._entries = Entries(Metastore.of(table.name, found))

    def register(self, store: MetadataStore, metadata: TableMetadata) -> None:
        """Set the metadata location of all entries."""
        location = store.version_path(metadata.current_snapshot_id)
        for database in databases_of(self._table):
            self._register(database, name_in_catalog(self._table), location)

    def withdraw(self) -> None:
        """Remove the entries."""
        for database in databases_of(self._table):
            entry = self._entries.get(database, name_in_catalog(self._table))
            if entry is not None and (entry.parameters or {}).get(KIND, "").upper() == _ICEBERG:
                self._entries.drop(database, name_in_catalog(self._table))

    def _register(self, database: str, name: str, location: str) -> None:
        entry = self._entries.get(database, name)
        if entry is None:
            self._make_database(database)
            entry = new_entry(database, name, getpass.getuser(), EXTERNAL)
            entry.sd.location = parent_of(parent_of(location))
            entry.sd.inputFormat = "org.apache.hadoop.mapred.FileInputFormat"
            entry.sd.outputFormat = "org.apache.hadoop.mapred.FileOutputFormat"
            entry.sd.serdeInfo.serializationLib = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
            self._describe(entry, location)
            try:
                self._entries.add(self._entries.fit(entry))
                return
            except EntryExistsError:  # a concurrent writer added it
                entry = self._entries.get(database, name)
        if entry is None or is_paimon(entry) or (entry.parameters or {}).get(KIND, "").upper() != _ICEBERG:
            raise InvalidOptionError(
                f"{self._table.name}: {database}.{name} in Hive's metastore is not an Iceberg table.",
                key=METADATA_ICEBERG_DATABASE.key,
                remedy=f"Set '{METADATA_ICEBERG_DATABASE.key}' to another database.",
            )
        is_published = (entry.parameters or {}).get(_LOCATION) == location
        if is_published and [c.name for c in entry.sd.cols] == [c.name for c in self._columns()]:
            return
        self._describe(entry, location)
        keep = self._table.options.get(METADATA_ICEBERG_HIVE_SKIP_UPDATE_STATS)
        skip_archive = self._table.options.get(METADATA_ICEBERG_GLUE_SKIP_ARCHIVE)
        extra = {"skipAWSGlueArchive": str(skip_archive).lower()}
        self._entries.fit(entry)
        self._entries.alter(database, name, entry, cascade=True, keep_statistics=bool(keep), extra=extra)

    def _describe(self, entry: TableStruct, location: str) -> None:
        entry.parameters = dict(entry.parameters or {})
        if (before := entry.parameters.get(_LOCATION)) and before != location:
            entry.parameters[_PREVIOUS] = before
        skips = str(self._table.options.get(METADATA_ICEBERG_HIVE_SKIP_UPDATE_STATS)).lower()
        entry.parameters |= {KIND: _ICEBERG, _LOCATION: location, "DO_NOT_UPDATE_STATS": skips}
        entry.sd.cols = self._columns()

    def _columns(self) -> list[ColumnStruct]:
        fields = self._table.schemas.newest().fields
        return [FieldSchema(name=f.name.lower(), type=hive_type(f.type), comment=f.description) for f in fields]

    def _make_database(self, name: str) -> None:
        if self._entries.database(name) is None:
            entry = Database(name=name, description="", locationUri=database_folder(self._table), parameters={})
            try:
                self._entries.metastore.call("create_database", entry)
            except EntryExistsError:
                return
