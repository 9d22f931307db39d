"""Base class of system tables that show a table in another state, with the same columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from paimon_sql.storage.table.table import Table


class TableView(ABC):
    """A table ``t$name`` that is read like ``t``, but sees other rows.

    Attributes:
        name: the name after ``$``.
        summary: its rows; one sentence.
    """

    name: ClassVar[str]
    summary: ClassVar[str]

    @abstractmethod
    def of(self, table: Table) -> Table:
        """The table to read in place of the data table."""
