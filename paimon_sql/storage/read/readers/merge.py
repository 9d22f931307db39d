"""Merge on read: sorted runs, with the origins of their rows, are merged section by section."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import LEVEL, SEQUENCE_NUMBER, VALUE_KIND, key_value_fields
from paimon_sql.storage.data_files.live_files import partition_row
from paimon_sql.storage.data_files.lsm_tree import Section, SortedRun
from paimon_sql.storage.expressions.predicates import Predicate, conjuncts_on
from paimon_sql.storage.file_formats.base import BATCH_ROWS
from paimon_sql.storage.merge.lookup_levels import merges_by_level, up_to_date
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.merge.sequence import sequence_fields
from paimon_sql.storage.merge.windows import RowOrder, Run, Window, merged_windows
from paimon_sql.storage.read.readers.data_file import DataFileReader, wanted_fields
from paimon_sql.storage.scan.split import Origin, Split
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
                yield from _in_batches(rows)


_FEW_ROWS = 4096
"""Copying so many rows takes less time than the steps that a batch goes through."""


def _in_batches(rows: pa.Table) -> list[pa.RecordBatch]:
    """The rows in batches that are not tiny, as the chunks are of which a condition left few rows."""
    chunks = max((column.num_chunks for column in rows.columns), default=0)
    whole = rows.combine_chunks() if len(rows) < chunks * _FEW_ROWS else rows
    return list(whole.to_batches(max_chunksize=BATCH_ROWS))


def current_windows(
    table: Table, split: Split, section: Section, columns: Sequence[str], predicate: Predicate | None = None
) -> Iterator[Window]:
    """The windows of `merge_section`, without rows that a lower level replaces, if the table merges by level.

    Levels of files from several buckets are not comparable.
    """
    by_level = merges_by_level(table.options) and not split.origins
    for window in merge_section(table, split, section, [*columns, LEVEL.name] if by_level else columns, predicate):
        yield up_to_date(window) if by_level else window


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


FILE, PLACE = "_FILE", "_PLACE"
"""The index of a row's file in its split, and its position in that file."""
_ORIGINS = frozenset({LEVEL.name, FILE, PLACE})
_EXPANSION = 4
"""The approximate ratio of rows' size in memory to that in files."""


def open_run(
    table: Table,
    split: Split,
    run: SortedRun,
    columns: Sequence[str],
    *,
    predicate: Predicate | None = None,
    unread: frozenset[str] = frozenset(),
) -> Run:
    """Open a sorted run of a bucket for merging.

    Args:
        table: the table.
        split: the split of the files, with their deletion vectors.
        run: the files in the order of their keys.
        columns: the current names of the columns; may include system columns, ``_LEVEL``, ``_FILE`` and ``_PLACE``.
        predicate: a condition on the key; rows for which it is not true are dropped.
        unread: columns that are not used from the rows of this run; they are null.
    """
    stored = [name for name in columns if name not in _ORIGINS]
    read_names = [name for name in stored if name not in unread]
    expiry = split.expiry if split.expiry and split.expiry.column in read_names else None
    missing = {f.name: arrow_type(f.type) for f in wanted_fields(table, [n for n in stored if n in unread])}

    moved = partition_row(table, split.partition, stored) if split.origins else {}

    def read(batch_rows: int) -> Iterator[pa.RecordBatch]:
        for file in run:
            origin = split.origins.get(file.file_name) or Origin(table, split.partition)
            deletion = split.deletions.get(file.file_name)
            reader = DataFileReader(
                origin.table, origin.partition, split.bucket, file, read_names, predicate, deletion, batch_rows
            )
            for positions, rows in reader.with_positions():
                if predicate is not None:
                    matching = predicate.holds(rows)
                    rows, positions = rows.filter(matching), positions[matching.to_numpy(zero_copy_only=False)]
                if expiry is not None:
                    alive = expiry.alive(rows.column(expiry.column))
                    rows, positions = rows.filter(pa.array(alive)), positions[alive]
                found = dict(zip(rows.schema.names, rows.columns, strict=True))
                found |= {name: pa.nulls(rows.num_rows, kind) for name, kind in missing.items()}
                found |= {name: pa.repeat(value, rows.num_rows) for name, value in moved.items()}
                found |= _origins(split, file, positions, columns)
                yield pa.RecordBatch.from_arrays([found[name] for name in columns], names=list(columns))

    width = len(key_value_fields(table.schema))
    size = sum(f.file_size for f in run) * _EXPANSION * min(len(read_names), width) // width
    name = run[0].file_name if len(run) == 1 else f"{run[0].file_name} and {len(run) - 1} files more"
    return Run(sum(f.row_count for f in run), size, read, name)


def _origins(
    split: Split, file: DataFileMeta, positions: npt.NDArray[np.int64], columns: Sequence[str]
) -> dict[str, pa.Array]:
    found = {}
    if LEVEL.name in columns:
        found[LEVEL.name] = pa.array(np.full(len(positions), file.level, dtype=np.int32))
    if FILE in columns:
        number = next(i for i, f in enumerate(split.files) if f.file_name == file.file_name)
        found[FILE] = pa.array(np.full(len(positions), number, dtype=np.int32))
    if PLACE in columns:
        found[PLACE] = pa.array(positions)
    return found
