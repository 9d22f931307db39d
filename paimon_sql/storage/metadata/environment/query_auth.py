"""Query authorization: rows and values of a table that a server lets a reader see (Paimon: ``query-auth.enabled``)."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from paimon_sql.errors import CatalogUnavailableError
from paimon_sql.format.schema.types import TypeJson


class FieldRef(TypedDict):
    """A reference to a column, as JSON."""

    index: int
    name: str
    type: TypeJson


class Node(TypedDict, total=False):
    """A predicate or a value transformation, as JSON: the members of all kinds."""

    kind: str
    function: str
    children: list[Node] | None
    literals: list[object] | None
    transform: Node
    name: str
    fieldRef: FieldRef
    type: TypeJson
    inputs: list[FieldRef | str | None] | None


@dataclass(frozen=True)
class QueryAuthResult:
    """The rows and values that a reader may see.

    Attributes:
        filters: predicates; a row is visible if all are true.
        masks: by column, the expression that replaces its values.
    """

    filters: tuple[Node, ...] = ()
    masks: Mapping[str, Node] | None = None

    @staticmethod
    def read(filters: Sequence[str], masks: Mapping[str, str]) -> QueryAuthResult:
        """Parse a server's response.

        Raises:
            CatalogUnavailableError: it is not JSON.
        """
        try:
            parsed_masks = {column: json.loads(text) for column, text in masks.items() if text}
            return QueryAuthResult(tuple(json.loads(text) for text in filters if text), parsed_masks)
        except ValueError as error:
            raise CatalogUnavailableError(
                f"The catalog's server returned an invalid query authorization: {error}"
            ) from None


class QueryAuth(ABC):
    """The authorization of queries on one table; an instance can be pickled."""

    @abstractmethod
    def authorize(self, columns: Sequence[str]) -> QueryAuthResult:
        """Return the current user's authorization for some columns.

        Raises:
            NotAllowedError: nothing is authorized.
        """
