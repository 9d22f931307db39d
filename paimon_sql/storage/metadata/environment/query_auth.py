"""Which rows and values of a table its reader may see, where somebody else decides that (``query-auth.enabled``)."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paimon_sql.errors import CatalogUnavailableError

Node = Mapping[str, Any]
"""A condition or what a value is made of, as JSON has it."""


@dataclass(frozen=True)
class QueryAuthResult:
    """What of a table is shown.

    Attributes:
        filters: conditions; a row is shown for which all of them are true.
        masks: what is shown in the place of the values of a column.
    """

    filters: tuple[Node, ...] = ()
    masks: Mapping[str, Node] | None = None

    @staticmethod
    def read(filters: Sequence[str], masks: Mapping[str, str]) -> QueryAuthResult:
        """Rights as a server tells them.

        Raises:
            CatalogUnavailableError: they are no JSON.
        """
        try:
            found = {column: json.loads(text) for column, text in masks.items() if text}
            return QueryAuthResult(tuple(json.loads(text) for text in filters if text), found)
        except ValueError as error:
            raise CatalogUnavailableError(f"The catalog's server tells rights that cannot be read: {error}") from None


class QueryAuth(ABC):
    """Who says what of one table is shown; an instance can be pickled."""

    @abstractmethod
    def rights(self, columns: Sequence[str]) -> QueryAuthResult:
        """What of some columns is shown to whoever asks.

        Raises:
            NotAllowedError: nothing is.
        """
