"""The options of a table that writers obey, read once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cached_property

from paimon_sql.format.file_index.declared import DeclaredIndex, declared_indexes
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.changelog import (
    CHANGELOG_FILE_COMPRESSION,
    CHANGELOG_FILE_FORMAT,
    CHANGELOG_FILE_PREFIX,
)
from paimon_sql.format.options.operations.write import WRITE_BUFFER_SIZE
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.format.options.table.data_file import (
    DATA_FILE_PREFIX,
    DATA_FILE_THIN_MODE,
    FILE_COMPRESSION,
    FILE_COMPRESSION_PER_LEVEL,
    FILE_FORMAT,
    FILE_FORMAT_PER_LEVEL,
    FILE_SUFFIX_INCLUDE_COMPRESSION,
    METADATA_STATS_DENSE_STORE,
    TARGET_FILE_ROW_NUM,
    TARGET_FILE_SIZE,
)
from paimon_sql.format.options.table.index import (
    FILE_INDEX_IN_MANIFEST_THRESHOLD,
    VECTOR_FILE_FORMAT,
    VECTOR_TARGET_FILE_SIZE,
)
from paimon_sql.format.options.table.row_tracking import BLOB_TARGET_FILE_SIZE
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import TRACKED, key_value_fields
from paimon_sql.format.schema.types import DataField
from paimon_sql.format.statistics.modes import StatsMode, column_modes
from paimon_sql.storage.columns.blobs import fields_in_blob_files
from paimon_sql.storage.columns.vectors import fields_in_vector_files

_KEYED_TARGET, _APPEND_TARGET = 128 * 1024 * 1024, 256 * 1024 * 1024


class WriteSettings:
    """What a table's options say of writing.

    Attributes:
        mark: what stands before the extension in names of data files.
    """

    mark = ""

    def __init__(self, schema: TableSchema) -> None:
        self._schema = schema
        self._options = TableOptions(schema.options)

    @cached_property
    def keyed(self) -> bool:
        """Whether the table has a primary key."""
        return bool(self._schema.primary_keys)

    @cached_property
    def target_file_size(self) -> int:
        """The size in bytes at which a data file is closed."""
        return self._options.get(TARGET_FILE_SIZE) or (_KEYED_TARGET if self.keyed else _APPEND_TARGET)

    @cached_property
    def most_file_rows(self) -> int:
        """The number of rows at which a data file of new rows is closed; compactions go by size alone."""
        return self._options.get(TARGET_FILE_ROW_NUM)

    @cached_property
    def buffer_size(self) -> int:
        """The bytes that a writer keeps in memory before it writes them out."""
        return self._options.get(WRITE_BUFFER_SIZE)

    @cached_property
    def thin(self) -> bool:
        """Whether key columns are stored among the values only."""
        return self._options.get(DATA_FILE_THIN_MODE)

    @cached_property
    def dense_stats(self) -> bool:
        """Whether columns without statistics are left out of the stored statistics."""
        return self._options.get(METADATA_STATS_DENSE_STORE)

    @cached_property
    def compression_in_name(self) -> bool:
        """Whether file names tell the compression."""
        return self._options.get(FILE_SUFFIX_INCLUDE_COMPRESSION)

    @cached_property
    def stored_fields(self) -> Sequence[DataField]:
        """The columns of a data file."""
        if self.keyed:
            return key_value_fields(self._schema, thin=self.thin)
        return tuple(f for f in self._schema.fields if f not in self._apart)

    @cached_property
    def blob_fields(self) -> tuple[DataField, ...]:
        """The columns that go into files of blobs, each into its own, beside those of the data files."""
        return fields_in_blob_files(self._schema)

    @cached_property
    def vectors(self) -> VectorSettings | None:
        """What files of vectors are written by, beside the data files; None where vectors stand in these."""
        fields = fields_in_vector_files(self._schema)
        return VectorSettings(self._schema, [f.name for f in fields]) if fields else None

    @property
    def _apart(self) -> tuple[DataField, ...]:
        """The columns that have files of their own."""
        return (*self.blob_fields, *(self.vectors.stored_fields if self.vectors else ()))

    @cached_property
    def brought_columns(self) -> tuple[str, ...]:
        """The columns that rows bring to be written."""
        return tuple(f.name for f in (*self.stored_fields, *self._apart))

    @cached_property
    def blob_target_file_size(self) -> int:
        """The size in bytes at which a file of blobs is closed."""
        return self._options.get(BLOB_TARGET_FILE_SIZE) or WriteSettings(self._schema).target_file_size

    @cached_property
    def write_columns(self) -> tuple[str, ...] | None:
        """What a data file tells of its columns; None where it has just those of the table."""
        return tuple(f.name for f in self.stored_fields) if self._apart else None

    @cached_property
    def names_counted(self) -> bool:
        """Whether a data file that tells its columns tells those with statistics too where these are all of them."""
        return False

    @cached_property
    def file_indexes(self) -> tuple[DeclaredIndex, ...]:
        """The indexes that data files get."""
        return tuple(declared_indexes(self._options))

    @cached_property
    def most_in_manifest(self) -> int:
        """The size in bytes up to which a file's indexes stand in the manifest."""
        return self._options.get(FILE_INDEX_IN_MANIFEST_THRESHOLD)

    @cached_property
    def counted_fields(self) -> Sequence[DataField]:
        """The columns of which statistics may be kept."""
        return self.stored_fields if self._apart else self._schema.fields

    @cached_property
    def carries_numbers(self) -> bool:
        """Whether rows of append tables bring the snapshots that changed them."""
        return False

    @cached_property
    def buckets(self) -> int:
        """The option ``bucket``."""
        return self._options.get(BUCKET)

    @cached_property
    def file_prefix(self) -> str:
        """How names of data files begin."""
        return self._options.get(DATA_FILE_PREFIX)

    def file_format(self, level: int) -> str:
        """The format of files on a level."""
        per_level = self._options.get(FILE_FORMAT_PER_LEVEL)
        return per_level.get(str(level), self._options.get(FILE_FORMAT)).lower()

    def compression(self, level: int) -> str:
        """The compression of files on a level."""
        per_level = self._options.get(FILE_COMPRESSION_PER_LEVEL)
        return per_level.get(str(level), self._options.get(FILE_COMPRESSION))

    def value_modes(self, level: int) -> list[StatsMode]:
        """Which statistics are kept of each column in files on a level."""
        apart = {f.name for f in self._apart}
        return [mode for name, mode in self._modes(level).items() if name not in apart]

    def _modes(self, level: int) -> dict[str, StatsMode]:
        modes = column_modes(
            self._schema.options,
            self._schema.names,
            level=level if self.keyed else None,
            key_names=self._schema.trimmed_primary_keys if self.thin else (),
        )
        return dict(zip(self._schema.names, modes, strict=True))


class TrackedSettings(WriteSettings):
    """What a table's options say of writing rows that bring their ids and the snapshots that changed them."""

    @cached_property
    def stored_fields(self) -> Sequence[DataField]:
        return (*self._schema.fields, *TRACKED)

    @cached_property
    def blob_fields(self) -> tuple[DataField, ...]:
        return ()  # columns of blobs and rows that move do not go together

    @cached_property
    def vectors(self) -> VectorSettings | None:
        return None  # rows that move may have theirs among the other columns

    @cached_property
    def names_counted(self) -> bool:
        return True

    @cached_property
    def write_columns(self) -> tuple[str, ...] | None:
        return tuple(f.name for f in self.stored_fields)

    @cached_property
    def carries_numbers(self) -> bool:
        return True


class ColumnSettings(WriteSettings):
    """What a table's options say of writing some columns of rows that stand elsewhere, all rows into one file.

    Args:
        schema: the table's schema.
        columns: the columns, none of which has files of blobs.
        vectors: what the vectors that come with them are written by, if they go into files of their own.
    """

    def __init__(self, schema: TableSchema, columns: Sequence[str], vectors: VectorSettings | None = None) -> None:
        super().__init__(schema)
        self._columns = tuple(columns)
        self._vectors_beside = vectors

    @cached_property
    def target_file_size(self) -> int:
        return sys.maxsize

    @cached_property
    def most_file_rows(self) -> int:
        return sys.maxsize

    @cached_property
    def stored_fields(self) -> Sequence[DataField]:
        return self._schema.select(self._columns)

    @cached_property
    def blob_fields(self) -> tuple[DataField, ...]:
        return ()

    @cached_property
    def vectors(self) -> VectorSettings | None:
        return self._vectors_beside

    @cached_property
    def names_counted(self) -> bool:
        return True

    @cached_property
    def counted_fields(self) -> Sequence[DataField]:
        return self.stored_fields

    @cached_property
    def write_columns(self) -> tuple[str, ...] | None:
        return self._columns

    def value_modes(self, level: int) -> list[StatsMode]:
        modes = self._modes(level)
        return [modes[name] for name in self._columns]


class VectorSettings(ColumnSettings):
    """What a table's options say of writing files of vectors."""

    mark = ".vector"

    @cached_property
    def target_file_size(self) -> int:
        return self._options.get(VECTOR_TARGET_FILE_SIZE) or WriteSettings(self._schema).target_file_size

    @cached_property
    def file_indexes(self) -> tuple[DeclaredIndex, ...]:
        return ()

    def file_format(self, level: int) -> str:
        return (self._options.get(VECTOR_FILE_FORMAT) or super().file_format(level)).lower()


class ChangelogSettings(WriteSettings):
    """What a table's options say of writing changelog files, where that differs from data files."""

    @cached_property
    def file_prefix(self) -> str:
        return self._options.get(CHANGELOG_FILE_PREFIX)

    @cached_property
    def file_indexes(self) -> tuple[DeclaredIndex, ...]:
        return ()  # changelogs are read whole

    def file_format(self, level: int) -> str:
        return (self._options.get(CHANGELOG_FILE_FORMAT) or super().file_format(level)).lower()

    def compression(self, level: int) -> str:
        return self._options.get(CHANGELOG_FILE_COMPRESSION) or super().compression(level)

    def value_modes(self, level: int) -> list[StatsMode]:
        return column_modes(
            self._schema.options,
            self._schema.names,
            level=level,
            changelog=True,
            key_names=self._schema.trimmed_primary_keys if self.thin else (),
        )
