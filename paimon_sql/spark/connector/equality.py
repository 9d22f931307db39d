"""What two scans have in common that give the same rows: so Spark sees that it needs only one of them."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any

_OF_ONE_PLAN = re.compile(r'"(?:exprId":\{[^{}]*\}|qualifier":(?:\[[^\[\]]*\]|"(?:[^"\\]|\\.)*"))')
"""What expressions, as Spark tells them in JSON, hold of the one plan that they stand in.

Inside of texts, quotation marks have a backslash before them.
"""


class ScanEquality:
    """What decides which rows a scan gives.

    Args:
        path: the table's folder.
        columns: the names of the columns.
        filters: the conditions that Spark has pushed, as `expression_text` tells them.
        further: all else, which can be compared.
    """

    def __init__(self, path: str, columns: tuple[str, ...], filters: Sequence[str], *further: Any) -> None:
        self.trait: Hashable = (path, columns)
        self._filters = filters
        self._further = further

    @cached_property
    def _conditions(self) -> list[str]:
        return [_OF_ONE_PLAN.sub("", text) for text in self._filters]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScanEquality) or self.trait != other.trait or self._further != other._further:
            return False
        return self._conditions == other._conditions

    def __hash__(self) -> int:
        return hash(self.trait)
