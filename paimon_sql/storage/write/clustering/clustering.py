"""Clustering of append tables: orders, columns, and the task that sorts rows in bounded memory before it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from paimon_sql.discovery import instances
from paimon_sql.errors import InvalidInputError, did_you_mean
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.compaction import (
    CLUSTERING_COLUMNS,
    CLUSTERING_INCREMENTAL,
    CLUSTERING_INCREMENTAL_OPTIMIZE_WRITE,
    CLUSTERING_STRATEGY,
    ZORDER_VAR_LENGTH_CONTRIBUTION,
)
from paimon_sql.format.options.operations.write import SPILL_COMPRESSION
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.storage.merge.windows import BATCH_ROWS, RowOrder, Run, Window, spill, spill_folder, windows
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.clustering.base import ClusteringOrder, is_ordered
from paimon_sql.storage.write.settings import WriteSettings
from paimon_sql.storage.write.task import WriteTask

LAYOUTS = instances("paimon_sql.storage.write.clustering.orders", ClusteringOrder)


def row_layout(name: str) -> ClusteringOrder:
    """The clustering order of a name, in any case.

    Raises:
        InvalidInputError: there is none.
    """
    layout = LAYOUTS.get(name.lower())
    if layout is None:
        raise InvalidInputError(f"order_strategy cannot be '{name}'.", remedy=f"Use {', '.join(LAYOUTS)} or none.")
    return layout


_FOR_ONE, _FOR_FEW, _FOR_MANY = "order", "zorder", "hilbert"
_FEW = 4
"""The strategy ``auto``: order for one column, z-order for up to `_FEW`, Hilbert for more."""


@dataclass(frozen=True)
class Clustering:
    """A clustering of rows by some columns.

    Attributes:
        strategy: the name of the order.
        columns: the columns.
        text_bytes: the number of bytes of strings that count, in orders that use prefixes.
    """

    strategy: str
    columns: tuple[str, ...]
    text_bytes: int

    def keys(self, rows: pa.Table) -> list[pa.Array]:
        """The sort keys of rows."""
        columns = [pa.concat_arrays(rows[name].chunks) for name in self.columns]
        return row_layout(self.strategy).keys(columns, self.text_bytes)


def named_columns(options: TableOptions) -> tuple[str, ...]:
    """The clustering columns as the option names them."""
    text = options.get(CLUSTERING_COLUMNS) or ""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def clustering_of(table: Table) -> Clustering | None:
    """The clustering within partitions of an append table; None if its options set none.

    Raises:
        InvalidInputError: a column has no order.
    """
    names = [name for name in named_columns(table.options) if name not in table.schema.partition_keys]
    if not names:
        return None
    columns = order_columns(table, names, CLUSTERING_COLUMNS.key)
    strategy = table.options.get(CLUSTERING_STRATEGY)
    if strategy == "auto":
        strategy = _FOR_ONE if len(columns) == 1 else _FOR_FEW if len(columns) <= _FEW else _FOR_MANY
    return Clustering(strategy, columns, table.options.get(ZORDER_VAR_LENGTH_CONTRIBUTION))


def clusters(table: Table) -> bool:
    """Whether compactions cluster the table."""
    return bool(table.options.get(CLUSTERING_INCREMENTAL)) and not table.schema.has_key


def clustering_of_writes(table: Table) -> Clustering | None:
    """The clustering of new rows; None if they are written unsorted."""
    if table.options.get(CLUSTERING_INCREMENTAL) and not table.options.get(CLUSTERING_INCREMENTAL_OPTIMIZE_WRITE):
        return None
    return clustering_of(table)


def order_columns(table: Table, names: Sequence[str], origin: str) -> tuple[str, ...]:
    """The distinct columns to order by, as the table spells them.

    Args:
        table: the table.
        names: the columns.
        origin: the argument or option that names them, for messages.

    Raises:
        InvalidInputError: a column does not exist, is a partition column or has no order, or there are none.
    """
    spelled = {name.lower(): name for name in table.schema.names} | {name: name for name in table.schema.names}
    found = []
    for given in names:
        name = spelled.get(given) or spelled.get(given.lower())
        if name is None:
            raise InvalidInputError(
                f"{table.name} has no column {given} to order by.",
                remedy=did_you_mean(given, table.schema.names) or f"It has {', '.join(table.schema.names)}.",
            )
        if name in table.schema.partition_keys:
            raise InvalidInputError(
                f"{origin} names {name}, which is the same in all rows of a partition.", remedy="Leave it out."
            )
        kind = table.schema.field(name).type
        if not is_ordered(arrow_type(kind)):
            raise InvalidInputError(f"{origin} names {name}, but {kind} has no order.", remedy="Name another column.")
        found.append(name)
    if not found:
        raise InvalidInputError(f"{origin} names no column.", remedy=f"Use {origin} => 'a,b'.")
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True, kw_only=True)
class ClusteredWriteTask(WriteTask):
    """Sorts the rows of each writer before they are written, in memory of the size of a write buffer."""

    layout: Clustering

    def with_buckets(self, rows: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        return sorted_rows(rows, self.layout.keys, WriteSettings(self.table.schema).buffer_size)


_BATCH_BYTES = 1024 * 1024
_BATCHES_PER_PART = 16
"""The batches of a part that is spilled, so that a run's batches are small: many runs are merged at a time."""
_SPILL_OPTIONS = TableOptions({SPILL_COMPRESSION.key: "lz4"})


def sorted_rows(
    batches: Iterable[pa.RecordBatch], keys: Callable[[pa.Table], list[pa.Array]], memory: int
) -> Iterator[pa.RecordBatch]:
    """Sort rows by their keys; the sort is stable.

    Args:
        batches: the rows, all with the same columns.
        keys: computes the sort keys of rows, always the same number.
        memory: the approximate max bytes in memory.
    """
    sort, runs = _Sort(keys), list[Run]()
    buffer: list[pa.RecordBatch] = []
    size = 0
    with spill_folder() as directory:

        def spilled() -> Run:
            path = Path(directory, f"{len(runs)}.arrow")
            return spill(_parts(sort.window(buffer)), path, _SPILL_OPTIONS, "rows on disk")

        for batch in batches:
            buffer.append(batch)
            size += batch.nbytes
            if size > memory // 2:
                runs.append(spilled())
                buffer, size = [], 0
        if runs and any(b.num_rows for b in buffer):
            runs.append(spilled())
        in_memory = [sort.window(buffer)] if buffer and not runs else []
        for window in windows(runs, RowOrder(tuple(sort.names)), memory // 2) if runs else in_memory:
            rows = replace(window, table=window.table.drop_columns(sort.names))
            for piece in rows.pieces(_batch_rows(window)):
                yield from piece.combine_chunks().to_batches()


class _Sort:
    """Sorts rows by their keys and by their index among all rows, which it adds to their columns as ``names``."""

    def __init__(self, keys: Callable[[pa.Table], list[pa.Array]]) -> None:
        self.names: list[str] = []
        self._keys = keys
        self._rows = 0

    def window(self, batches: list[pa.RecordBatch]) -> Window:
        """The next rows, in order."""
        table = pa.Table.from_batches(batches).combine_chunks()
        keys = [*self._keys(table), pa.array(np.arange(self._rows, self._rows + len(table)))]
        self._rows += len(table)
        # Longer than the name of any column.
        longest = max(len(name) for name in table.column_names)
        self.names = [f"{'_' * longest}{i}" for i in range(len(keys))]
        for name, key in zip(self.names, keys, strict=True):
            table = table.append_column(name, key)
        return Window(table, *RowOrder(tuple(self.names)).sort(table))


def _batch_rows(window: Window) -> int:
    """The number of rows of a batch."""
    size = max(1, int(window.table.nbytes))
    return max(1, min(BATCH_ROWS, len(window.table) * _BATCH_BYTES // size))


def _parts(window: Window) -> Iterator[Window]:
    """The rows of a window in parts of some batches."""
    rows = _batch_rows(window) * _BATCHES_PER_PART
    for first in range(0, len(window.order), rows):
        yield Window(window.table, window.order[first : first + rows], window.starts[:0])
