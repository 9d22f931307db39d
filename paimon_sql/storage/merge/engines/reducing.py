"""What the engines share that make a new row of the rows of a key."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from paimon_sql.format.schema.system_fields import SEQUENCE_NUMBER, VALUE_KIND
from paimon_sql.storage.expressions.kernels.segments import Mask, Segments
from paimon_sql.storage.expressions.kernels.sorting import Indices
from paimon_sql.storage.merge.aggregates.base import taken
from paimon_sql.storage.merge.engines.base import MergeEngine, RowKinds, alive, alive_among, is_retract
from paimon_sql.storage.merge.windows import Window


class Bundle:
    """The rows of several keys; positions are those in the order of keys and age.

    Args:
        table: where the rows stand.
        rows: their numbers there, by key and age.
        segments: the keys that they belong to.
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
        """A column's values, brought together once."""
        if name not in self._columns:
            found = self.table[name].take(pa.array(self.rows))
            flat = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
            self._columns[name] = flat if isinstance(flat, pa.Array) else pa.concat_arrays(flat.chunks)
        return self._columns[name]

    def where(self, mask: Mask) -> Bundle:
        """Some of the rows."""
        if mask.all():
            return self
        return Bundle(self.table, self.rows[mask], self.segments.where(mask))

    def taken(self, name: str, positions: Indices) -> pa.Array:
        """A column's values at these positions, null for NOWHERE; cheaper than the whole column if they are few."""
        if name in self._columns:
            return taken(self._columns[name], positions)
        missing = positions < 0
        rows = pa.array(self.rows[positions], mask=missing if missing.any() else None)
        found = self.table[name].take(rows)
        return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


class ReducingEngine(MergeEngine):
    """An engine that makes a new row of the rows of a key; a key with a single row mostly keeps that as it is."""

    @abstractmethod
    def reduce(self, bundle: Bundle) -> dict[str, pa.Array]:
        """A row for each key of a bundle, its sequence number and kind among the columns that the bundle has."""

    def merge(self, window: Window) -> pa.Table:
        return self._merged(window, *self._parts(window))

    def merge_found(self, window: Window) -> pa.Table:
        kinds = window.table[VALUE_KIND.name].to_numpy()[window.order[window.starts]]
        return self._merged(window, *self._parts(window, is_retract(kinds)))

    def _merged(self, window: Window, alone: Mask, bundle: Bundle | None) -> pa.Table:
        """The single rows as they are and the others reduced."""
        if bundle is None:
            return window.table.take(pa.array(window.order))
        made = self._made(bundle)
        if not alone.any():
            return made
        numbers = np.empty(len(alone), dtype=np.int64)
        numbers[alone] = window.order[window.starts[alone]]
        numbers[~alone] = np.arange(len(window.table), len(window.table) + len(made))
        return pa.concat_tables([window.table, made]).take(pa.array(numbers))

    def left(self, window: Window, columns: Sequence[str]) -> Iterator[pa.Table]:
        alone, bundle = self._parts(window)
        if alone.any():
            yield alive_among(window, window.order[window.starts[alone]], columns)
        if bundle is not None:
            yield alive(self._made(bundle), columns)

    def _made(self, bundle: Bundle) -> pa.Table:
        made = self.reduce(bundle)
        return pa.table([made[name] for name in bundle.table.column_names], schema=bundle.table.schema)

    @staticmethod
    def _parts(window: Window, waiting: Mask | None = None) -> tuple[Mask, Bundle | None]:
        """Which keys have a single row that is kept as it is, and the others; ``waiting`` are keys that may keep it."""
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
    """The system columns of merged rows: the sequence numbers of their newest rows, and their kinds."""
    columns = {VALUE_KIND.name: pa.array(kinds)}
    if SEQUENCE_NUMBER.name in bundle.table.column_names:
        columns[SEQUENCE_NUMBER.name] = bundle.taken(SEQUENCE_NUMBER.name, newest)
    return columns
