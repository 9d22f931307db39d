"""How much one step of a stream takes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from paimon_sql.format.options.engines.spark import (
    READ_STREAM_MAX_BYTES_PER_TRIGGER,
    READ_STREAM_MAX_FILES_PER_TRIGGER,
    READ_STREAM_MAX_ROWS_PER_TRIGGER,
    READ_STREAM_MAX_TRIGGER_DELAY_MS,
    READ_STREAM_MIN_ROWS_PER_TRIGGER,
)
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class Limits:
    """What is left to take; None is without limit. A split that is begun is taken whole.

    Attributes:
        files, bytes, rows: at most so many.
        least_rows: a step waits for so many rows ...
        longest_wait: ... but not longer than so many seconds.
    """

    files: int | None = None
    bytes: int | None = None
    rows: int | None = None
    least_rows: int | None = None
    longest_wait: float | None = None

    @classmethod
    def of(cls, table: Table) -> Limits:
        """The limits that the options of a read set."""
        options = table.options
        wait = options.get(READ_STREAM_MAX_TRIGGER_DELAY_MS)
        return cls(
            options.get(READ_STREAM_MAX_FILES_PER_TRIGGER),
            options.get(READ_STREAM_MAX_BYTES_PER_TRIGGER),
            options.get(READ_STREAM_MAX_ROWS_PER_TRIGGER),
            options.get(READ_STREAM_MIN_ROWS_PER_TRIGGER),
            None if wait is None else wait / 1000,
        )

    @property
    def has_room(self) -> bool:
        """Whether another split may be taken."""
        return all(left is None or left > 0 for left in (self.files, self.bytes, self.rows))

    def without(self, split: Split) -> Limits:
        """What is left when a split is taken."""
        return replace(
            self,
            files=None if self.files is None else self.files - len(split.files),
            bytes=None if self.bytes is None else self.bytes - split.size,
            rows=None if self.rows is None else self.rows - split.row_count,
        )

    def waits(self, rows: int, waited: float) -> bool:
        """Whether a step of so many rows had better wait on."""
        if self.least_rows is None or rows >= self.least_rows:
            return False
        return self.longest_wait is None or waited < self.longest_wait
