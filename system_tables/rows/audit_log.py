"""``t$audit_log``: the rows of a table with their row kinds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_sql.format.options.operations.scan import TABLE_READ_SEQUENCE_NUMBER_ENABLED
from paimon_sql.format.schema.system_fields import SEQUENCE_NUMBER, VALUE_KIND
from paimon_sql.format.schema.types import DataField, string_type
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import RowsTask, ScannedTable

ROW_KIND = DataField(-1, "rowkind", string_type(False), "row kind: +I, -U, +U or -D")
KINDS = ("+I", "-U", "+U", "-D")


class AuditLog(ScannedTable):
    """Merged rows, including deleted ones while their deletes are stored; for changes, each change as recorded."""

    summary = "Every row with its kind; with incremental options, the changes."

    def fields(self, table: Table) -> tuple[DataField, ...]:
        return (ROW_KIND, *numbered(table), *table.schema.fields)

    def shared(self, table: Table) -> tuple[DataField, ...]:
        return table.schema.fields

    def task(self, table: Table, split: Split, names: Sequence[str], predicate: Predicate | None) -> RowsTask:
        return AuditTask(read_with_kinds(table, split, names, predicate), tuple(names))


def numbered(table: Table) -> tuple[DataField, ...]:
    """The column of sequence numbers, if the table's options enable it."""
    if not table.schema.has_key or not table.options.get(TABLE_READ_SEQUENCE_NUMBER_ENABLED):
        return ()
    return (DataField(-1, SEQUENCE_NUMBER.name, SEQUENCE_NUMBER.type.as_nullable(), "sequence number of the row"),)


def read_with_kinds(table: Table, split: Split, names: Sequence[str], predicate: Predicate | None) -> ReadTask:
    """The task that reads the rows of a split, with their row kinds as the last column."""
    stored = tuple(name for name in names if name != ROW_KIND.name)
    return ReadTask(table, split, (*stored, VALUE_KIND.name), predicate)


@dataclass(frozen=True)
class AuditTask:
    """Reads rows with their row kinds as strings."""

    task: ReadTask
    names: tuple[str, ...]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows."""
        for batch in self.task.batches():
            kinds = batch.column(VALUE_KIND.name).to_numpy()
            with_kinds = batch.append_column(ROW_KIND.name, pa.array(KINDS).take(pa.array(kinds.astype(np.int32))))
            yield with_kinds.select(list(self.names))
