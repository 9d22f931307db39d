"""One data file as batches of today's columns, whatever schema it was written with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from paimon_sql.format.data_file import DataFileMeta
from paimon_sql.format.paths import format_of
from paimon_sql.format.schema import TableSchema
from paimon_sql.format.special_fields import key_value_fields
from paimon_sql.format.types import DataField
from paimon_sql.storage.files.base import BATCH_ROWS
from paimon_sql.storage.files.registry import file_format
from paimon_sql.storage.predicates import Predicate
from paimon_sql.storage.table import Table


def read_data_file(
    table: Table,
    partition: bytes,
    bucket: int,
    file: DataFileMeta,
    columns: Sequence[str],
    *,
    predicate: Predicate | None = None,
    batch_rows: int = BATCH_ROWS,
) -> Iterator[pa.RecordBatch]:
    """A data file's rows in its order.

    Args:
        table: the table.
        partition: the serialised partition row.
        bucket: the bucket's number.
        file: the file.
        columns: today's names of the columns wanted; the system columns of keyed tables among them by their own.
        predicate: rows for which it is not true may be passed over.
        batch_rows: the most rows of a batch.
    """
    path = table.locations.data_file(partition, bucket, file)
    written = table.schemas.get(file.schema_id)
    return file_format(format_of(file.file_name)).read(
        table.file_io, path, file.file_size, stored_fields(written), list(columns), batch_rows=batch_rows
    )


def stored_fields(schema: TableSchema) -> Sequence[DataField]:
    """The columns that a data file of that schema holds."""
    return key_value_fields(schema) if schema.primary_keys else schema.fields
