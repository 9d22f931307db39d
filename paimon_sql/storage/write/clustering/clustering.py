"""Clustering of append tables, from their options."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.compaction import (
    CLUSTERING_COLUMNS,
    CLUSTERING_INCREMENTAL,
    CLUSTERING_INCREMENTAL_OPTIMIZE_WRITE,
    CLUSTERING_STRATEGY,
    ZORDER_VAR_LENGTH_CONTRIBUTION,
)
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.clustering.columns import order_columns
from paimon_sql.storage.write.clustering.registry import row_layout

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
    """The clustering within partitions; None if the table's options set none.

    Raises:
        InvalidInputError: a column has no order.
    """
    names = [name for name in named_columns(table.options) if name not in table.schema.partition_keys]
    if not names or table.schema.primary_keys:
        return None
    columns = order_columns(table, names, CLUSTERING_COLUMNS.key)
    strategy = table.options.get(CLUSTERING_STRATEGY)
    if strategy == "auto":
        strategy = _FOR_ONE if len(columns) == 1 else _FOR_FEW if len(columns) <= _FEW else _FOR_MANY
    return Clustering(strategy, columns, table.options.get(ZORDER_VAR_LENGTH_CONTRIBUTION))


def clusters(table: Table) -> bool:
    """Whether compactions cluster the table."""
    return bool(table.options.get(CLUSTERING_INCREMENTAL)) and not table.schema.primary_keys


def clustering_of_writes(table: Table) -> Clustering | None:
    """The clustering of new rows; None if they are written unsorted."""
    if table.options.get(CLUSTERING_INCREMENTAL) and not table.options.get(CLUSTERING_INCREMENTAL_OPTIMIZE_WRITE):
        return None
    return clustering_of(table)
