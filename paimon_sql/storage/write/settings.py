"""The options of a table that writers obey, read once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from paimon_sql.format.options.values import parse_memory_size
from paimon_sql.format.schema import TableSchema
from paimon_sql.format.special_fields import key_value_fields
from paimon_sql.format.stats_mode import StatsMode, column_modes
from paimon_sql.format.types import DataField

_KEYED_TARGET, _APPEND_TARGET = "128 mb", "256 mb"


class WriteSettings:
    """What a table's options say of writing."""

    def __init__(self, schema: TableSchema) -> None:
        self._schema = schema
        self._options = schema.options

    @cached_property
    def keyed(self) -> bool:
        """Whether the table has a primary key."""
        return bool(self._schema.primary_keys)

    @cached_property
    def target_file_size(self) -> int:
        """The size in bytes at which a data file is closed."""
        return parse_memory_size(self._options.get("target-file-size", _KEYED_TARGET if self.keyed else _APPEND_TARGET))

    @cached_property
    def buffer_size(self) -> int:
        """The bytes that a writer keeps in memory before it writes them out."""
        return parse_memory_size(self._options.get("write-buffer-size", "256 mb"))

    @cached_property
    def thin(self) -> bool:
        """Whether key columns are stored among the values only."""
        return _flag(self._options.get("data-file.thin-mode", "false"))

    @cached_property
    def dense_stats(self) -> bool:
        """Whether columns without statistics are left out of the stored statistics."""
        return _flag(self._options.get("metadata.stats-dense-store", "true"))

    @cached_property
    def compression_in_name(self) -> bool:
        """Whether file names tell the compression."""
        return _flag(self._options.get("file.suffix.include.compression", "false"))

    @cached_property
    def stored_fields(self) -> Sequence[DataField]:
        """The columns of a data file."""
        return key_value_fields(self._schema, thin=self.thin) if self.keyed else self._schema.fields

    @cached_property
    def buckets(self) -> int:
        """The option ``bucket``."""
        return int(self._options.get("bucket", "-1"))

    def file_format(self, level: int) -> str:
        """The format of files on a level."""
        per_level = _per_level(self._options.get("file.format.per.level", ""))
        return per_level.get(str(level), self._options.get("file.format", "parquet")).lower()

    def compression(self, level: int) -> str:
        """The compression of files on a level."""
        per_level = _per_level(self._options.get("file.compression.per.level", ""))
        return per_level.get(str(level), self._options.get("file.compression", "zstd"))

    def value_modes(self, level: int) -> list[StatsMode]:
        """Which statistics are kept of each column in files on a level."""
        return column_modes(
            self._options,
            self._schema.names,
            level=level if self.keyed else None,
            key_names=self._schema.trimmed_primary_keys if self.thin else (),
        )


def _flag(text: str) -> bool:
    return text.strip().lower() == "true"


def _per_level(text: str) -> dict[str, str]:
    pairs = (item.split(":", 1) for item in text.split(",") if ":" in item)
    return {level.strip(): value.strip() for level, value in pairs}
