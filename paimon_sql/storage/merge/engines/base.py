"""What merge engines are: they reduce the rows of each key to one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import PaimonError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.merge_engine import IGNORE_DELETE
from paimon_sql.format.schema.row_kind import RowKind
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import VALUE_KIND
from paimon_sql.storage.expressions.kernels.segments import NOWHERE, Mask
from paimon_sql.storage.expressions.kernels.sorting import Indices
from paimon_sql.storage.merge.windows import Window

RowKinds = npt.NDArray[np.int8]
_ALIVE = pa.array([RowKind.INSERT, RowKind.UPDATE_AFTER], pa.int8())


class MergeEngine(ABC):
    """Reduces the rows of each key to one.

    A key with a single row keeps it unchanged, whatever its kind: so a retraction waits for the rows that it retracts.

    Class attributes:
        name: the value of the option ``merge-engine``.
    """

    name: ClassVar[str]

    def __init__(self, schema: TableSchema) -> None:
        self.schema = schema
        self.options = TableOptions(schema.options)
        self.ignores_deletes = self.options.get(IGNORE_DELETE)

    @property
    def merges_whole(self) -> bool:
        """Whether merging some rows of a key may lose what matters to the rest, so that all are merged at once."""
        return False

    def keeps_values(self, column: str) -> bool:
        """Whether a merged row's value of a column is that of one of the rows, or null, whatever it looks like."""
        return True

    @abstractmethod
    def merge(self, window: Window) -> pa.Table:
        """One row a key at most, in the order of the keys, with the columns of the window.

        Deletes stay in it, for whoever reads drops them and whoever compacts must keep them.
        """

    def left(self, window: Window, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The rows that are not deleted, in any order."""
        yield alive(self.merge(window), columns)

    def merge_found(self, window: Window) -> pa.Table:
        """As `merge`, where all older rows of the keys were looked up: what is alone has nothing to wait for."""
        return self.merge(window)

    def needs(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """The columns that must be read to tell these; by default just these."""
        return columns

    def refusal(self, kinds: RowKinds) -> PaimonError | None:
        """Why rows of these kinds cannot be written; None if they can."""
        return None

    def prepare(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows about to be written, as they are stored."""
        return rows

    def generations(self, window: Window) -> Iterator[Window]:
        """Parts of a writer's rows, from the oldest to the newest, each of which may be merged for itself."""
        yield window


class SelectingEngine(MergeEngine):
    """An engine whose result is one of the rows of each key, unchanged."""

    @abstractmethod
    def select(self, window: Window) -> Indices:
        """The row number of the row that is left of each key, in the order of the keys."""

    def merge(self, window: Window) -> pa.Table:
        return window.table.take(pa.array(self.select(window)))

    def left(self, window: Window, columns: Sequence[str]) -> Iterator[pa.Table]:
        yield alive_among(window, self.select(window), columns)

    def passing_retractions_over(self, window: Window, newest: bool) -> Indices:
        """The newest or oldest row of each key that is no retraction; a retraction only where a key has no other row.

        A key with several retractions and nothing else is left out.
        """
        segments = window.segments
        retract = is_retract(window.kinds)
        taken = segments.last(~retract) if newest else segments.first(~retract)
        alone = (taken == NOWHERE) & (segments.counts() == 1)
        taken[alone] = window.starts[alone]
        chosen: Indices = window.order[taken[taken != NOWHERE]]
        return chosen


def alive(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """The rows that are not deleted."""
    return rows.select(list(columns)).filter(pc.is_in(rows[VALUE_KIND.name], _ALIVE))


def alive_among(window: Window, rows: Indices, columns: Sequence[str]) -> pa.Table:
    """Those of some rows that are not deleted, in any order, as a mask over the runs costs less than gathering."""
    mask = np.zeros(len(window.table), dtype=np.bool_)
    mask[rows] = True
    mask &= ~is_retract(window.table[VALUE_KIND.name].to_numpy())
    return window.table.select(list(columns)).filter(pa.array(mask))


def is_retract(kinds: RowKinds) -> Mask:
    """Which kinds of rows take something back."""
    mask: Mask = (kinds == RowKind.UPDATE_BEFORE) | (kinds == RowKind.DELETE)
    return mask
