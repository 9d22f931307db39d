"""Timestamps of system tables: the local time of this machine, in milliseconds.

Paimon stores commit times as milliseconds since the epoch, but creation times of files and tags as the writer's local
time; system tables show both as local time.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa

_EPOCH = datetime(1970, 1, 1)
_WALL = pa.timestamp("us")


def wall_clock(epoch_millis: int) -> datetime:
    """Convert milliseconds since the epoch to local time."""
    seconds, millis = divmod(epoch_millis, 1000)
    try:
        return datetime.fromtimestamp(seconds) + timedelta(milliseconds=millis)
    except (ValueError, OverflowError, OSError):
        return _EPOCH + timedelta(milliseconds=epoch_millis)


def wall_clocks(wall_millis: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Convert local times in milliseconds, as of file creations (Paimon: `DataFileMeta`), to timestamps."""
    return wall_millis.cast(pa.timestamp("ms")).cast(_WALL)


def epoch_millis(wall: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Convert times of `wall_clocks` to milliseconds since the epoch."""
    return pa.array([None if w is None else round(w.timestamp() * 1000) for w in wall.to_pylist()], pa.int64())
