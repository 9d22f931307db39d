"""Metadata columns, which a query may name and ``*`` does not show, among them the row ids of row tracking.

``__paimon_file_path`` and ``__paimon_row_index`` are a row's data file and its position in it, from 0 on, deleted rows
included; ``__paimon_partition`` and ``__paimon_bucket`` are those of the file. They are computed from the plan; no file
stores them. Tables with row tracking also have ``_ROW_ID``, and ``_SEQUENCE_NUMBER``, the snapshot that changed the row
last (spec: Row Tracking).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.row_tracking import ROW_TRACKING_ENABLED
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import ROW_ID, SEQUENCE_NUMBER, TRACKED
from paimon_sql.format.schema.types import BigIntType, DataField, IntType, RowType, string_type
from paimon_sql.storage.data_files.live_files import Deletion, partition_values
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.read.readers.data_evolution import read_wanted
from paimon_sql.storage.read.readers.data_file import DataFileReader
from paimon_sql.storage.read.readers.merge import read_merged
from paimon_sql.storage.read.readers.splits import read_postponed, reader_of
from paimon_sql.storage.scan.postponed import PostponedSplit
from paimon_sql.storage.scan.split import DataEvolutionSplit, Split
from paimon_sql.storage.table.table import Table

_FIRST_ID = 2**31 - 1 - 100
ROW_INDEX = DataField(_FIRST_ID, "__paimon_row_index", BigIntType(), "the row's position in its data file, from 0 on")
FILE_PATH = DataField(_FIRST_ID - 1, "__paimon_file_path", string_type(), "the data file that holds the row")
PARTITION = "__paimon_partition"
BUCKET = DataField(_FIRST_ID - 3, "__paimon_bucket", IntType(), "the row's bucket")
_POSITION_COLUMNS = frozenset({ROW_INDEX.name, FILE_PATH.name})


def metadata_fields(schema: TableSchema) -> tuple[DataField, ...]:
    """The metadata columns of a table, without those whose name one of its columns has."""
    keys = schema.partition_fields
    partition = DataField(_FIRST_ID - 2, PARTITION, RowType(True, keys), "the row's partition")
    offered = (FILE_PATH, ROW_INDEX, partition, BUCKET)
    own = {name.lower() for name in schema.names}
    return (*(f for f in offered if f.name not in own), *(TRACKED if is_tracked(schema) else ()))


@singledispatch
def read_with_metadata(
    split: Split,
    table: Table,
    columns: Sequence[str],
    hidden: Sequence[DataField],
    predicate: Predicate | None = None,
    row_ids: Predicate | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read a split with metadata columns after the others.

    Args:
        split: the split, of any kind.
        table: the table.
        columns: the names of the other columns.
        hidden: the metadata columns.
        predicate: rows for which it is not true may be skipped.
        row_ids: a condition on ``_ROW_ID`` alone; rows for which it is not true may be skipped.

    Raises:
        UnsupportedError: the position of a row is wanted, but rows are merged from several files.
    """
    metadata = _MetadataColumns(table, split, hidden)
    # A batch without columns has no number of rows.
    read = columns or table.schema.names[:1]
    if not split.raw:
        if unavailable := _POSITION_COLUMNS & {f.name for f in hidden}:
            raise UnsupportedError(
                f"{table.name}: {min(unavailable)} is not available for rows that are merged when they are read.",
                remedy="Compact the table, or select only __paimon_bucket and __paimon_partition.",
            )
        for batch in read_merged(table, split, read, predicate):
            yield metadata.appended_to(batch.select(list(columns)), batch.num_rows)
        return
    for file in split.files:
        path = table.locations.data_file(split.partition, split.bucket, file)
        reader = reader_of(table, split, file, read, predicate, row_ids)
        for positions, batch in read_tracked(reader) if metadata.tracked else reader.with_positions():
            tracked = {name: batch.column(name) for name in metadata.tracked}
            yield metadata.appended_to(batch.select(list(columns)), batch.num_rows, path, positions, tracked)


@read_with_metadata.register
def _(
    split: DataEvolutionSplit,
    table: Table,
    columns: Sequence[str],
    hidden: Sequence[DataField],
    predicate: Predicate | None = None,
    row_ids: Predicate | None = None,
) -> Iterator[pa.RecordBatch]:
    """The position of a row whose columns lie in several files is that in the oldest file."""
    metadata = _MetadataColumns(table, split, hidden)
    for group in split.groups:
        anchor = group.anchor
        path = table.locations.data_file(split.partition, split.bucket, anchor)
        for positions, batch in read_wanted(table, split, group, columns, predicate, row_ids):
            tracked = {
                ROW_ID.name: pa.array(positions + group.first_row_id),
                SEQUENCE_NUMBER.name: pa.array(np.full(len(positions), group.sequence_number, dtype=np.int64)),
            }
            yield metadata.appended_to(batch, len(positions), path, positions, tracked)


@read_with_metadata.register
def _(
    split: PostponedSplit, table: Table, columns: Sequence[str], hidden: Sequence[DataField], *_: object
) -> Iterator[pa.RecordBatch]:
    return read_postponed(table, split, [*columns, *(f.name for f in hidden)])


class _MetadataColumns:
    """The metadata columns of a split."""

    def __init__(self, table: Table, split: Split, fields: Sequence[DataField]) -> None:
        self.table = table
        self._fields = fields
        self.tracked = tuple(f.name for f in fields if f in TRACKED)
        self._constants: dict[str, pa.Array] = {BUCKET.name: pa.array([split.bucket], pa.int32())}
        for field in fields:
            if field.name == PARTITION:
                values = partition_values(table, pa.array([split.partition], pa.binary()))
                row = {name: value[0].as_py() for name, value in values.items()}
                self._constants[PARTITION] = pa.array([row], arrow_type(field.type))

    def appended_to(
        self,
        batch: pa.RecordBatch,
        count: int,
        path: str = "",
        positions: npt.NDArray[np.int64] | None = None,
        tracked: Mapping[str, pa.Array] = MappingProxyType({}),
    ) -> pa.RecordBatch:
        """The batch with the metadata columns after its own; ``count`` is its number of rows, even without columns."""
        columns, names = list(batch.columns), list(batch.schema.names)
        first = pa.array(np.zeros(count, dtype=np.int32))
        for field in self._fields:
            names.append(field.name)
            if field.name in tracked:
                columns.append(tracked[field.name])
            elif field.name == ROW_INDEX.name:
                columns.append(pa.array(positions, pa.int64()))
            elif field.name == FILE_PATH.name:
                columns.append(pa.repeat(pa.scalar(path, pa.string()), count))
            else:
                columns.append(self._constants[field.name].take(first))
        return pa.RecordBatch.from_arrays(columns, names=names)


def is_tracked(schema: TableSchema) -> bool:
    """Whether the rows of a table have ids."""
    return bool(TableOptions(schema.options).get(ROW_TRACKING_ENABLED))


def read_tracked(reader: DataFileReader) -> Iterator[tuple[npt.NDArray[np.int64], pa.RecordBatch]]:
    """Read a data file with ``_ROW_ID`` and ``_SEQUENCE_NUMBER`` after the wanted columns.

    In a file of new rows, ids count up from its first row id, and the sequence number is that of the snapshot that
    added the file. Files with moved rows store both columns; a null in them means the same as in a file without the
    columns.
    """
    names, file = [*reader.columns, *(f.name for f in TRACKED)], reader.file
    for positions, rows in replace(reader, columns=names).with_positions():
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
) -> Iterator[tuple[npt.NDArray[np.int64], pa.RecordBatch]]:
    """Read a data file to copy its rows into another one, with their ids if the table tracks rows.

    Returns: as `DataFileReader.with_positions`.
    """
    reader = DataFileReader(table, partition, bucket, file, table.schema.names, deletion=deletion)
    return read_tracked(reader) if is_tracked(table.schema) else reader.with_positions()
