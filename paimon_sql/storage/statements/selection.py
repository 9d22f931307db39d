"""The rows of a snapshot that a statement changes, those that satisfy a condition, and attempts to change them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.metadata.snapshot import Operation, Snapshot
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.expressions.kernels.sorting import combined, dense_ranks
from paimon_sql.storage.expressions.predicates import In, Predicate, all_of
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.pinned import pinned
from paimon_sql.storage.scan.plan import ScanPlan, plan_scan
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class Selection:
    """The rows of a snapshot that satisfy a condition.

    Attributes:
        table: the table.
        base: the snapshot; None for an empty table.
        predicate: the condition; None for all rows.
    """

    table: Table
    base: Snapshot | None
    predicate: Predicate | None

    def plan(self, columns: Sequence[str]) -> ScanPlan:
        """Plan a scan of some columns, metadata columns included."""
        table = pinned(self.table, self.base)
        needed = {*columns, *(self.predicate.columns() if self.predicate is not None else ())}
        return plan_scan(table, self.predicate, columns=needed & set(table.schema.names) or None)

    def reads(self, columns: Sequence[str]) -> list[ReadTask]:
        """Plan the reads of some columns."""
        plan = self.plan(columns)
        return [ReadTask(plan.table, split, tuple(columns), self.predicate) for split in plan.splits]


@dataclass(frozen=True)
class Attempt:
    """One attempt at a statement.

    Attributes:
        operation: the statement's kind.
        rows: the rows that it changes.
        executor: runs the tasks that find and rewrite rows.
    """

    operation: ClassVar[Operation]
    rows: Selection
    executor: Executor

    @property
    def table(self) -> Table:
        """The table."""
        return self.rows.table

    def transaction(self) -> Transaction:
        """Begin the transaction, on the snapshot in which the rows were found."""
        return Transaction(self.table, self.operation, base=self.rows.base)

    def batches(self, columns: Sequence[str]) -> CountedBatches:
        """Read some columns of the rows."""
        return CountedBatches(batch for read in self.rows.reads(columns) for batch in read.batches())


class CountedBatches:
    """Batches whose rows are counted during iteration.

    Attributes:
        count: the number of rows that were read so far.
    """

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = batches
        self.count = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            self.count += batch.num_rows
            yield batch


@dataclass(frozen=True)
class KeyIn(Predicate):
    """Some columns together have one of several combinations of values.

    Attributes:
        keys: the combinations, without nulls; the types are those of the columns.
    """

    keys: pa.Table

    def columns(self) -> frozenset[str]:
        return frozenset(self.keys.schema.names)

    def evaluate(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        names = self.keys.schema.names
        given = [combined(columns[name]) for name in names]
        wanted = [combined(self.keys[name]) for name in names]
        ranks = dense_ranks([pa.concat_arrays(pair) for pair in zip(given, wanted, strict=True)])
        rows = len(given[0])
        return pa.array(np.isin(ranks[:rows], ranks[rows:]))

    def __str__(self) -> str:
        return f"({', '.join(self.keys.schema.names)}) IN ({len(self.keys)} keys)"


def with_keys(keys: pa.Table) -> Predicate:
    """Return the condition that the key of a row is one of several; its parts on single columns skip files.

    Args:
        keys: as of `KeyIn`.
    """
    columns = [In(name, pc.unique(combined(keys[name]))) for name in keys.schema.names]
    found = all_of([*columns, KeyIn(keys)])
    assert found is not None
    return found
