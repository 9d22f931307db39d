"""Statistics of partition columns, from the partitions of files."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.storage.data_files.live_files import partition_values
from paimon_sql.storage.expressions.predicates import ColumnStats
from paimon_sql.storage.table.table import Table


def values_of_partitions(table: Table, entries: pa.Table, column: str) -> pa.Array:
    """Return the value of a partition column for each entry."""
    encoded = entries["partition"].combine_chunks().dictionary_encode()
    return partition_values(table, encoded.dictionary)[column].take(encoded.indices)


def partition_stats(table: Table, entries: pa.Table, column: str) -> ColumnStats:
    """Return the exact statistics of a partition column, one element per entry."""
    values, rows = values_of_partitions(table, entries, column), entries["row_count"].combine_chunks()
    nulls = pc.if_else(values.is_null(), rows, pa.scalar(0, rows.type))
    return ColumnStats(values, values, nulls, rows)
