"""Partial aggregation of rows where they are read; the caller aggregates the partial results again.

A group occurs at most once per portion of rows, apart from sums that exceed their type, so that memory is bounded by
the portion and not by the number of groups. If there are nearly as many groups as rows, rows are passed on
unaggregated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from paimon_sql.storage.expressions.aggregate_functions import Leftover, PartialAggregate

_PORTION_ROWS = 512 * 1024
"""Maximum rows per portion."""
_PORTION_BYTES = 64 * 1024 * 1024
"""Maximum bytes per portion, which bounds portions with long strings."""
_WORTH_IT = 0.5
"""Ratio of groups to rows from which rows are passed on unaggregated."""
_BATCH_ROWS = 64 * 1024


@dataclass(frozen=True)
class PartialAggregation:
    """Aggregates of groups; a result has the columns of the groups, then the aggregates.

    Attributes:
        groups: the grouping columns; none makes all rows one group.
        aggregates: the aggregates of each group.
    """

    groups: tuple[str, ...]
    aggregates: tuple[PartialAggregate, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read."""
        return tuple(dict.fromkeys([*self.groups, *(c for a in self.aggregates for c in a.columns)]))

    @property
    def names(self) -> tuple[str, ...]:
        """Distinct names of a result's columns: a column may have the name of an aggregate."""
        names: list[str] = []
        for name in (*self.groups, *(a.label for a in self.aggregates)):
            while name in names:
                name += "'"
            names.append(name)
        return tuple(names)

    def __str__(self) -> str:
        aggregates = ", ".join(a.label for a in self.aggregates)
        if not self.groups:
            return f"aggregates {aggregates}"
        return f"groups by {', '.join(self.groups)}{f': {aggregates}' if aggregates else ''}"

    def of(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield partial aggregates of rows; without groups at least one row, even without input.

        Groups may repeat, and NaNs and zeros of several kinds are separate groups.

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
                aggregated = self._aggregate(portion.table())
                yield from _in_batches(aggregated)
                worth_it = sum(b.num_rows for b in aggregated) < portion.rows * _WORTH_IT
                portion = _Portion()
        if portion.rows:
            yield from _in_batches(self._aggregate(portion.table()))
        elif empty and not self.groups:
            yield self._batch([pa.repeat(a.neutral, 1) for a in self.aggregates])

    def _alone(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows as groups of one row."""
        table = pa.Table.from_batches([rows])
        return self._batch([*(table[name] for name in self.groups), *(a.alone(table) for a in self.aggregates)])

    def _aggregate(self, rows: pa.Table) -> list[pa.RecordBatch]:
        """Return a row per group, and further ones for sums that exceed their type."""
        inputs = [a.input(rows) for a in self.aggregates]
        keys = [f"k{i}" for i in range(len(self.groups))]
        values = [f"v{i}" for i in range(len(inputs))]
        table = pa.table([*(rows[name] for name in self.groups), *(v for v, _ in inputs)], names=[*keys, *values])
        wanted = [(name, how) for name, (_, how) in zip(values, inputs, strict=True)]
        found = pa.TableGroupBy(table, keys, use_threads=False).aggregate(wanted)
        groups = [_combined(found[name]) for name in keys]
        results = [
            aggregate.result(_combined(found[f"{name}_{how}"]))
            for aggregate, (name, how) in zip(self.aggregates, wanted, strict=True)
        ]
        further = [self._further(groups, i, left) for i, (_, left) in enumerate(results) if left is not None]
        return [self._batch([*groups, *(result for result, _ in results)]), *further]

    def _further(self, groups: Sequence[pa.Array], aggregate: int, left: Leftover) -> pa.RecordBatch:
        """Return rows for the excess of one aggregate, with neutral values of the others."""
        others = [pa.repeat(a.neutral, len(left.values)) for a in self.aggregates]
        others[aggregate] = left.values
        return self._batch([*(g.take(left.groups) for g in groups), *others])

    def _batch(self, columns: Iterable[pa.ChunkedArray | pa.Array]) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([_combined(c) for c in columns], names=self.names)


class _Portion:
    """Rows that are aggregated together."""

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


def _combined(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _in_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Split batches to the size in which files are read."""
    for batch in batches:
        for start in range(0, batch.num_rows, _BATCH_ROWS):
            yield batch.slice(start, _BATCH_ROWS)
