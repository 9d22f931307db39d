"""Clustering of append tables: its orders, its columns, and the task that sorts rows before they are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from paimon_sql.discovery import instances
from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.compaction import (
    CLUSTERING_COLUMNS,
    CLUSTERING_INCREMENTAL,
    CLUSTERING_INCREMENTAL_OPTIMIZE_WRITE,
    CLUSTERING_STRATEGY,
    ZORDER_VAR_LENGTH_CONTRIBUTION,
)
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.clustering.base import ClusteringOrder, is_ordered
from paimon_sql.storage.write.clustering.external_sort import sorted_rows
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
                f"{table.name} has no column {given} to order by.", remedy=f"It has {', '.join(table.schema.names)}."
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
