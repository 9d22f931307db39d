"""Metadata of a data file, as manifests store it: level, key range, statistics (spec: Data File)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import tzinfo
from enum import IntEnum

from paimon_sql.format.statistics.column_statistics import EMPTY_ROW, EMPTY_STATS, SimpleStats
from paimon_sql.format.text.instants import epoch_millis


class FileSource(IntEnum):
    """The operation that created a data file (Paimon: `FileSource`)."""

    APPEND = 0
    """New rows were written."""
    COMPACT = 1
    """Older files were rewritten."""


@dataclass(frozen=True, slots=True)
class DataFileMeta:
    """Metadata of one data file (Paimon: `DataFileMeta`).

    Keys and statistics are serialized rows (see `SimpleStats`): ``min_key`` and ``max_key`` over the trimmed primary
    key, ``value_stats`` over ``value_stats_cols``, or over all columns if that is None. ``row_count`` includes
    deletes, of which there are ``delete_row_count``. ``creation_time_millis`` is the writer's wall clock, as if
    it were UTC, in milliseconds. ``write_cols`` are the columns of a file that holds only some columns, and
    ``write_cols_sequences`` the max sequence number of each of them.
    """

    file_name: str
    file_size: int
    row_count: int
    min_key: bytes = EMPTY_ROW
    max_key: bytes = EMPTY_ROW
    key_stats: SimpleStats = EMPTY_STATS
    value_stats: SimpleStats = EMPTY_STATS
    min_sequence_number: int = 0
    max_sequence_number: int = 0
    schema_id: int = 0
    level: int = 0
    extra_files: tuple[str, ...] = ()
    creation_time_millis: int | None = None
    delete_row_count: int | None = None
    embedded_index: bytes | None = None
    file_source: int | None = None
    value_stats_cols: tuple[str, ...] | None = None
    external_path: str | None = None
    first_row_id: int | None = None
    write_cols: tuple[str, ...] | None = None
    write_cols_sequences: tuple[int, ...] | None = None

    def creation_epoch_millis(self, zone: tzinfo | None = None) -> int | None:
        """The creation time of the file, in milliseconds since the epoch.

        Args:
            zone: the zone of the writer's clock; None for the local zone.
        """
        millis = self.creation_time_millis
        return None if millis is None else epoch_millis(millis, zone)

    def upgrade(self, level: int) -> DataFileMeta:
        """The same file on a deeper level; files never move to a lower one.

        Raises:
            ValueError: the level is not deeper.
        """
        if level <= self.level:
            raise ValueError(f"{self.file_name} is on level {self.level} and cannot move to {level}")
        return replace(self, level=level)

    def without_stats(self) -> DataFileMeta:
        """The same file without value statistics, as manifests may store deleted files."""
        return replace(self, value_stats=EMPTY_STATS, value_stats_cols=())

    def rename(self, file_name: str) -> DataFileMeta:
        """The same file with another name in the same directory."""
        external = self.external_path
        if external is not None:
            external = external[: external.rindex("/") + 1] + file_name
        return replace(self, file_name=file_name, external_path=external)
