"""Sorted runs opened for merging, with the level, file and position of each row as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.system_fields import LEVEL, key_value_fields
from paimon_sql.storage.data_files.live_files import partition_values
from paimon_sql.storage.data_files.sections import SortedRun
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.merge.windows import Run
from paimon_sql.storage.read.readers.data_file import read_with_positions, wanted_fields
from paimon_sql.storage.scan.split import Origin, Split
from paimon_sql.storage.table.table import Table

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

    moved = _partition_values(table, split, stored)

    def read(batch_rows: int) -> Iterator[pa.RecordBatch]:
        for file in run:
            origin = split.origins.get(file.file_name) or Origin(table, split.partition)
            for positions, rows in read_with_positions(
                origin.table,
                origin.partition,
                split.bucket,
                file,
                read_names,
                predicate=predicate,
                deletion=split.deletions.get(file.file_name),
                batch_rows=batch_rows,
            ):
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


def _partition_values(table: Table, split: Split, columns: Sequence[str]) -> dict[str, pa.Scalar]:
    """The values of partition columns that replace those of the files, in a split with origins."""
    if not split.origins:
        return {}
    values = partition_values(table, pa.array([split.partition], pa.binary()))
    return {name: value[0] for name, value in values.items() if name in columns}


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
