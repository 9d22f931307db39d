"""Reader of raw splits: files of append tables, and files of primary-key tables that need no merging."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from paimon_sql.format.schema.row_kind import RowKind
from paimon_sql.format.schema.system_fields import ROW_ID, VALUE_KIND
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.read.readers.blob_filter import read_wanted
from paimon_sql.storage.read.readers.data_evolution import rows_with_ids
from paimon_sql.storage.read.readers.data_file import read_data_file
from paimon_sql.storage.scan.split import DataEvolutionSplit, Split
from paimon_sql.storage.table.table import Table


def read_raw(
    table: Table,
    split: Split,
    columns: Sequence[str],
    predicate: Predicate | None = None,
    row_ids: Predicate | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read a raw split, file by file.

    Args:
        table: the table.
        split: the split.
        columns: the names of the wanted columns.
        predicate: rows for which it is not true may be skipped.
        row_ids: a condition on ``_ROW_ID`` alone; rows for which it is not true may be skipped.
    """
    stored = [c for c in columns if table.schema.primary_keys or c != VALUE_KIND.name]
    for file in split.files:
        ranges = None
        if file.first_row_id is not None and ROW_ID.name not in (file.write_cols or ()):
            ranges = rows_with_ids(file.first_row_id, file.row_count, row_ids)
        for batch in read_data_file(
            table,
            split.partition,
            split.bucket,
            file,
            stored,
            predicate=predicate,
            deletion=split.deletions.get(file.file_name),
            row_ranges=ranges,
        ):
            yield batch if len(stored) == len(columns) else with_inserts(batch, columns)


def read_data_evolution(
    table: Table,
    split: DataEvolutionSplit,
    columns: Sequence[str],
    predicate: Predicate | None = None,
    row_ids: Predicate | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read a split of data evolution, group by group; the arguments are those of `read_raw`."""
    stored = [c for c in columns if c != VALUE_KIND.name]
    for group in split.groups:
        for _, rows in read_wanted(table, split, group, stored, predicate, row_ids):
            yield with_inserts(rows, columns)


def with_inserts(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """Add the row kind ``+I`` to a batch without kinds, if ``_VALUE_KIND`` is among the columns."""
    if VALUE_KIND.name not in columns:
        return batch
    kinds = pa.array(np.full(batch.num_rows, RowKind.INSERT, dtype=np.int8))
    return batch.append_column(VALUE_KIND.name, kinds).select(list(columns))
