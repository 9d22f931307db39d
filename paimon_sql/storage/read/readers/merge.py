"""Merge on read: the sections of a split merged, and what is left of each key that was not deleted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pyarrow as pa

from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import LEVEL, SEQUENCE_NUMBER, VALUE_KIND
from paimon_sql.storage.data_files.sections import Section
from paimon_sql.storage.expressions.predicates import Predicate, about
from paimon_sql.storage.merge.lookup_levels import merges_by_level, up_to_date
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.merge.sequence import sequence_fields
from paimon_sql.storage.merge.spill import merged_windows
from paimon_sql.storage.merge.windows import RowOrder, Window
from paimon_sql.storage.read.readers.sorted_runs import open_run
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.table.table import Table


def read_merged(
    table: Table, split: Split, columns: Sequence[str], predicate: Predicate | None = None
) -> Iterator[pa.RecordBatch]:
    """The merged rows of a split, in no particular order; deleted ones too if their kinds are asked for.

    Conditions on the key are used to pass over parts of files; others wait until the rows are merged.
    """
    engine = merge_engine(table.schema)
    on_key = about(predicate, table.schema.trimmed_primary_keys)
    with_kinds = VALUE_KIND.name in columns
    for section in split.sections:
        for window in current_windows(table, split, section, engine.needs(tuple(columns)), on_key):
            merged = [engine.merge(window).select(columns)] if with_kinds else engine.left(window, columns)
            for rows in merged:
                yield from rows.to_batches(max_chunksize=65_536)


def current_windows(
    table: Table, split: Split, section: Section, columns: Sequence[str], predicate: Predicate | None = None
) -> Iterator[Window]:
    """The windows of `merge_section`, without the rows that newer ones stand for by their level.

    Levels of files from several buckets say nothing about each other.
    """
    if merges_by_level(table.options) and not split.origins:
        for window in merge_section(table, split, section, [*columns, LEVEL.name], predicate):
            yield up_to_date(window)
    else:
        yield from merge_section(table, split, section, columns, predicate)


def merge_section(
    table: Table, split: Split, section: Section, columns: Sequence[str], predicate: Predicate | None = None
) -> Iterator[Window]:
    """The rows of a section in windows of whole keys, with all that merging needs beside the columns."""
    by = row_order(table.schema, section)
    needed = list(dict.fromkeys([*columns, *by.keys, *(name for name, _ in by.ties), VALUE_KIND.name]))
    runs = [open_run(table, split, run, needed, predicate=predicate) for run in section.runs]
    return merged_windows(runs, by, table.options)


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
