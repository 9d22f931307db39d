"""What a run selects of combinations that are many: they take turns; ``PAIMON_TEST_KINDS=all`` has them all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
EVERY = os.environ.get("PAIMON_TEST_KINDS") == "all"


def in_turns(values: Sequence[T], turn: int, count: int = 1) -> Sequence[T]:
    """Of some values those whose turn it is.

    Args:
        values: all.
        turn: the number of what they are combined with; the next number has the next values.
        count: how many.
    """
    if EVERY:
        return values
    return [values[(turn * count + i) % len(values)] for i in range(count)]
