"""Metadata columns, which a query may name and ``*`` does not show, among them the row ids of row tracking.

``__paimon_file_path`` and ``__paimon_row_index`` are a row's data file and its position in it, from 0 on, deleted rows
included; ``__paimon_partition`` and ``__paimon_bucket`` are those of the file. They are computed from the plan; no file
stores them. Tables with row tracking also have ``_ROW_ID``, and ``_SEQUENCE_NUMBER``, the snapshot that changed the row
last (spec: Row Tracking).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.row_tracking import ROW_TRACKING_ENABLED
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import TRACKED
from paimon_sql.format.schema.types import BigIntType, DataField, IntType, RowType, string_type
from paimon_sql.storage.data_files.live_files import partition_values
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.table.table import Table

_FIRST_ID = 2**31 - 1 - 100
ROW_INDEX = DataField(_FIRST_ID, "__paimon_row_index", BigIntType(), "the row's position in its data file, from 0 on")
FILE_PATH = DataField(_FIRST_ID - 1, "__paimon_file_path", string_type(), "the data file that holds the row")
PARTITION = "__paimon_partition"
BUCKET = DataField(_FIRST_ID - 3, "__paimon_bucket", IntType(), "the row's bucket")
POSITION_COLUMNS = frozenset({ROW_INDEX.name, FILE_PATH.name})


def metadata_fields(schema: TableSchema) -> tuple[DataField, ...]:
    """The metadata columns of a table, without those whose name one of its columns has."""
    keys = schema.partition_fields
    partition = DataField(_FIRST_ID - 2, PARTITION, RowType(True, keys), "the row's partition")
    offered = (FILE_PATH, ROW_INDEX, partition, BUCKET)
    own = {name.lower() for name in schema.names}
    return (*(f for f in offered if f.name not in own), *(TRACKED if is_tracked(schema) else ()))


class MetadataColumns:
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
        if not self._fields:
            return batch
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
