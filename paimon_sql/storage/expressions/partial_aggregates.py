"""Rows put together by groups where they are read: partial aggregates, which whoever asked puts together once more.

A group comes up at most once for each portion of rows, sums too great for their type aside, so that memory is bounded
by the portion and not by how many groups there are. Where groups turn out to be nearly as many as rows, rows go on one
by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from paimon_sql.storage.expressions.aggregate_functions import Leftover, PartialAggregate

_PORTION_ROWS = 512 * 1024
"""Rows that are put together at a time."""
_PORTION_BYTES = 64 * 1024 * 1024
"""The bytes of rows that are put together at a time, which long texts make fewer."""
_WORTH_IT = 0.5
"""Rows made of a row from which on rows had better go on as they are."""
_BATCH_ROWS = 64 * 1024


@dataclass(frozen=True)
class PartialAggregation:
    """Aggregates of groups, as an answer has them: first the columns of the groups, then the aggregates.

    Attributes:
        groups: the columns whose values make the groups; none puts all rows together.
        aggregates: what is told of each group.
    """

    groups: tuple[str, ...]
    aggregates: tuple[PartialAggregate, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that must be read."""
        return tuple(dict.fromkeys([*self.groups, *(c for a in self.aggregates for c in a.columns)]))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of an answer's columns, no two of them alike: a column may be called as an aggregate is."""
        names: list[str] = []
        for name in (*self.groups, *(a.label for a in self.aggregates)):
            while name in names:
                name += "'"
            names.append(name)
        return tuple(names)

    def __str__(self) -> str:
        told = ", ".join(a.label for a in self.aggregates)
        if not self.groups:
            return f"aggregates {told}"
        return f"groups by {', '.join(self.groups)}{f': {told}' if told else ''}"

    def of(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Partial aggregates of rows; without groups at least one row of them, if only of no rows.

        Groups may come up again, and NaNs and zeros of several kinds are groups of their own.

        Args:
            batches: rows with all `columns`.
        """
        worth_it = empty = True
        portion = _Portion()
        for batch in batches:
            empty = empty and not batch.num_rows
            if not worth_it:
                yield self._alone(batch)
                continue
            portion.add(batch)
            if portion.is_full:
                made = self._together(portion.table())
                yield from _cut(made)
                worth_it = sum(b.num_rows for b in made) < portion.rows * _WORTH_IT
                portion = _Portion()
        if portion.rows:
            yield from _cut(self._together(portion.table()))
        elif empty and not self.groups:
            yield self._batch([pa.repeat(a.neutral, 1) for a in self.aggregates])

    def _alone(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows as groups of their own."""
        table = pa.Table.from_batches([rows])
        return self._batch([*(table[name] for name in self.groups), *(a.alone(table) for a in self.aggregates)])

    def _together(self, rows: pa.Table) -> list[pa.RecordBatch]:
        """A row of each group, and further ones of those that have sums too great for one."""
        inputs = [a.input(rows) for a in self.aggregates]
        keys = [f"k{i}" for i in range(len(self.groups))]
        values = [f"v{i}" for i in range(len(inputs))]
        table = pa.table([*(rows[name] for name in self.groups), *(v for v, _ in inputs)], names=[*keys, *values])
        wanted = [(name, how) for name, (_, how) in zip(values, inputs, strict=True)]
        found = pa.TableGroupBy(table, keys, use_threads=False).aggregate(wanted)
        groups = [_whole(found[name]) for name in keys]
        results = [
            aggregate.result(_whole(found[f"{name}_{how}"]))
            for aggregate, (name, how) in zip(self.aggregates, wanted, strict=True)
        ]
        further = [self._further(groups, i, left) for i, (_, left) in enumerate(results) if left is not None]
        return [self._batch([*groups, *(result for result, _ in results)]), *further]

    def _further(self, groups: Sequence[pa.Array], aggregate: int, left: Leftover) -> pa.RecordBatch:
        """Rows for what is left of one aggregate, in which the others change nothing."""
        others = [pa.repeat(a.neutral, len(left.values)) for a in self.aggregates]
        others[aggregate] = left.values
        return self._batch([*(g.take(left.groups) for g in groups), *others])

    def _batch(self, columns: Iterable[pa.ChunkedArray | pa.Array]) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([_whole(c) for c in columns], names=self.names)


class _Portion:
    """Rows that are put together at once."""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0
        self.rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self._batches.append(batch)
        self._bytes += batch.nbytes
        self.rows += batch.num_rows

    @property
    def is_full(self) -> bool:
        return self.rows >= _PORTION_ROWS or self._bytes >= _PORTION_BYTES

    def table(self) -> pa.Table:
        return pa.Table.from_batches(self._batches)


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _cut(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in batches of the size in which files are read."""
    for batch in batches:
        for start in range(0, batch.num_rows, _BATCH_ROWS):
            yield batch.slice(start, _BATCH_ROWS)
