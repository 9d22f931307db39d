"""Base classes of merge engines, which reduce the rows of each key to one."""

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
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import VALUE_KIND, RowKind
from paimon_sql.storage.expressions.kernels.sorting import NOWHERE, Indices, Mask
from paimon_sql.storage.merge.windows import Window
from paimon_sql.storage.metadata.definition import Definition

RowKinds = npt.NDArray[np.int8]
_ALIVE = (RowKind.INSERT, RowKind.UPDATE_AFTER)


class MergeEngine(ABC):
    """Reduces the rows of each key to one (Paimon: `MergeFunction`).

    The only row of a key is kept unchanged, whatever its kind: a retraction waits for the rows that it retracts.

    Class attributes:
        name: the value of the option ``merge-engine``.
        selects: whether a merged row is one of the rows of its key, unchanged.
        newest_wins: whether it is the newest of them, unless deletes are ignored.
        keeps_first: whether it is the first: compactions look up older rows, and reads see compacted files only.
        aggregates: whether columns may have aggregate functions.
        replaces: whether written values replace older ones, so that UPDATE and MERGE can write changed rows.
    """

    name: ClassVar[str]
    selects: ClassVar[bool] = False
    newest_wins: ClassVar[bool] = False
    keeps_first: ClassVar[bool] = False
    aggregates: ClassVar[bool] = False
    replaces: ClassVar[bool] = False

    def __init__(self, schema: TableSchema) -> None:
        self.schema = schema
        self.options = TableOptions(schema.options)
        self.ignores_deletes = self.options.get(IGNORE_DELETE)

    @classmethod
    def problems(cls, table: Definition) -> Iterator[PaimonError]:
        """Yield an error for each option of a table that conflicts with the engine."""
        yield from ()

    @property
    def merges_all_at_once(self) -> bool:
        """Whether merging only some rows of a key loses information, so that all must be merged at once."""
        return False

    @property
    def takes_deletes(self) -> bool:
        """Whether a written ``-D`` deletes the row of its key."""
        return False

    @property
    def moves_rows(self) -> bool:
        """Whether a new row moves its key from another partition to its own (Paimon: `ExistingProcessor`)."""
        return False

    def keeps_values(self, column: str) -> bool:
        """Whether a merged value of the column is always that of one of the rows, or null."""
        return True

    @abstractmethod
    def merge(self, window: Window) -> pa.Table:
        """Return at most one row per key, in key order, with the columns of the window.

        Deletes are included: reads drop them, but compactions must keep them.
        """

    def live_rows(self, window: Window, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Return the merged rows that are not deleted, in any order."""
        yield live_rows(self.merge(window), columns)

    def merge_found(self, window: Window) -> pa.Table:
        """Merge where all older rows of the keys were looked up: a retraction alone has no rows to wait for."""
        return self.merge(window)

    def required_columns(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Return the columns to read in order to merge these; by default just these."""
        return columns

    def write_error(self, kinds: RowKinds) -> PaimonError | None:
        """Return the error for writing rows of these kinds; None if it is allowed."""
        return None

    def prepare(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return input rows in their stored form."""
        return rows

    def split(self, window: Window) -> Iterator[Window]:
        """Split a writer's rows into parts, from the oldest to the newest, that may be merged separately."""
        yield window


class SelectingEngine(MergeEngine):
    """An engine that selects one of the rows of each key."""

    selects = True

    @abstractmethod
    def select(self, window: Window) -> Indices:
        """Return the row number of each key's selected row, in key order."""

    def merge(self, window: Window) -> pa.Table:
        return window.table.take(pa.array(self.select(window)))

    def live_rows(self, window: Window, columns: Sequence[str]) -> Iterator[pa.Table]:
        yield alive_among(window, self.select(window), columns)

    def select_non_retractions(self, window: Window, newest: bool) -> Indices:
        """Return each key's newest or oldest row that is no retraction; a retraction only if it is the key's only row.

        Keys with several retractions and no other row are left out.
        """
        segments = window.segments
        retract = is_retract(window.kinds)
        positions = segments.last(~retract) if newest else segments.first(~retract)
        alone = (positions == NOWHERE) & (segments.counts() == 1)
        positions[alone] = window.starts[alone]
        chosen: Indices = window.order[positions[positions != NOWHERE]]
        return chosen


def live_rows(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return the rows that are not deleted."""
    return rows.select(list(columns)).filter(pc.is_in(rows[VALUE_KIND.name], pa.array(_ALIVE, pa.int8())))


def alive_among(window: Window, rows: Indices, columns: Sequence[str]) -> pa.Table:
    """Return those of the given rows that are not deleted, in any order: masking the runs is cheaper than gathering."""
    mask = np.zeros(len(window.table), dtype=np.bool_)
    mask[rows] = True
    mask &= ~is_retract(window.table[VALUE_KIND.name].to_numpy())
    return window.table.select(list(columns)).filter(pa.array(mask))


def is_retract(kinds: RowKinds) -> Mask:
    """Return a mask of the retractions."""
    mask: Mask = (kinds == RowKind.UPDATE_BEFORE) | (kinds == RowKind.DELETE)
    return mask
