"""Record expiration: compactions drop rows of primary-key tables older than ``record-level.expire-time``.

The time of a row is its column ``record-level.time-field``: a timestamp, or seconds since 1970, or milliseconds if the
number is a BIGINT of 10^12 or more. A row without a time never expires. Reads return expired rows until a compaction
drops them (spec: Primary Key Table, Record-Level Expire).
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

_MIN_MILLIS = 10**12
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True)
class RecordExpiration:
    """The expiration rule of a table (Paimon: `RecordLevelExpire`).

    Attributes:
        column: the column with a row's time.
        seconds: time to live of a row.
        now: the current time in seconds since 1970.
    """

    column: str
    seconds: int
    now: int = field(default_factory=lambda: int(time.time()))

    @staticmethod
    def of(table: Table) -> RecordExpiration | None:
        """Create the rule from a table's options; None if its rows do not expire.

        Raises:
            InvalidOptionError: the time column is missing.
        """
        lifetime = table.options.get(RECORD_LEVEL_EXPIRE_TIME)
        if lifetime is None or not table.schema.has_key:
            return None
        name = table.options.get(RECORD_LEVEL_TIME_FIELD)
        if name is None or name not in table.schema.names:
            raise InvalidOptionError(
                f"{table.name}: rows are to expire ('{RECORD_LEVEL_EXPIRE_TIME.key}'), but no column with their"
                " time is set.",
                key=RECORD_LEVEL_TIME_FIELD.key,
                remedy=f"Set '{RECORD_LEVEL_TIME_FIELD.key}' to a column of the table.",
            )
        return RecordExpiration(name, int(lifetime.total_seconds()))

    def alive(self, times: pa.Array) -> npt.NDArray[np.bool_]:
        """Return which rows have not expired, by their times."""
        found: npt.NDArray[np.bool_] = _seconds(times) >= self.now - self.seconds
        return found | times.is_null().to_numpy(zero_copy_only=False) if times.null_count else found

    def is_due(self, table: Table, file: DataFileMeta) -> bool:
        """Whether a file is known to contain an expired row, by the minimum of its column statistics."""
        current = table.schema.field(self.column)
        written = table.schemas.get(file.schema_id)
        names = file.value_stats_cols if file.value_stats_cols is not None else written.names
        fields = [written.field(name) for name in names]
        index = next((i for i, f in enumerate(fields) if f.id == current.id), None)
        if index is None:
            return False
        minima = decode_columns([f.type for f in fields], [file.value_stats.min_values], overflow_to_null=True)
        return not self.alive(minima[index])[0]


def _seconds(times: pa.Array) -> npt.NDArray[np.int64]:
    """Convert times to seconds since 1970; arbitrary for nulls."""
    numbers: npt.NDArray[np.int64] = times.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    if pa.types.is_timestamp(times.type):
        return numbers // _PER_SECOND[times.type.unit]
    if times.type == pa.int64():
        return np.where(numbers >= _MIN_MILLIS, numbers // 1000, numbers)
    return numbers
