"""How far a stream has come."""

from __future__ import annotations

import json
from dataclasses import dataclass

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.bytes.bounded import load_json

BEFORE_FIRST = -1
"""The index of a position before all splits of its snapshot."""


@dataclass(frozen=True)
class Position:
    """A split of a snapshot, which is read with all before it.

    The JSON is that of the connector's offsets in the checkpoints of Structured Streaming.

    Attributes:
        snapshot_id: the snapshot.
        index: the number of the split among those that the snapshot is read by.
        full: whether the snapshot is read as it stands, not what it changed.
        splits: how many splits the snapshot is read by; None before the first.
    """

    snapshot_id: int
    index: int = BEFORE_FIRST
    full: bool = False
    splits: int | None = None

    @property
    def ends_snapshot(self) -> bool:
        """Whether nothing is left of the snapshot."""
        return self.splits is not None and self.index == self.splits - 1

    @property
    def order(self) -> tuple[int, int]:
        """What positions of one stream are compared by."""
        return self.snapshot_id, self.index

    def to_json(self) -> str:
        """The position as a checkpoint keeps it."""
        body = {"snapshotId": self.snapshot_id, "index": self.index, "scanSnapshot": self.full}
        return json.dumps(body if self.splits is None else body | {"totalSplits": self.splits})


def parse_position(text: str) -> Position:
    """Read a position from a checkpoint.

    Raises:
        InvalidInputError: the text tells none.
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
