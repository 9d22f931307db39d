"""What a layout of rows is: keys by which they are sorted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import pyarrow as pa


class RowLayout(ABC):
    """A way to lay out rows by some columns.

    Attributes:
        name: what ``order_strategy`` calls it.
    """

    name: ClassVar[str]

    @abstractmethod
    def keys(self, columns: Sequence[pa.Array], text_bytes: int) -> list[pa.Array]:
        """Columns that rows are to be sorted by, each as long as those given and as many for all rows.

        Args:
            columns: the columns to order by, one or more of types that have an order.
            text_bytes: how many bytes of a text or binary count, where a layout cannot take them whole.
        """
