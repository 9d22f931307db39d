"""Equality of scans: Spark executes only one of two scans that return the same rows."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any

_PLAN_SPECIFIC = re.compile(r'"(?:exprId":\{[^{}]*\}|qualifier":(?:\[[^\[\]]*\]|"(?:[^"\\]|\\.)*"))')
"""The parts of Spark's JSON of expressions that differ between plans: ids and qualifiers.

It cannot match inside a string value, where quotation marks are escaped.
"""


class ScanEquality:
    """The identity of a scan's rows.

    Args:
        path: the table's directory.
        columns: the names of the columns.
        filters: the filters that Spark pushed, serialized by `expression_text`.
        further: all other values that determine the rows.
    """

    def __init__(self, path: str, columns: tuple[str, ...], filters: Sequence[str], *further: Any) -> None:
        self.trait: Hashable = (path, columns)
        self._filters = filters
        self._further = further

    @cached_property
    def _conditions(self) -> list[str]:
        return [_PLAN_SPECIFIC.sub("", text) for text in self._filters]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScanEquality) or self.trait != other.trait or self._further != other._further:
            return False
        return self._conditions == other._conditions

    def __hash__(self) -> int:
        return hash(self.trait)
