"""Base class of system tables that show a table in another state, with the same columns."""

from __future__ import annotations

from abc import abstractmethod

from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import NamedTable


class TableView(NamedTable):
    """A table ``t$name`` that is read like ``t``, but sees other rows."""

    @abstractmethod
    def of(self, table: Table) -> Table:
        """The table to read in place of the data table."""
