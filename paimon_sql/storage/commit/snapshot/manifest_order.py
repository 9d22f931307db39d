"""Order of manifest entries by a partition column (``manifest-sort.enabled``), so that reads skip manifests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.options.operations.commit import MANIFEST_SORT_ENABLED, MANIFEST_SORT_PARTITION_FIELD
from paimon_sql.format.rows.decode import decode_columns
from paimon_sql.storage.table.table import Table


def sort_column(table: Table) -> str | None:
    """Return the partition column to sort by, by default the first; None for no order.

    Raises:
        InvalidOptionError: the option names another column.
    """
    partitions = table.schema.partition_keys
    if not table.options.get(MANIFEST_SORT_ENABLED) or not partitions:
        return None
    name: str = table.options.get(MANIFEST_SORT_PARTITION_FIELD) or partitions[0]
    if name not in partitions:
        key = MANIFEST_SORT_PARTITION_FIELD.key
        raise InvalidOptionError(
            f"'{key}' is '{name}', which is no partition column of {table.name}.",
            key=key,
            remedy=f"Those are {', '.join(partitions)}.",
        )
    return name


def in_order(table: Table, entries: pa.Table) -> pa.Table:
    """Sort the entries if enabled; those of a partition stay in commit order."""
    column = sort_column(table)
    if column is None or not len(entries):
        return entries
    return entries.take(pc.sort_indices(_values(table, column, entries)))


def ranges(table: Table, column: str, manifests: Sequence[pa.Table]) -> npt.NDArray[np.int64]:
    """Return the ranks of each manifest's min and max value of a partition column, as two columns.

    Empty manifests have the range 0 to 0, like those of the min value.
    """
    values = _values(table, column, pa.concat_tables(manifests))
    order = pc.sort_indices(values).to_numpy()
    ranked = values.take(pa.array(order)).dictionary_encode(null_encoding="encode")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = ranked.indices.to_numpy()
    ends = np.cumsum([len(m) for m in manifests])
    parts = np.split(ranks, ends[:-1])
    return np.array([(p.min(), p.max()) if len(p) else (0, 0) for p in parts], np.int64).reshape(-1, 2)


def _values(table: Table, column: str, entries: pa.Table) -> pa.Array:
    fields = table.schema.partition_fields
    index = [f.name for f in fields].index(column)
    return decode_columns([f.type for f in fields], entries["partition"])[index]
