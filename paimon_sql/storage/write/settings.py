"""Write settings: the table options of writers, read once, and the names of their files."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Sequence
from functools import cached_property
from itertools import count
from typing import ClassVar, TypeVar

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.file_index.declared import DeclaredIndex, declared_indexes
from paimon_sql.format.layout.paths import data_file_name, is_file_name
from paimon_sql.format.options import Option, TableOptions
from paimon_sql.format.options.operations.changelog import (
    CHANGELOG_FILE_COMPRESSION,
    CHANGELOG_FILE_FORMAT,
    CHANGELOG_FILE_PREFIX,
)
from paimon_sql.format.options.operations.write import WRITE_BUFFER_SIZE
from paimon_sql.format.options.table import data_file, index
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.format.options.table.data_file import StatsMode
from paimon_sql.format.options.table.row_tracking import BLOB_TARGET_FILE_SIZE
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import TRACKED, key_value_fields
from paimon_sql.format.schema.types import DataField
from paimon_sql.format.statistics.column_statistics import column_modes
from paimon_sql.storage.columns.blobs_and_vectors import fields_in_blob_files, fields_in_vector_files
from paimon_sql.storage.read.metadata_columns import is_tracked

_KEYED_TARGET, _APPEND_TARGET = 128 * 1024 * 1024, 256 * 1024 * 1024

T = TypeVar("T")


def _option(option: Option[T]) -> cached_property[T]:
    """A setting that is a table option."""
    return cached_property(lambda settings: settings._options.get(option))


class WriteSettings:
    """The settings of data files.

    Class attributes:
        mark: the part of a data file's name before its extension.
        lists_stats_columns: whether a file with write columns lists its columns with statistics even if these are all
            of them.
        carries_numbers: whether rows of append tables carry the snapshots that changed them.
    """

    mark: ClassVar[str] = ""
    lists_stats_columns: ClassVar[bool] = False
    carries_numbers: ClassVar[bool] = False

    def __init__(self, schema: TableSchema) -> None:
        self._schema = schema
        self._options = TableOptions(schema.options)

    @cached_property
    def target_file_size(self) -> int:
        """The size in bytes at which a data file is closed."""
        default = _KEYED_TARGET if self._schema.has_key else _APPEND_TARGET
        return self._options.get(data_file.TARGET_FILE_SIZE) or default

    max_file_rows = _option(data_file.TARGET_FILE_ROW_NUM)
    """The number of rows at which a data file of new rows is closed; does not apply to compactions."""

    buffer_size = _option(WRITE_BUFFER_SIZE)
    """The max bytes that a writer buffers in memory."""

    thin = _option(data_file.DATA_FILE_THIN_MODE)
    """Whether key columns are stored only once, as value columns."""

    dense_stats = _option(data_file.METADATA_STATS_DENSE_STORE)
    """Whether columns without statistics are left out of the stored statistics."""

    compression_in_name = _option(data_file.FILE_SUFFIX_INCLUDE_COMPRESSION)
    """Whether file names contain the compression."""

    @cached_property
    def stored_fields(self) -> Sequence[DataField]:
        """The columns of a data file."""
        if self._schema.has_key:
            return key_value_fields(self._schema, thin=self.thin)
        return tuple(f for f in self._schema.fields if f not in self._dedicated_fields)

    @cached_property
    def blob_fields(self) -> tuple[DataField, ...]:
        """The columns that are stored in blob files, each in separate ones."""
        return fields_in_blob_files(self._schema)

    @cached_property
    def vectors(self) -> VectorSettings | None:
        """The settings of vector files; None if vectors are stored in data files."""
        fields = fields_in_vector_files(self._schema)
        return VectorSettings(self._schema, [f.name for f in fields]) if fields else None

    @property
    def _dedicated_fields(self) -> tuple[DataField, ...]:
        """The columns that are stored in blob and vector files."""
        return (*self.blob_fields, *(self.vectors.stored_fields if self.vectors else ()))

    @cached_property
    def input_columns(self) -> tuple[str, ...]:
        """The columns of the rows to write."""
        return tuple(f.name for f in (*self.stored_fields, *self._dedicated_fields))

    @cached_property
    def blob_target_file_size(self) -> int:
        """The size in bytes at which a blob file is closed."""
        return self._options.get(BLOB_TARGET_FILE_SIZE) or WriteSettings(self._schema).target_file_size

    @cached_property
    def write_columns(self) -> tuple[str, ...] | None:
        """The write columns that a data file's metadata lists; None if it has all columns of the table."""
        return tuple(f.name for f in self.stored_fields) if self._dedicated_fields else None

    @cached_property
    def file_indexes(self) -> tuple[DeclaredIndex, ...]:
        """The file indexes to build."""
        return tuple(declared_indexes(self._options))

    max_manifest_index_bytes = _option(index.FILE_INDEX_IN_MANIFEST_THRESHOLD)
    """The max bytes of file indexes that are stored in the manifest."""

    @cached_property
    def stats_fields(self) -> Sequence[DataField]:
        """The columns that may have statistics."""
        return self.stored_fields if self._dedicated_fields else self._schema.fields

    buckets = _option(BUCKET)
    """The option ``bucket``."""

    file_prefix = _option(data_file.DATA_FILE_PREFIX)
    """The prefix of data file names."""

    def file_format(self, level: int) -> str:
        """The format of files on a level."""
        per_level = self._options.get(data_file.FILE_FORMAT_PER_LEVEL)
        return per_level.get(str(level), self._options.get(data_file.FILE_FORMAT)).lower()

    def compression(self, level: int) -> str:
        """The compression of files on a level."""
        per_level = self._options.get(data_file.FILE_COMPRESSION_PER_LEVEL)
        return per_level.get(str(level), self._options.get(data_file.FILE_COMPRESSION))

    def value_modes(self, level: int) -> list[StatsMode]:
        """The statistics modes of the columns in files on a level."""
        dedicated = {f.name for f in self._dedicated_fields}
        return [mode for name, mode in self._modes(level).items() if name not in dedicated]

    def _modes(self, level: int, *, changelog: bool = False) -> dict[str, StatsMode]:
        modes = column_modes(
            self._schema.options,
            self._schema.names,
            level=level if self._schema.has_key else None,
            changelog=changelog,
            key_names=self._schema.trimmed_primary_keys if self.thin else (),
        )
        return dict(zip(self._schema.names, modes, strict=True))


class TrackedSettings(WriteSettings):
    """The settings of files whose rows carry their ids and the snapshots that changed them (row tracking)."""

    lists_stats_columns = True
    carries_numbers = True

    def __init__(self, schema: TableSchema) -> None:
        super().__init__(schema)
        self.stored_fields = (*schema.fields, *TRACKED)
        self.write_columns = tuple(f.name for f in self.stored_fields)
        self.blob_fields = ()  # rows with blob files are never moved
        self.vectors = None  # files with moved rows store vectors among the other columns


def moved_settings(schema: TableSchema) -> WriteSettings:
    """The settings of files with rows that are moved there from others."""
    return (TrackedSettings if is_tracked(schema) else WriteSettings)(schema)


class ColumnSettings(WriteSettings):
    """The settings of files with some columns of existing rows (data evolution); all rows are written to one file.

    Args:
        schema: the table's schema.
        columns: the columns, none of which is stored in blob files.
        vectors: the settings of vector files, if there are any.
    """

    lists_stats_columns = True

    def __init__(self, schema: TableSchema, columns: Sequence[str], vectors: VectorSettings | None = None) -> None:
        super().__init__(schema)
        self.stored_fields = self.stats_fields = schema.select(columns)
        self.write_columns = self._columns = tuple(columns)
        self.max_file_rows = sys.maxsize
        self.blob_fields = ()
        self.vectors = vectors

    @cached_property
    def target_file_size(self) -> int:
        return sys.maxsize

    def value_modes(self, level: int) -> list[StatsMode]:
        modes = self._modes(level)
        return [modes[name] for name in self._columns]


class VectorSettings(ColumnSettings):
    """The settings of vector files."""

    mark = ".vector"

    @cached_property
    def target_file_size(self) -> int:
        return self._options.get(index.VECTOR_TARGET_FILE_SIZE) or WriteSettings(self._schema).target_file_size

    @cached_property
    def file_indexes(self) -> tuple[DeclaredIndex, ...]:
        return ()

    def file_format(self, level: int) -> str:
        return (self._options.get(index.VECTOR_FILE_FORMAT) or super().file_format(level)).lower()


class ChangelogSettings(WriteSettings):
    """The settings of changelog files."""

    file_prefix = _option(CHANGELOG_FILE_PREFIX)

    @cached_property
    def file_indexes(self) -> tuple[DeclaredIndex, ...]:
        return ()  # reads of changelogs skip nothing

    def file_format(self, level: int) -> str:
        return (self._options.get(CHANGELOG_FILE_FORMAT) or super().file_format(level)).lower()

    def compression(self, level: int) -> str:
        return self._options.get(CHANGELOG_FILE_COMPRESSION) or super().compression(level)

    def value_modes(self, level: int) -> list[StatsMode]:
        return list(self._modes(level, changelog=True).values())


class FileNamer:
    """Generates unique file names, from a UUID and a counter.

    Args:
        prefix: the prefix of the names, from an option of the table.

    Raises:
        InvalidInputError: the prefix leads to another directory.
    """

    def __init__(self, prefix: str) -> None:
        if not is_file_name(f"{prefix}-"):
            raise InvalidInputError(f"{prefix!r} cannot be the prefix of files: it leads to another directory.")
        self._prefix = prefix
        self._run = str(uuid.uuid4())
        self._numbers = count()

    def next(self, extension: str) -> str:
        """Return the next name."""
        return data_file_name(self._prefix, self._run, next(self._numbers), extension)
