"""What a system table is that shows a table in another state, with the same columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from paimon_sql.storage.table.table import Table


class TableView(ABC):
    """A table ``t$name`` that is read as ``t`` is, but sees other rows.

    Attributes:
        name: what stands behind the ``$``.
        summary: what its rows are, in one sentence.
    """

    name: ClassVar[str]
    summary: ClassVar[str]

    @abstractmethod
    def of(self, table: Table) -> Table:
        """The table to be read in place of the data table."""
