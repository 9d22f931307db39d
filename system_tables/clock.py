"""Points in time as system tables show them: the wall clock of this machine, to the millisecond.

Paimon keeps commit times as milliseconds since the epoch, but the creation of files and tags as the writer's wall
clock; shown together they must be of one kind.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa

_EPOCH = datetime(1970, 1, 1)
_WALL = pa.timestamp("us")


def wall_clock(epoch_millis: int) -> datetime:
    """The wall clock of this machine at a time, without a zone."""
    seconds, millis = divmod(epoch_millis, 1000)
    try:
        return datetime.fromtimestamp(seconds) + timedelta(milliseconds=millis)
    except (ValueError, OverflowError, OSError):
        return _EPOCH + timedelta(milliseconds=epoch_millis)


def wall_clocks(wall_millis: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Wall-clock times that are kept as milliseconds, as manifests keep the creation of files."""
    return wall_millis.cast(pa.timestamp("ms")).cast(_WALL)


def epoch_millis(wall: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The milliseconds since the epoch of the times that `wall_clocks` gives."""
    return pa.array([None if w is None else round(w.timestamp() * 1000) for w in wall.to_pylist()], pa.int64())
