"""Row tracking: the id of each row, and the snapshot that changed it last (spec: Row Tracking).

In a file of new rows, ids count up from its first row id, and the sequence number is that of the snapshot that added
the file. Files with moved rows store both columns; a null in them means the same as in a file without the columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.row_tracking import ROW_TRACKING_ENABLED
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import ROW_ID, SEQUENCE_NUMBER, TRACKED
from paimon_sql.storage.data_files.deletion_vectors import Deletion
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.read.readers.data_file import RowRanges, read_with_positions
from paimon_sql.storage.table.table import Table


def is_tracked(schema: TableSchema) -> bool:
    """Whether the rows of a table have ids."""
    return bool(TableOptions(schema.options).get(ROW_TRACKING_ENABLED))


def read_tracked(
    table: Table,
    partition: bytes,
    bucket: int,
    file: DataFileMeta,
    columns: Sequence[str],
    *,
    predicate: Predicate | None = None,
    deletion: Deletion | None = None,
    row_ranges: RowRanges | None = None,
) -> Iterator[tuple[npt.NDArray[np.int64], pa.RecordBatch]]:
    """Read a data file with ``_ROW_ID`` and ``_SEQUENCE_NUMBER`` after the wanted columns.

    Args: as of `read_with_positions`.
    """
    names = [*columns, *(f.name for f in TRACKED)]
    read = read_with_positions(
        table, partition, bucket, file, names, predicate=predicate, deletion=deletion, row_ranges=row_ranges
    )
    for positions, rows in read:
        first = file.first_row_id
        ids = pa.nulls(len(positions), pa.int64()) if first is None else pa.array(positions + first)
        numbers = pa.array(np.full(len(positions), file.max_sequence_number, dtype=np.int64))
        filled = {
            ROW_ID.name: pc.coalesce(rows.column(ROW_ID.name), ids),
            SEQUENCE_NUMBER.name: pc.coalesce(rows.column(SEQUENCE_NUMBER.name), numbers),
        }
        yield positions, pa.RecordBatch.from_arrays([filled.get(n, rows.column(n)) for n in names], names=names)


def rows_to_move(
    table: Table, partition: bytes, bucket: int, file: DataFileMeta, *, deletion: Deletion | None = None
) -> Iterator[pa.RecordBatch]:
    """Read a data file to copy its rows into another one, with their ids if the table tracks rows."""
    reader = read_tracked if is_tracked(table.schema) else read_with_positions
    for _, rows in reader(table, partition, bucket, file, table.schema.names, deletion=deletion):
        yield rows
