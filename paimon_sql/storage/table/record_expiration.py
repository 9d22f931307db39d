"""Rows of keyed tables that have outlived ``record-level.expire-time``: compactions pass over them.

A row is as old as its column ``record-level.time-field`` says: a timestamp, or seconds since 1970, or milliseconds if
the number is a BIGINT of 10^12 or more. A row without a time never expires. Reads show expired rows until a compaction
comes upon them (spec: Primary Key Table, Record-Level Expire).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options.table.partition import RECORD_LEVEL_EXPIRE_TIME, RECORD_LEVEL_TIME_FIELD
from paimon_sql.format.rows.decode import decode_columns
from paimon_sql.storage.table.table import Table

_FIRST_MILLIS = 10**12
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True)
class RecordExpiration:
    """Which rows have expired.

    Attributes:
        column: the column with a row's time.
        seconds: how long a row lives.
        now: the present time in seconds since 1970.
    """

    column: str
    seconds: int
    now: int = field(default_factory=lambda: int(time.time()))

    @staticmethod
    def of(table: Table) -> RecordExpiration | None:
        """What the options of a table say; None if its rows do not expire.

        Raises:
            InvalidOptionError: rows are to expire, and no column says how old they are.
        """
        lifetime = table.options.get(RECORD_LEVEL_EXPIRE_TIME)
        if lifetime is None or not table.schema.primary_keys:
            return None
        name = table.options.get(RECORD_LEVEL_TIME_FIELD)
        if name is None or name not in table.schema.names:
            raise InvalidOptionError(
                f"{table.name}: rows are to expire ('{RECORD_LEVEL_EXPIRE_TIME.key}'), but no column tells their time.",
                key=RECORD_LEVEL_TIME_FIELD.key,
                remedy=f"Set '{RECORD_LEVEL_TIME_FIELD.key}' to a column of the table.",
            )
        return RecordExpiration(name, int(lifetime.total_seconds()))

    def alive(self, times: pa.Array) -> npt.NDArray[np.bool_]:
        """Which rows have not expired, by their times."""
        found: npt.NDArray[np.bool_] = _seconds(times) >= self.now - self.seconds
        return found | times.is_null().to_numpy(zero_copy_only=False) if times.null_count else found

    def is_due(self, table: Table, file: DataFileMeta) -> bool:
        """Whether a file is known to hold an expired row: the statistics of its columns tell its oldest."""
        today = table.schema.field(self.column)
        written = table.schemas.get(file.schema_id)
        names = file.value_stats_cols if file.value_stats_cols is not None else written.names
        fields = [written.field(name) for name in names]
        place = next((i for i, f in enumerate(fields) if f.id == today.id), None)
        if place is None:
            return False
        minima = decode_columns([f.type for f in fields], [file.value_stats.min_values], overflow_to_null=True)
        return not self.alive(minima[place])[0]


def _seconds(times: pa.Array) -> npt.NDArray[np.int64]:
    """Times as seconds since 1970; nulls have any."""
    numbers: npt.NDArray[np.int64] = times.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    if pa.types.is_timestamp(times.type):
        return numbers // _PER_SECOND[times.type.unit]
    if times.type == pa.int64():
        return np.where(numbers >= _FIRST_MILLIS, numbers // 1000, numbers)
    return numbers
