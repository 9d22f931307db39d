"""Base class of system tables whose rows are data, read by tasks as the data table is."""

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
    """A task for a share of the rows, pickled to a worker."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows."""


class ScannedTable(ABC):
    """A table ``t$name`` whose rows are those of ``t`` in another form.

    Attributes:
        name: the name after ``$``.
        summary: its rows; one sentence.
    """

    name: ClassVar[str]
    summary: ClassVar[str]

    @abstractmethod
    def fields(self, table: Table) -> tuple[DataField, ...]:
        """The columns."""

    @abstractmethod
    def task(self, table: Table, split: Split, names: Sequence[str], predicate: Predicate | None) -> RowsTask:
        """The task that reads a split.

        Args:
            table: the data table, with the options of the read.
            split: the split.
            names: the columns to read, in this order.
            predicate: a condition on the columns of `shared`; the task may leave out rows that do not match.
        """

    def shared(self, table: Table) -> tuple[DataField, ...]:
        """The columns with the values of the data table, on which predicates can be pushed down."""
        return ()
