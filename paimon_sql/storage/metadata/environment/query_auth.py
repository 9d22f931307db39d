"""Query authorization: rows and values of a table that a server lets a reader see (Paimon: ``query-auth.enabled``)."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paimon_sql.errors import CatalogUnavailableError

Node = Mapping[str, Any]
"""A predicate or a value transformation, as JSON."""


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
            raise CatalogUnavailableError(f"The catalog's server tells rights that cannot be read: {error}") from None


class QueryAuth(ABC):
    """The authorization of queries on one table; an instance can be pickled."""

    @abstractmethod
    def authorize(self, columns: Sequence[str]) -> QueryAuthResult:
        """Return the current user's authorization for some columns.

        Raises:
            NotAllowedError: nothing is authorized.
        """
