"""What a system table is: a schema, and a producer of its rows as Arrow columns."""

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
    """A table ``t$name`` whose rows are worked out from the metadata of ``t``.

    Attributes:
        name: what stands behind the ``$``.
        summary: what its rows are, in one sentence.
        columns: its columns.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    columns: ClassVar[tuple[DataField, ...]]

    @abstractmethod
    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        """The rows, with all columns.

        Args:
            table: the data table, opened at its newest schema under the options of the read; time travel stands in
                its options.
            predicate: a condition on this table's own columns; it may be used to produce fewer rows and is evaluated
                again by whoever asked.
        """

    def selected(self, table: Table, names: Sequence[str], predicate: Predicate | None = None) -> pa.Table:
        """The rows with some columns only, in this order; tables whose columns take long work out no others.

        Args:
            table: as for `rows`.
            names: the columns.
            predicate: as for `rows`.
        """
        return self.rows(table, predicate).select(list(names))
