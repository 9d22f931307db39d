"""Base of merge engines that compute a new row from the rows of a key that count."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from paimon_sql.format.schema.system_fields import SEQUENCE_NUMBER, VALUE_KIND, RowKind
from paimon_sql.storage.expressions.kernels.sorting import NOWHERE, Indices, Mask, Segments, combined
from paimon_sql.storage.merge.aggregates.base import AggregateFunction, ChoosingFunction, taken
from paimon_sql.storage.merge.aggregates.registry import with_stored_values
from paimon_sql.storage.merge.engines.base import MergeEngine, RowKinds, alive_among, is_retract, live_rows
from paimon_sql.storage.merge.windows import Window


class Bundle:
    """The rows of several keys; positions refer to the order by key and age.

    Args:
        table: the rows.
        rows: their row numbers in the table, by key and age.
        segments: the key of each row.
    """

    def __init__(self, table: pa.Table, rows: Indices, segments: Segments) -> None:
        self.table = table
        self.rows = rows
        self.segments = segments
        self._columns: dict[str, pa.Array] = {}

    @cached_property
    def kinds(self) -> RowKinds:
        """The kind of each row."""
        kinds: RowKinds = self.column(VALUE_KIND.name).to_numpy()
        return kinds

    def column(self, name: str) -> pa.Array:
        """Return the values of a column in order; cached."""
        if name not in self._columns:
            self._columns[name] = combined(self.table[name].take(pa.array(self.rows)))
        return self._columns[name]

    def where(self, mask: Mask) -> Bundle:
        """Return only the rows of the mask."""
        if mask.all():
            return self
        return Bundle(self.table, self.rows[mask], self.segments.where(mask))

    def taken(self, name: str, positions: Indices) -> pa.Array:
        """Return values of a column by position, null for NOWHERE; cheaper than `column` if they are few."""
        if name in self._columns:
            return taken(self._columns[name], positions)
        missing = positions < 0
        rows = pa.array(self.rows[positions], mask=missing if missing.any() else None)
        return combined(self.table[name].take(rows))


class ReducingEngine(MergeEngine):
    """An engine that computes a new row from the rows of a key; a single row is mostly kept unchanged."""

    aggregates = True

    @property
    @abstractmethod
    def functions(self) -> Mapping[str, AggregateFunction]:
        """The aggregate functions by column, of the columns that have one."""

    @property
    def takes_deletes(self) -> bool:
        return self.merges_all_at_once

    def keeps_values(self, column: str) -> bool:
        function = self.functions.get(column)
        return function is None or isinstance(function, ChoosingFunction)

    def prepare(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return with_stored_values(rows, self.functions)

    @abstractmethod
    def reduce(self, bundle: Bundle) -> dict[str, pa.Array]:
        """Return one merged row per key, including sequence number and kind if the bundle has them."""

    def merge(self, window: Window) -> pa.Table:
        return self._merged(window, *self._parts(window))

    def merge_found(self, window: Window) -> pa.Table:
        kinds = window.table[VALUE_KIND.name].to_numpy()[window.order[window.starts]]
        return self._merged(window, *self._parts(window, is_retract(kinds)))

    def _merged(self, window: Window, alone: Mask, bundle: Bundle | None) -> pa.Table:
        """Combine unchanged single rows and reduced rows."""
        if bundle is None:
            return window.table.take(pa.array(window.order))
        made = self._made(bundle)
        if not alone.any():
            return made
        numbers = np.empty(len(alone), dtype=np.int64)
        numbers[alone] = window.order[window.starts[alone]]
        numbers[~alone] = np.arange(len(window.table), len(window.table) + len(made))
        return pa.concat_tables([window.table, made]).take(pa.array(numbers))

    def live_rows(self, window: Window, columns: Sequence[str]) -> Iterator[pa.Table]:
        alone, bundle = self._parts(window)
        if alone.any():
            yield alive_among(window, window.order[window.starts[alone]], columns)
        if bundle is not None:
            yield live_rows(self._made(bundle), columns)

    def _made(self, bundle: Bundle) -> pa.Table:
        made = self.reduce(bundle)
        return pa.table([made[name] for name in bundle.table.column_names], schema=bundle.table.schema)

    @staticmethod
    def _parts(window: Window, waiting: Mask | None = None) -> tuple[Mask, Bundle | None]:
        """Return a mask of the keys whose single row is kept (at most those of ``waiting``), and the other rows."""
        lengths = np.diff(window.starts, append=len(window.order))
        alone: Mask = lengths == 1
        if waiting is not None:
            alone &= waiting
        if alone.all():
            return alone, None
        rows = window.order if not alone.any() else window.order[np.repeat(~alone, lengths)]
        owners = np.repeat(np.arange(int((~alone).sum())), lengths[~alone])
        return alone, Bundle(window.table, rows, Segments(owners, int((~alone).sum())))


def stamp(bundle: Bundle, newest: Indices, kinds: RowKinds) -> dict[str, pa.Array]:
    """Return the system columns of merged rows: the sequence number of the newest row, and the kind."""
    columns = {VALUE_KIND.name: pa.array(kinds)}
    if SEQUENCE_NUMBER.name in bundle.table.column_names:
        columns[SEQUENCE_NUMBER.name] = bundle.taken(SEQUENCE_NUMBER.name, newest)
    return columns


@dataclass(frozen=True)
class Remaining:
    """The rows that count.

    Attributes:
        bundle: the rows; for a key without any, one placeholder row.
        empty_keys: mask of the keys without any.
        kinds: the resulting kind of each key: INSERT, or the kind of the placeholder.
    """

    bundle: Bundle
    empty_keys: Mask
    kinds: RowKinds

    @property
    def retractions(self) -> Mask:
        """Mask of the retractions; placeholders are none."""
        return is_retract(self.bundle.kinds) & ~self.empty_keys[self.bundle.segments.owners]


def drop_retractions(bundle: Bundle, counts: Mask, placeholders: Indices) -> Remaining:
    """Drop the rows that do not count.

    Args:
        bundle: the rows.
        counts: mask of the rows that count.
        placeholders: the placeholder row of each key, in case none counts.
    """
    without_rows = ~bundle.segments.any(counts)
    kinds = np.where(without_rows, bundle.kinds[placeholders], np.int8(RowKind.INSERT))
    if without_rows.any():
        counts = counts.copy()
        counts[placeholders[without_rows]] = True
    return Remaining(bundle.where(counts), without_rows, kinds)


def removals(bundle: Bundle) -> Indices:
    """Return the last delete of each key, NOWHERE without one."""
    return bundle.segments.last(bundle.kinds == RowKind.DELETE)


def after(bundle: Bundle, positions: Indices) -> Mask:
    """Return a mask of the rows after a position in their key; all rows for NOWHERE."""
    return np.arange(len(bundle.segments)) > positions[bundle.segments.owners]


def split_at_deletes(window: Window, *, alone: bool) -> Iterator[Window]:
    """Split a writer's rows in two: up to the last delete of each key, and after it.

    Merged into one row, they would no longer delete the older rows in other files.

    Args:
        window: the rows.
        alone: whether to split so that each delete is on its own: what it removes depends on older files.
    """
    deletes = window.kinds == RowKind.DELETE
    if not deletes.any():
        yield window
        return
    owners = window.segments.owners
    if alone:
        steps = np.zeros(len(deletes), dtype=np.int64)
        steps[1:] = deletes[1:] | deletes[:-1]
        steps[window.starts] = 0
        running = np.cumsum(steps)
        parts = running - running[window.starts][owners]
    else:
        last = window.segments.last(deletes)
        parts = (np.arange(len(window.order)) > last[owners]) & (last != NOWHERE)[owners]
    for part in range(int(parts.max()) + 1):
        yield window.where(parts == part)
