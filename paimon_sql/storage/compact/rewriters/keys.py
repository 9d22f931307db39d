"""Mapping of a window's keys to their merged rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.expressions.kernels.segments import NOWHERE
from paimon_sql.storage.expressions.kernels.sorting import Indices
from paimon_sql.storage.merge.windows import RowOrder, Window


def rows_by_key(schema: TableSchema, window: Window, merged: pa.Table) -> Indices:
    """For each key of the window the index of its merged row; NOWHERE for a key without one."""
    count = len(window.starts)
    if len(merged) == count:
        return np.arange(count)
    names = schema.trimmed_primary_keys
    keys = window.table.select(list(names)).take(window.oldest)
    order, starts = RowOrder(names).sort(pa.concat_tables([keys, merged.select(list(names))]))
    found = np.full(count, NOWHERE, dtype=np.int64)
    groups = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
    # Each key of the window starts a group, followed by its merged row.
    is_merged = order >= count
    found[groups[is_merged]] = order[is_merged] - count
    return found
