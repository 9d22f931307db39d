"""Base class of system tables with rows from metadata: columns, and a producer of Arrow rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import pyarrow as pa

from paimon_sql.format.schema.types import DataField, DataType
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.table import Table


def column(name: str, data_type: DataType, meaning: str) -> DataField:
    """A column of a system table."""
    return DataField(-1, name, data_type, meaning)


class SystemTable(ABC):
    """A table ``t$name`` whose rows are computed from the metadata of ``t``.

    Attributes:
        name: the name after ``$``.
        summary: its rows; one sentence.
        columns: its columns.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    columns: ClassVar[tuple[DataField, ...]]

    @abstractmethod
    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        """The rows, with all columns.

        Args:
            table: the data table with its newest schema and the options of the read, including time travel.
            predicate: a condition on this table's columns, which may be used to produce fewer rows; the caller
                evaluates it again.
        """

    def selected(self, table: Table, names: Sequence[str], predicate: Predicate | None = None) -> pa.Table:
        """The rows with some columns, in this order; tables with expensive columns compute no others.

        Args:
            table: as in `rows`.
            names: the columns.
            predicate: as in `rows`.
        """
        return self.rows(table, predicate).select(list(names))
