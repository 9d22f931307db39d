"""Format table: its definition is a schema file, its rows are plain files; a catalog may register its partitions.

Spec: Concepts, "Table Types", "Format Table".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
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
from paimon_sql.storage.metadata.schemas import SchemaManager

FORMATS = ("csv", "json", "orc", "parquet", "text")
"""The file formats of format tables."""

SCHEMA_FOLDER = "schema"
"""The subdirectory of the table's directory with its schema files, and without rows."""


@dataclass(frozen=True)
class FormatTable:
    """A format table, as seen by one statement.

    Attributes:
        name: the full name, for messages.
        path: the table's directory in the warehouse, with its schema.
        own_io: the file system of that directory.
        file_io: the file system of the data files.
        schema: the schema, with dynamic options overriding the stored ones.
        register: the partition register; None if the directories define the partitions.
    """

    name: str
    path: str
    own_io: FileIO
    file_io: FileIO
    schema: TableSchema
    register: PartitionRegister | None = None

    @cached_property
    def options(self) -> TableOptions:
        """The typed options."""
        return TableOptions(self.schema.options)

    @property
    def schemas(self) -> SchemaManager:
        """The schema versions."""
        return SchemaManager(self.own_io, self.path)

    @cached_property
    def location(self) -> str:
        """The root directory of the data files: the table's own, or that of the option ``path``."""
        return (self.schema.options.get(PATH.key) or self.path).rstrip("/")

    @property
    def is_external(self) -> bool:
        """Whether the data files are outside of the table's directory, so that a drop keeps them."""
        return self.location != self.path

    @property
    def format(self) -> str:
        """One of `FORMATS`."""
        return self.options.get(FILE_FORMAT).lower()

    @property
    def partition_fields(self) -> tuple[DataField, ...]:
        """The partition columns, whose values are in directory names."""
        return self.schema.partition_fields

    @cached_property
    def data_fields(self) -> tuple[DataField, ...]:
        """The columns in data files."""
        return tuple(f for f in self.schema.fields if f.name not in self.schema.partition_keys)

    @cached_property
    def default_name(self) -> str:
        """The value for null in directory names."""
        return self.schema.options.get(DEFAULT_NAME_KEY, DEFAULT_NAME)

    @cached_property
    def only_values(self) -> bool:
        """Whether directory names are the value alone, not ``column=value``."""
        return self.options.get(FORMAT_TABLE_PARTITION_PATH_ONLY_VALUE)

    @property
    def threads(self) -> int:
        """The number of concurrent file operations."""
        return 16 if self.file_io.is_object_store(self.location) else 4

    @property
    def listing_threads(self) -> int:
        """The number of concurrent listings."""
        option = FORMAT_TABLE_SCAN_LIST_PARALLELISM
        return self.options.get(option) if self.options.has(option) else self.threads

    def with_options(self, changes: Mapping[str, str]) -> FormatTable:
        """The same table with dynamic options, which apply to one statement and are not stored."""
        return replace(self, schema=self.schema.with_options(changes)) if changes else self

    def folder_of(self, names: tuple[str, ...]) -> str:
        """The directory of a partition with these directory names below the location."""
        return join(self.location, *names) if names else self.location


Spec = Mapping[str, str]
"""The values of a partition as strings by column, as in directory names."""

UNKNOWN = -1
"""The value of a statistic that was not reported."""


@dataclass(frozen=True)
class PartitionStatistics:
    """Statistics of a partition, each `UNKNOWN` if not computed.

    Attributes:
        rows: the number of rows.
        size: the bytes of all files.
        files: the number of files.
        last_file_millis: the creation time of the newest file.
    """

    rows: int = UNKNOWN
    size: int = UNKNOWN
    files: int = UNKNOWN
    last_file_millis: int = UNKNOWN


class PartitionRegister(ABC):
    """The register of one table; an instance can be pickled."""

    @abstractmethod
    def all(self) -> list[tuple[Spec, PartitionStatistics]]:
        """The registered partitions, in no order, with their reported statistics."""

    @abstractmethod
    def add(self, specs: Sequence[Spec], *, strict: bool = False) -> None:
        """Register partitions.

        Args:
            specs: the partitions.
            strict: whether to add none of them if one is registered already.

        Raises:
            AlreadyExistsError: one is registered already, and `strict` is true.
        """

    @abstractmethod
    def report(self, figures: Sequence[tuple[Spec, PartitionStatistics]], *, anew: bool) -> None:
        """Report statistics of registered partitions.

        Args:
            figures: the partitions with their statistics.
            anew: whether these replace the registered statistics; otherwise they are added to them.
        """

    @abstractmethod
    def drop(self, specs: Sequence[Spec]) -> None:
        """Unregister partitions, without their files; unknown ones are ignored."""
