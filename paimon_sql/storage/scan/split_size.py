"""How large the splits of a read are: by the table's options, the engine's settings, and how many readers there are."""

from __future__ import annotations

from dataclasses import dataclass, replace

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.scan import SOURCE_SPLIT_OPEN_FILE_COST, SOURCE_SPLIT_TARGET_SIZE

SPLIT_BYTES = SOURCE_SPLIT_TARGET_SIZE.default
OPEN_COST = SOURCE_SPLIT_OPEN_FILE_COST.default
_LEAST_RANGE = 1024 * 1024


@dataclass(frozen=True)
class SplitSize:
    """How files, or sections of files, are packed into splits.

    Attributes:
        target: the bytes of one split; what cannot be divided may be larger.
        open_cost: the bytes that a file counts at the least, as opening one takes time however small it is.
    """

    target: int = SPLIT_BYTES
    open_cost: int = OPEN_COST

    @classmethod
    def of(cls, options: TableOptions, engine: SplitSize | None = None) -> SplitSize:
        """The size that options ask for.

        Args:
            options: the table's, those of the session and of the read put over them.
            engine: what the engine's own settings say, where the options say nothing; by default 128 MB and 4 MB.
        """
        base = engine or cls()
        target, cost = SOURCE_SPLIT_TARGET_SIZE, SOURCE_SPLIT_OPEN_FILE_COST
        return cls(
            options.get(target) if options.has(target) else base.target,
            options.get(cost) if options.has(cost) else base.open_cost,
        )

    def shared(self, size: int, files: int, readers: int) -> SplitSize:
        """The same with a target small enough that all readers have work (Paimon: ``BinPackingSplits``).

        Args:
            size: the bytes to read.
            files: the number of files that they are in.
            readers: how many work at once.
        """
        share = (size + files * self.open_cost) // max(1, readers)
        return replace(self, target=min(self.target, max(self.open_cost, share)))

    @property
    def range_size(self) -> int:
        """The bytes of a range where single files are divided; opening each of them should be worth it."""
        return max(self.target, self.open_cost, _LEAST_RANGE)


STREAM_SPLITS = SplitSize()
"""The splits of streams. Positions of streams count splits, so that no option may change them under a checkpoint."""
