"""The kinds of rows on their way in: said by a column, or inserts; some may be ignored and some must be refused."""

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
    """Gives each row of a batch its kind, and leaves out the rows that the table's options pass over.

    Args:
        table: the table.
        engine: its merge engine, which may refuse kinds.
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
        """The rows that are to be written, with their kinds in the column ``_VALUE_KIND``.

        A batch that has such a column already knows better than the option ``rowkind.field``.

        Raises:
            ConstraintViolationError: the column that says the kind says none, or the merge engine refuses a kind.
        """
        if VALUE_KIND.name not in rows.schema.names:
            rows = rows.append_column(VALUE_KIND.name, self._said(rows))
        kinds = rows.column(VALUE_KIND.name).to_numpy(zero_copy_only=False)
        if not kinds.any():
            return rows
        if self._ignored:
            kept = ~np.isin(kinds, self._ignored)
            rows, kinds = rows.filter(pa.array(kept)), kinds[kept]
        if problem := self._engine.refusal(kinds):
            raise problem
        return rows

    def _said(self, rows: pa.RecordBatch) -> pa.Array:
        if self._column is None:
            inserts: npt.NDArray[np.int8] = np.full(rows.num_rows, RowKind.INSERT, dtype=np.int8)
            return pa.array(inserts)
        said = rows.column(self._column)
        kinds = pc.index_in(said, value_set=_SHORT.cast(said.type))
        if kinds.null_count:
            wrong = said.filter(kinds.is_null())[0].as_py()
            what = "null" if wrong is None else f"'{wrong}'"
            raise ConstraintViolationError(
                f"{self._name}: column {self._column}, which the option 'rowkind.field' names, is {what} in a row.",
                remedy="It must be '+I', '-U', '+U' or '-D'.",
            )
        return kinds.cast(pa.int8())
