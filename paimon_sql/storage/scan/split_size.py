"""The size of splits: from the table's options, the engine's settings, and the number of readers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.scan import SOURCE_SPLIT_OPEN_FILE_COST, SOURCE_SPLIT_TARGET_SIZE

SPLIT_BYTES = SOURCE_SPLIT_TARGET_SIZE.default
OPEN_COST = SOURCE_SPLIT_OPEN_FILE_COST.default
_MIN_RANGE = 1024 * 1024


@dataclass(frozen=True)
class SplitSize:
    """How files, or sections of files, are packed into splits.

    Attributes:
        target: the bytes of one split; a file or section that cannot be divided may be larger.
        open_cost: the min bytes that a file counts as, for the time to open it.
    """

    target: int = SPLIT_BYTES
    open_cost: int = OPEN_COST

    @classmethod
    def of(cls, options: TableOptions, engine: SplitSize | None = None) -> SplitSize:
        """The size that options set.

        Args:
            options: the table's options, overridden by those of the session and of the read.
            engine: the engine's settings, for options that are not set; by default 128 MB and 4 MB.
        """
        base = engine or cls()
        target, cost = SOURCE_SPLIT_TARGET_SIZE, SOURCE_SPLIT_OPEN_FILE_COST
        return cls(
            options.get(target) if options.has(target) else base.target,
            options.get(cost) if options.has(cost) else base.open_cost,
        )

    def shared(self, size: int, files: int, readers: int) -> SplitSize:
        """The size with a target small enough to give work to all readers (Paimon: ``BinPackingSplits``).

        Args:
            size: the bytes to read.
            files: the number of files.
            readers: the number of parallel readers.
        """
        share = (size + files * self.open_cost) // max(1, readers)
        return replace(self, target=min(self.target, max(self.open_cost, share)))

    @property
    def range_size(self) -> int:
        """The bytes of a range of a divided file, large enough to be worth the opening."""
        return max(self.target, self.open_cost, _MIN_RANGE)


STREAM_SPLITS = SplitSize()
"""The size of splits in streams. Positions of streams count splits, so no option may change it under a checkpoint."""
