"""Filtered reads of blobs: the columns of the condition are read first, then the blobs of matching rows.

Few other rows are read with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.storage.columns.blobs import fields_in_blob_files
from paimon_sql.storage.data_files.file_groups import FileGroup
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.read.readers.data_evolution import read_group
from paimon_sql.storage.scan.split import DataEvolutionSplit
from paimon_sql.storage.table.table import Table

_MAX_RANGES = 1024


def read_wanted(
    table: Table,
    split: DataEvolutionSplit,
    group: FileGroup,
    columns: Sequence[str],
    predicate: Predicate | None,
    row_ids: Predicate | None,
) -> Iterator[tuple[npt.NDArray[np.int64], pa.RecordBatch]]:
    """Read one of a split's groups as `read_group` does; the caller has to apply the condition again.

    Args:
        table: the table.
        split: the split.
        group: the group.
        columns: the names of the wanted columns, those of the condition included.
        predicate: rows for which it is not true may be skipped.
        row_ids: a condition on ``_ROW_ID`` alone; rows for which it is not true may be skipped.
    """
    deletion = split.deletions.get(group.anchor.file_name)
    read = partial(read_group, table, split.partition, split.bucket, group, deletion=deletion, row_ids=row_ids)
    blobs = {f.name for f in fields_in_blob_files(table.schema)} & set(columns)
    if not blobs or predicate is None or not predicate.columns() <= set(table.schema.names) - blobs:
        return read(columns=columns)
    found = [
        positions[predicate.holds(rows).to_numpy(zero_copy_only=False)]
        for positions, rows in read(columns=sorted(predicate.columns()))
    ]
    positions = np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
    return read(columns=columns, ranges=_covering_ranges(positions))


def _covering_ranges(positions: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Ranges that cover all positions, with as few others as `_MAX_RANGES` cuts allow."""
    if not len(positions):
        return []
    gaps = np.diff(positions)
    widest = np.sort(np.argsort(gaps, kind="stable")[::-1][:_MAX_RANGES])
    cuts = widest[gaps[widest] > 1] + 1
    return [
        (int(positions[low]), int(positions[high - 1]) + 1)
        for low, high in pairwise([0, *cuts.tolist(), len(positions)])
    ]
