"""Merge on read: the sections of a split merged, and what is left of each key that was not deleted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pyarrow as pa

from paimon_sql.format.schema import TableSchema
from paimon_sql.format.special_fields import SEQUENCE_NUMBER, VALUE_KIND, key_value_fields
from paimon_sql.storage.merge.engine import merge_engine
from paimon_sql.storage.merge.sequence import sequence_fields
from paimon_sql.storage.merge.windows import RowOrder, Run, Window, windows
from paimon_sql.storage.predicates import Predicate, all_of, conjuncts
from paimon_sql.storage.read.data_files import read_data_file
from paimon_sql.storage.scan.plan import Split
from paimon_sql.storage.scan.sections import Section, SortedRun
from paimon_sql.storage.table import Table

_EXPANSION = 4
"""How much bigger rows are in memory than in files, roughly."""


def read_merged(
    table: Table, split: Split, columns: Sequence[str], predicate: Predicate | None = None
) -> Iterator[pa.RecordBatch]:
    """The merged rows of a split, in no particular order.

    Conditions on the key are used to pass over parts of files; others wait until the rows are merged.
    """
    engine = merge_engine(table.schema)
    keys = set(table.schema.trimmed_primary_keys)
    on_key = all_of([p for p in conjuncts(predicate) if p.columns() <= keys])
    for section in split.sections:
        for window in merge_section(table, split, section, engine.needs(tuple(columns)), on_key):
            for rows in engine.left(window, columns):
                yield from rows.to_batches(max_chunksize=65_536)


def merge_section(
    table: Table, split: Split, section: Section, columns: Sequence[str], predicate: Predicate | None = None
) -> Iterator[Window]:
    """The rows of a section in windows of whole keys, with all that merging needs beside the columns."""
    by = row_order(table.schema, section)
    needed = list(dict.fromkeys([*columns, *by.keys, *(name for name, _ in by.ties), VALUE_KIND.name]))
    runs = [_run(table, split, run, needed, predicate) for run in section.runs]
    return windows(runs, by)


def row_order(schema: TableSchema, section: Section) -> RowOrder:
    """How the rows of a section are sorted.

    The sequence number decides which row of a key is newer. Runs whose ranges of sequence numbers follow upon each
    other are in that order already, and then it need not be read.
    """
    ties = sequence_fields(schema.options)
    bounds = [(min(f.min_sequence_number for f in r), max(f.max_sequence_number for f in r)) for r in section.runs]
    if any(low <= before for (_, before), (low, _) in pairwise(bounds)):
        ties.append((SEQUENCE_NUMBER.name, False))
    return RowOrder(schema.trimmed_primary_keys, tuple(ties))


def _run(table: Table, split: Split, run: SortedRun, columns: Sequence[str], predicate: Predicate | None) -> Run:
    def read(batch_rows: int) -> Iterator[pa.RecordBatch]:
        for file in run:
            yield from read_data_file(
                table,
                split.partition,
                split.bucket,
                file,
                columns,
                predicate=predicate,
                deletion=split.deletions.get(file.file_name),
                batch_rows=batch_rows,
            )

    stored = len(key_value_fields(table.schema))
    size = sum(f.file_size for f in run) * _EXPANSION * min(len(columns), stored) // stored
    name = run[0].file_name if len(run) == 1 else f"{run[0].file_name} and {len(run) - 1} files more"
    return Run(sum(f.row_count for f in run), size, read, name)
