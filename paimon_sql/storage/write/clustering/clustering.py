"""How the options of an append table say that its rows are laid out."""

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
"""Along which curve rows are laid out if the table does not say, by the number of columns."""


@dataclass(frozen=True)
class Clustering:
    """A layout of rows by some columns.

    Attributes:
        strategy: the name of the layout.
        columns: the columns.
        text_bytes: how many bytes of a text count, where a layout cannot take it whole.
    """

    strategy: str
    columns: tuple[str, ...]
    text_bytes: int

    def keys(self, rows: pa.Table) -> list[pa.Array]:
        """Columns by which rows are sorted to stand so."""
        columns = [pa.concat_arrays(rows[name].chunks) for name in self.columns]
        return row_layout(self.strategy).keys(columns, self.text_bytes)


def named_columns(options: TableOptions) -> tuple[str, ...]:
    """The columns that a table is clustered by, as its option names them."""
    text = options.get(CLUSTERING_COLUMNS) or ""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def clustering_of(table: Table) -> Clustering | None:
    """How the rows of each partition are laid out; None if the table does not say.

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
    """Whether compactions keep the table clustered."""
    return bool(table.options.get(CLUSTERING_INCREMENTAL)) and not table.schema.primary_keys


def clustering_of_writes(table: Table) -> Clustering | None:
    """How new rows are laid out before they are written; None if they are written as they come."""
    if table.options.get(CLUSTERING_INCREMENTAL) and not table.options.get(CLUSTERING_INCREMENTAL_OPTIMIZE_WRITE):
        return None
    return clustering_of(table)
