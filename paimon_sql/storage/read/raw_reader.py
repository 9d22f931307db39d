"""Rows that need no merging: those of append files, and those of keyed tables' files that hold them as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from paimon_sql.format.row_kind import RowKind
from paimon_sql.format.special_fields import VALUE_KIND
from paimon_sql.storage.predicates import Predicate
from paimon_sql.storage.read.data_files import read_data_file
from paimon_sql.storage.read.evolved_reader import read_group
from paimon_sql.storage.scan.split import EvolvedSplit, Split
from paimon_sql.storage.table import Table


def read_raw(
    table: Table, split: Split, columns: Sequence[str], predicate: Predicate | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a raw split, file by file."""
    stored = [c for c in columns if table.schema.primary_keys or c != VALUE_KIND.name]
    for file in split.files:
        for batch in read_data_file(
            table,
            split.partition,
            split.bucket,
            file,
            stored,
            predicate=predicate,
            deletion=split.deletions.get(file.file_name),
        ):
            yield batch if len(stored) == len(columns) else with_inserts(batch, columns)


def read_evolved(table: Table, split: EvolvedSplit, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of files that hold columns of the same rows, group by group."""
    stored = [c for c in columns if c != VALUE_KIND.name]
    for group in split.groups:
        deletion = split.deletions.get(group.anchor.file_name)
        for _, rows in read_group(table, split.partition, split.bucket, group, stored, deletion=deletion):
            yield with_inserts(rows, columns)


def with_inserts(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """A batch of rows that have no kind, with the kind of inserted ones if that is among the columns."""
    if VALUE_KIND.name not in columns:
        return batch
    kinds = pa.array(np.full(batch.num_rows, RowKind.INSERT, dtype=np.int8))
    return batch.append_column(VALUE_KIND.name, kinds).select(list(columns))
