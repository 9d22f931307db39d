"""Positions of streams: the offsets in checkpoints (Paimon: `PaimonSourceOffset`)."""

from __future__ import annotations

import json
from dataclasses import dataclass

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.bytes.bounded import load_json

BEFORE_FIRST = -1
"""The index of a position before all splits of its snapshot."""


@dataclass(frozen=True)
class Position:
    """A split of a snapshot, up to which a stream is read.

    Its JSON is that of the connector's offsets in checkpoints of Structured Streaming.

    Attributes:
        snapshot_id: the snapshot.
        index: the index of the split in the snapshot.
        full: whether all rows of the snapshot are read, not its changes.
        splits: the number of splits of the snapshot; None before the first.
    """

    snapshot_id: int
    index: int = BEFORE_FIRST
    full: bool = False
    splits: int | None = None

    @property
    def ends_snapshot(self) -> bool:
        """Whether this is the last split of the snapshot."""
        return self.splits is not None and self.index == self.splits - 1

    @property
    def order(self) -> tuple[int, int]:
        """The sort key of positions of one stream."""
        return self.snapshot_id, self.index

    def to_json(self) -> str:
        """The position as JSON for a checkpoint."""
        body = {"snapshotId": self.snapshot_id, "index": self.index, "scanSnapshot": self.full}
        return json.dumps(body if self.splits is None else body | {"totalSplits": self.splits})


def parse_position(text: str) -> Position:
    """Read a position from a checkpoint.

    Raises:
        InvalidInputError: the text is not a position.
    """
    try:
        body = load_json(text)
        total = body.get("totalSplits")
        return Position(
            int(body["snapshotId"]),
            int(body["index"]),
            bool(body["scanSnapshot"]),
            None if total is None else int(total),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInputError(
            f"The checkpoint's offset is none of a Paimon table: {text}.", remedy="Use another checkpoint."
        ) from error
