"""``t$binlog``: the changes of a table; an update is one row with the old and the new values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_sql.format.schema.system_fields import VALUE_KIND, RowKind
from paimon_sql.format.schema.types import ArrayType, DataField
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import RowsTask, ScannedTable
from paimon_sql.system_tables.rows.audit_log import KINDS, ROW_KIND, numbered, read_with_kinds


class Binlog(ScannedTable):
    """Each column is an array: of the old and the new value for an update, else of the value."""

    summary = "Every row with its kind, each column an array; an update holds the old and the new value."

    def fields(self, table: Table) -> tuple[DataField, ...]:
        arrays = (
            DataField(-1, f.name, ArrayType(True, f.type.as_nullable()), f.description) for f in table.schema.fields
        )
        return (ROW_KIND, *numbered(table), *arrays)

    def task(self, table: Table, split: Split, names: Sequence[str], predicate: Predicate | None) -> RowsTask:
        plain = frozenset((ROW_KIND.name, *(f.name for f in numbered(table))))
        return PackTask(read_with_kinds(table, split, names, None), tuple(names), plain)


@dataclass(frozen=True)
class PackTask:
    """Packs the old and the new row of an update, which are adjacent in changelogs, into one.

    ``plain`` are the columns that are not arrays.
    """

    task: ReadTask
    names: tuple[str, ...]
    plain: frozenset[str]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows."""
        pending: pa.RecordBatch | None = None
        for batch in self.task.batches():
            rows = batch if pending is None else pa.concat_batches([pending, batch])
            # The new row of the last old one may be in the next batch.
            open_end = _kinds(rows)[-1] == RowKind.UPDATE_BEFORE
            pending = rows.slice(rows.num_rows - 1) if open_end else None
            yield self._packed(rows.slice(0, rows.num_rows - 1) if open_end else rows)
        if pending is not None:
            yield self._packed(pending)

    def _packed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        kinds = _kinds(rows)
        is_new = np.zeros(len(kinds), dtype=np.bool_)
        is_new[1:] = (kinds[1:] == RowKind.UPDATE_AFTER) & (kinds[:-1] == RowKind.UPDATE_BEFORE)
        starts = np.flatnonzero(~is_new)
        offsets = pa.array(np.append(starts, len(kinds)).astype(np.int32))
        last = pa.array(np.append(starts[1:], len(kinds)) - 1) if len(starts) else pa.array([], pa.int64())
        columns = []
        for name in self.names:
            if name == ROW_KIND.name:
                columns.append(pa.array(KINDS).take(pa.array(kinds.astype(np.int32))).take(last))
            elif name in self.plain:
                columns.append(rows.column(name).take(last))
            else:
                columns.append(pa.ListArray.from_arrays(offsets, rows.column(name)))
        return pa.RecordBatch.from_arrays(columns, names=list(self.names))


def _kinds(rows: pa.RecordBatch) -> np.ndarray:
    kinds: np.ndarray = rows.column(VALUE_KIND.name).to_numpy()
    return kinds
