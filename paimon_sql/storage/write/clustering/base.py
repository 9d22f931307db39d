"""Base class of clustering orders, which give the keys to sort rows by."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import pyarrow as pa


class ClusteringOrder(ABC):
    """A clustering order.

    Attributes:
        name: its name in ``order_strategy``.
    """

    name: ClassVar[str]

    @abstractmethod
    def keys(self, columns: Sequence[pa.Array], text_bytes: int) -> list[pa.Array]:
        """The sort keys of rows, as arrays of the columns' length; their number depends on the columns only.

        Args:
            columns: the columns to order by, at least one, of ordered types.
            text_bytes: the number of bytes of strings and binaries that count, in orders that use prefixes.
        """
