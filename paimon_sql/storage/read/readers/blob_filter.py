"""The rows of a group of files that satisfy a condition, and few others, where blobs are read.

The columns of the condition are read first; blobs are read of those rows alone that it is true for.
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

_MOST_PIECES = 1024


def read_wanted(
    table: Table,
    split: DataEvolutionSplit,
    group: FileGroup,
    columns: Sequence[str],
    predicate: Predicate | None,
    row_ids: Predicate | None,
) -> Iterator[tuple[npt.NDArray[np.int64], pa.RecordBatch]]:
    """The rows of one of a split's groups, as `read_group` gives them; the condition is not decided here.

    Args:
        table: the table.
        split: the split.
        group: the group.
        columns: the names of the columns wanted, those of the condition among them.
        predicate: rows for which it is not true may be passed over.
        row_ids: the same, of ``_ROW_ID`` alone.
    """
    deletion = split.deletions.get(group.anchor.file_name)
    read = partial(read_group, table, split.partition, split.bucket, group, deletion=deletion, row_ids=row_ids)
    blobs = {f.name for f in fields_in_blob_files(table.schema)} & set(columns)
    if not blobs or predicate is None or not predicate.columns() <= set(table.schema.names) - blobs:
        return read(columns=columns)
    found = [
        places[predicate.holds(rows).to_numpy(zero_copy_only=False)]
        for places, rows in read(columns=sorted(predicate.columns()))
    ]
    places = np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
    return read(columns=columns, ranges=_pieces(places))


def _pieces(places: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Not too many ranges that hold all of some places, with as few others between as can be."""
    if not len(places):
        return []
    gaps = np.diff(places)
    widest = np.sort(np.argsort(gaps, kind="stable")[::-1][:_MOST_PIECES])
    cuts = widest[gaps[widest] > 1] + 1
    return [(int(places[low]), int(places[high - 1]) + 1) for low, high in pairwise([0, *cuts.tolist(), len(places)])]
