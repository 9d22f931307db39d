"""A format table as it stands on disk: its definition in a schema file, its rows in plain files.

Spec: Concepts, "Table Types", "Format Table".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from paimon_sql.format.layout.partitions import DEFAULT_NAME, DEFAULT_NAME_KEY
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.data_file import FILE_FORMAT
from paimon_sql.format.options.table.format_table import (
    FORMAT_TABLE_PARTITION_PATH_ONLY_VALUE,
    FORMAT_TABLE_SCAN_LIST_PARALLELISM,
)
from paimon_sql.format.options.table.table import PATH
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.paths import join
from paimon_sql.storage.format_tables.register import PartitionRegister
from paimon_sql.storage.metadata.schemas import SchemaManager

FORMATS = ("csv", "json", "orc", "parquet", "text")
"""The formats that a format table can have."""

SCHEMA_FOLDER = "schema"
"""The folder inside the table's own that holds its definition, and no rows."""


@dataclass(frozen=True)
class FormatTable:
    """A format table; an instance belongs to one statement.

    Attributes:
        name: the full name, for messages.
        path: the table's own folder in the warehouse, which holds its definition.
        own_io: the file system that holds that folder.
        file_io: the file system that holds the files of rows.
        schema: the definition with dynamic options put over the stored ones.
        register: who says which partitions there are; None where their folders do.
    """

    name: str
    path: str
    own_io: FileIO
    file_io: FileIO
    schema: TableSchema
    register: PartitionRegister | None = None

    @cached_property
    def options(self) -> TableOptions:
        """The options, read by their declarations."""
        return TableOptions(self.schema.options)

    @property
    def schemas(self) -> SchemaManager:
        """The versions of the definition."""
        return SchemaManager(self.own_io, self.path)

    @cached_property
    def location(self) -> str:
        """The folder below which the files of rows stand: the table's own, or the one that the option ``path`` says."""
        return (self.schema.options.get(PATH.key) or self.path).rstrip("/")

    @property
    def is_external(self) -> bool:
        """Whether the files stand outside of the table's own folder, so that they outlive the table."""
        return self.location != self.path

    @property
    def format(self) -> str:
        """One of `FORMATS`."""
        return self.options.get(FILE_FORMAT).lower()

    @property
    def partition_fields(self) -> tuple[DataField, ...]:
        """The partition columns, whose values stand in the names of folders."""
        return self.schema.partition_fields

    @cached_property
    def data_fields(self) -> tuple[DataField, ...]:
        """The columns that files hold."""
        return tuple(f for f in self.schema.fields if f.name not in self.schema.partition_keys)

    @cached_property
    def default_name(self) -> str:
        """What stands in the name of a folder for null."""
        return self.schema.options.get(DEFAULT_NAME_KEY, DEFAULT_NAME)

    @cached_property
    def only_values(self) -> bool:
        """Whether folders are named by the value alone and not ``column=value``."""
        return self.options.get(FORMAT_TABLE_PARTITION_PATH_ONLY_VALUE)

    @property
    def threads(self) -> int:
        """How many files or folders are looked at or moved at a time."""
        return 16 if self.file_io.is_object_store(self.location) else 4

    @property
    def listing_threads(self) -> int:
        """How many folders are listed at a time."""
        option = FORMAT_TABLE_SCAN_LIST_PARALLELISM
        return self.options.get(option) if self.options.has(option) else self.threads

    def with_options(self, changes: Mapping[str, str]) -> FormatTable:
        """The same table under dynamic options, which hold for one statement and are not stored."""
        return replace(self, schema=self.schema.with_options(changes)) if changes else self

    def folder_of(self, names: tuple[str, ...]) -> str:
        """The folder of a partition, whose folders below the location have these names."""
        return join(self.location, *names) if names else self.location
