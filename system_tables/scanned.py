"""What a system table is whose rows are data: it is read by tasks, as its table is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar, Protocol

import pyarrow as pa

from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.table.table import Table


class RowsTask(Protocol):
    """A share of the rows, as it travels to a worker."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows."""


class ScannedTable(ABC):
    """A table ``t$name`` whose rows are those of ``t`` in another form.

    Attributes:
        name: what stands behind the ``$``.
        summary: what its rows are, in one sentence.
    """

    name: ClassVar[str]
    summary: ClassVar[str]

    @abstractmethod
    def fields(self, table: Table) -> tuple[DataField, ...]:
        """Its columns."""

    @abstractmethod
    def task(self, table: Table, split: Split, names: Sequence[str], predicate: Predicate | None) -> RowsTask:
        """The task that reads a split.

        Args:
            table: the data table, under the options of the read.
            split: what is read.
            names: the columns wanted, in this order.
            predicate: a condition on columns that this table shares with the data table; the task may leave out rows
                for which it is not true.
        """

    def shared(self, table: Table) -> tuple[DataField, ...]:
        """The columns that hold just what the data table holds, so that conditions on them can be passed on."""
        return ()
