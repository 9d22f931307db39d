"""What manifests say about a data file: where its rows stand, their key range and statistics (spec: Data File)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone, tzinfo
from enum import IntEnum

from paimon_sql.format.statistics.simple_stats import EMPTY_ROW, EMPTY_STATS, SimpleStats
from paimon_sql.format.text.durations import MILLISECOND

_EPOCH = datetime(1970, 1, 1)


class FileSource(IntEnum):
    """Where a data file came from."""

    APPEND = 0
    """New rows were written."""
    COMPACT = 1
    """Older files were rewritten."""


@dataclass(frozen=True, slots=True)
class DataFileMeta:
    """One data file as a manifest describes it.

    Keys and statistics are serialised rows (see `simple_stats`): ``min_key`` and ``max_key`` over the trimmed primary
    key, ``value_stats`` over ``value_stats_cols``, or over all columns when that is None. ``row_count`` includes
    deletes, of which there are ``delete_row_count``. ``creation_time_millis`` is the writer's wall clock, as if
    it were UTC, in milliseconds. ``write_cols`` are the columns that the file holds when it holds only some, and
    ``write_cols_sequences`` the greatest sequence number of each of them.
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
        """When the file was made, in milliseconds since the epoch.

        Args:
            zone: the zone of the writer's clock; None is this machine's.
        """
        millis = self.creation_time_millis
        return None if millis is None else epoch_millis(millis, zone)

    def upgrade(self, level: int) -> DataFileMeta:
        """The same file on a deeper level; a file never goes up again."""
        if level <= self.level:
            raise ValueError(f"{self.file_name} stands on level {self.level} and cannot move to {level}")
        return replace(self, level=level)

    def without_stats(self) -> DataFileMeta:
        """The same file without the statistics of its values, as manifests may keep deleted files."""
        return replace(self, value_stats=EMPTY_STATS, value_stats_cols=())

    def rename(self, file_name: str) -> DataFileMeta:
        """The same file under another name in the same directory."""
        external = self.external_path
        if external is not None:
            external = external[: external.rindex("/") + 1] + file_name
        return replace(self, file_name=file_name, external_path=external)


def wall_clock_millis(zone: tzinfo | None = None, now: Callable[[], float] = time.time) -> int:
    """The present time as `DataFileMeta.creation_time_millis` states it: the wall clock read as if it were UTC.

    Args:
        zone: the zone of the clock; None is this machine's.
        now: seconds since the epoch.
    """
    local = datetime.fromtimestamp(now(), zone).replace(tzinfo=None)
    return (local - _EPOCH) // MILLISECOND


def epoch_millis(wall_millis: int, zone: tzinfo | None = None) -> int:
    """A wall-clock time of `wall_clock_millis` as milliseconds since the epoch.

    A time that a change of clocks passes over or repeats is read with the offset before the change.
    """
    local = _EPOCH + timedelta(milliseconds=wall_millis)
    aware = local.astimezone(timezone.utc) if zone is None else local.replace(tzinfo=zone).astimezone(timezone.utc)
    return (aware.replace(tzinfo=None) - _EPOCH) // MILLISECOND
