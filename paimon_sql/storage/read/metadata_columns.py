"""Columns that a query may name and ``*`` does not show: where a row stands.

``__paimon_file_path`` and ``__paimon_row_index`` tell the data file and the place in it, from 0 on, deleted rows
counted too; ``__paimon_partition`` and ``__paimon_bucket`` what the file belongs to. They are worked out from the plan,
no file holds them. Tables with row tracking have ``_ROW_ID`` and ``_SEQUENCE_NUMBER`` too, the row's id and the
snapshot that changed it last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import ROW_ID, SEQUENCE_NUMBER, TRACKED
from paimon_sql.format.schema.types import BigIntType, DataField, IntType, RowType, string_type
from paimon_sql.storage.data_files.live_files import partition_values
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.read.readers.blob_filter import read_wanted
from paimon_sql.storage.read.readers.data_evolution import rows_with_ids
from paimon_sql.storage.read.readers.data_file import read_places
from paimon_sql.storage.read.readers.merge import read_merged
from paimon_sql.storage.read.row_tracking import is_tracked, read_tracked
from paimon_sql.storage.scan.split import DataEvolutionSplit, Split
from paimon_sql.storage.table.table import Table

_FIRST_ID = 2**31 - 1 - 100
ROW_INDEX = DataField(_FIRST_ID, "__paimon_row_index", BigIntType(), "the row's place in its data file, from 0 on")
FILE_PATH = DataField(_FIRST_ID - 1, "__paimon_file_path", string_type(), "the data file that holds the row")
PARTITION = "__paimon_partition"
BUCKET = DataField(_FIRST_ID - 3, "__paimon_bucket", IntType(), "the row's bucket")
_PLACES = frozenset({ROW_INDEX.name, FILE_PATH.name})


def hidden_fields(schema: TableSchema) -> tuple[DataField, ...]:
    """The hidden columns of a table; those whose name a column of its own has are not among them."""
    keys = schema.partition_fields
    partition = DataField(_FIRST_ID - 2, PARTITION, RowType(True, keys), "the row's partition")
    offered = (FILE_PATH, ROW_INDEX, partition, BUCKET)
    own = {name.lower() for name in schema.names}
    return (*(f for f in offered if f.name not in own), *(TRACKED if is_tracked(schema) else ()))


def read_with_hidden(
    table: Table,
    split: Split,
    columns: Sequence[str],
    hidden: Sequence[DataField],
    predicate: Predicate | None = None,
    row_ids: Predicate | None = None,
) -> Iterator[pa.RecordBatch]:
    """The rows of a split with hidden columns behind the others.

    A row whose columns lie in several files stands where the oldest of them has it.

    Args:
        table: the table.
        split: the split.
        columns: the names of the other columns.
        hidden: the hidden columns.
        predicate: rows for which it is not true may be passed over.
        row_ids: the same, of ``_ROW_ID`` alone.

    Raises:
        UnsupportedError: a row's place is asked for where rows are merged out of several files.
    """
    found = _Hidden(table, split, hidden)
    if isinstance(split, DataEvolutionSplit):
        yield from _of_groups(found, split, columns, predicate, row_ids)
        return
    # A batch without columns would not tell how many rows it has.
    read = columns or table.schema.names[:1]
    if not split.raw:
        if asked := _PLACES & {f.name for f in hidden}:
            raise UnsupportedError(
                f"{table.name}: {min(asked)} is not known for rows that are merged when they are read.",
                remedy="Compact the table, or ask for __paimon_bucket and __paimon_partition only.",
            )
        for batch in read_merged(table, split, read, predicate):
            yield found.beside(batch.select(list(columns)), batch.num_rows)
        return
    for file in split.files:
        path = table.locations.data_file(split.partition, split.bucket, file)
        deletion = split.deletions.get(file.file_name)
        reader = read_tracked if found.tracked else read_places
        ranges = None
        if file.first_row_id is not None and ROW_ID.name not in (file.write_cols or ()):
            ranges = rows_with_ids(file.first_row_id, file.row_count, row_ids)
        places = reader(
            table,
            split.partition,
            split.bucket,
            file,
            read,
            predicate=predicate,
            deletion=deletion,
            row_ranges=ranges,
        )
        for rows, batch in places:
            tracked = {name: batch.column(name) for name in found.tracked}
            yield found.beside(batch.select(list(columns)), batch.num_rows, path, rows, tracked)


def _of_groups(
    found: _Hidden,
    split: DataEvolutionSplit,
    columns: Sequence[str],
    predicate: Predicate | None,
    row_ids: Predicate | None,
) -> Iterator[pa.RecordBatch]:
    table = found.table
    for group in split.groups:
        anchor = group.anchor
        path = table.locations.data_file(split.partition, split.bucket, anchor)
        for places, batch in read_wanted(table, split, group, columns, predicate, row_ids):
            tracked = {
                ROW_ID.name: pa.array(places + group.first_row_id),
                SEQUENCE_NUMBER.name: pa.array(np.full(len(places), group.sequence_number, dtype=np.int64)),
            }
            yield found.beside(batch, len(places), path, places, tracked)


class _Hidden:
    """The hidden columns of one split's rows."""

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

    def beside(
        self,
        batch: pa.RecordBatch,
        count: int,
        path: str = "",
        rows: npt.NDArray[np.int64] | None = None,
        tracked: Mapping[str, pa.Array] = MappingProxyType({}),
    ) -> pa.RecordBatch:
        """The batch with the hidden columns behind its own."""
        columns, names = list(batch.columns), list(batch.schema.names)
        first = pa.array(np.zeros(count, dtype=np.int32))
        for field in self._fields:
            names.append(field.name)
            if field.name in tracked:
                columns.append(tracked[field.name])
            elif field.name == ROW_INDEX.name:
                columns.append(pa.array(rows, pa.int64()))
            elif field.name == FILE_PATH.name:
                columns.append(pa.repeat(pa.scalar(path, pa.string()), count))
            else:
                columns.append(self._constants[field.name].take(first))
        return pa.RecordBatch.from_arrays(columns, names=names)
