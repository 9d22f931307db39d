"""Merge on read: the sections of a split are merged; each key that is not deleted gives one row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pyarrow as pa

from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import LEVEL, SEQUENCE_NUMBER, VALUE_KIND
from paimon_sql.storage.data_files.sections import Section
from paimon_sql.storage.expressions.predicates import Predicate, conjuncts_on
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
    """Read the merged rows of a split, in no particular order; deletes too if ``_VALUE_KIND`` is among the columns.

    Conditions on the key skip parts of files; the caller has to apply the others to the merged rows.
    """
    engine = merge_engine(table.schema)
    on_key = conjuncts_on(predicate, table.schema.trimmed_primary_keys)
    with_kinds = VALUE_KIND.name in columns
    for section in split.sections:
        for window in current_windows(table, split, section, engine.required_columns(tuple(columns)), on_key):
            merged = [engine.merge(window).select(columns)] if with_kinds else engine.live_rows(window, columns)
            for rows in merged:
                yield from rows.to_batches(max_chunksize=65_536)


def current_windows(
    table: Table, split: Split, section: Section, columns: Sequence[str], predicate: Predicate | None = None
) -> Iterator[Window]:
    """The windows of `merge_section`, without rows that a lower level replaces, if the table merges by level.

    Levels of files from several buckets are not comparable.
    """
    if merges_by_level(table.options) and not split.origins:
        for window in merge_section(table, split, section, [*columns, LEVEL.name], predicate):
            yield up_to_date(window)
    else:
        yield from merge_section(table, split, section, columns, predicate)


def merge_section(
    table: Table, split: Split, section: Section, columns: Sequence[str], predicate: Predicate | None = None
) -> Iterator[Window]:
    """The rows of a section in windows of whole keys, with the columns that merging needs in addition."""
    by = row_order(table.schema, section)
    needed = list(dict.fromkeys([*columns, *by.keys, *(name for name, _ in by.ties), VALUE_KIND.name]))
    runs = [open_run(table, split, run, needed, predicate=predicate) for run in section.runs]
    return merged_windows(runs, by, table.options)


def row_order(schema: TableSchema, section: Section) -> RowOrder:
    """The sort order of a section's rows.

    The sequence number decides which row of a key is newer. It is not read if the runs' ranges of sequence numbers do
    not overlap, for then the runs are in this order already.
    """
    ties = sequence_fields(schema.options)
    bounds = [(min(f.min_sequence_number for f in r), max(f.max_sequence_number for f in r)) for r in section.runs]
    if any(low <= before for (_, before), (low, _) in pairwise(bounds)):
        ties.append((SEQUENCE_NUMBER.name, False))
    return RowOrder(schema.trimmed_primary_keys, tuple(ties))
