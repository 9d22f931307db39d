"""A story: what becomes of one table, statement by statement, and what is asked of it in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Order(Enum):
    """What of an answer is certain."""

    ROWS = "rows"
    """Its rows, in any order."""
    SOME = "some"
    """How many they are; each is one of the answer without the limit."""
    FIRST = "first"
    """The first columns of its rows, in their order; each row is one of the answer without the limit."""


@dataclass(frozen=True)
class Query:
    """A question to a table.

    Attributes:
        text: the query, ``{source}`` in the table's place and ``{limit}`` where the limit stands.
        order: what of the answer is certain.
        limit: the limit, if there is one.
        keys: how many of the first columns the rows are ordered by.
    """

    text: str
    order: Order = Order.ROWS
    limit: str = ""
    keys: int = 0

    def of(self, source: str, *, limited: bool = True) -> str:
        """The query of some table."""
        return self.text.replace("{source}", source).replace("{limit}", self.limit if limited else "")


@dataclass(frozen=True)
class Statement:
    """Something done to the table; what it refuses is passed over."""

    text: str


@dataclass(frozen=True)
class Change:
    """An UPDATE or DELETE, and what the table holds afterwards, as a query of what it held before."""

    text: str
    becomes: str


@dataclass(frozen=True)
class Check:
    """Queries of one state of the table.

    Attributes:
        source: the table as FROM names it.
        hidden: hidden columns that are read, too.
        queries: the queries.
        keys: columns of which each row has other values.
    """

    source: str
    hidden: tuple[str, ...]
    queries: tuple[Query, ...]
    keys: tuple[str, ...] = ()


Step = Statement | Change | Check


@dataclass(frozen=True)
class Story:
    """What becomes of a table, from its CREATE on."""

    steps: tuple[Step, ...]

    def without(self, places: Sequence[int]) -> Story:
        """The story with some steps left out."""
        return Story(tuple(step for i, step in enumerate(self.steps) if i not in places))
