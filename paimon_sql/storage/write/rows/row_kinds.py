"""Row kinds of written rows: from a column, or inserts; the options ignore some, the merge engine rejects some."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import ConstraintViolationError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.merge_engine import IGNORE_DELETE, IGNORE_UPDATE_BEFORE, ROWKIND_FIELD
from paimon_sql.format.schema.row_kind import RowKind
from paimon_sql.format.schema.system_fields import VALUE_KIND
from paimon_sql.storage.merge.engines.base import MergeEngine
from paimon_sql.storage.table.table import Table

_SHORT = pa.array([kind.short for kind in RowKind], pa.string())


class RowKindReader:
    """Adds row kinds to batches, and drops the rows that the table's options ignore.

    Args:
        table: the table.
        engine: its merge engine, which may reject kinds.
    """

    def __init__(self, table: Table, engine: MergeEngine) -> None:
        options = TableOptions(table.schema.options)
        self._name = table.name
        self._engine = engine
        self._column = options.get(ROWKIND_FIELD)
        self._ignored = [RowKind.UPDATE_BEFORE] if options.get(IGNORE_UPDATE_BEFORE) else []
        if options.get(IGNORE_DELETE):
            self._ignored = [RowKind.UPDATE_BEFORE, RowKind.DELETE]

    def given(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows to write, with their kinds in the column ``_VALUE_KIND``.

        If the batch has this column already, the option ``rowkind.field`` has no effect.

        Raises:
            ConstraintViolationError: a value of the row kind column is not a kind, or the merge engine rejects a kind.
        """
        if VALUE_KIND.name not in rows.schema.names:
            rows = rows.append_column(VALUE_KIND.name, self._kinds_of(rows))
        kinds = rows.column(VALUE_KIND.name).to_numpy(zero_copy_only=False)
        if not kinds.any():
            return rows
        if self._ignored:
            applied = ~np.isin(kinds, self._ignored)
            rows, kinds = rows.filter(pa.array(applied)), kinds[applied]
        if problem := self._engine.write_error(kinds):
            raise problem
        return rows

    def _kinds_of(self, rows: pa.RecordBatch) -> pa.Array:
        if self._column is None:
            inserts: npt.NDArray[np.int8] = np.full(rows.num_rows, RowKind.INSERT, dtype=np.int8)
            return pa.array(inserts)
        strings = rows.column(self._column)
        kinds = pc.index_in(strings, value_set=_SHORT.cast(strings.type))
        if kinds.null_count:
            wrong = strings.filter(kinds.is_null())[0].as_py()
            what = "null" if wrong is None else f"'{wrong}'"
            raise ConstraintViolationError(
                f"{self._name}: column {self._column}, which the option 'rowkind.field' names, is {what} in a row.",
                remedy="It must be '+I', '-U', '+U' or '-D'.",
            )
        return kinds.cast(pa.int8())
