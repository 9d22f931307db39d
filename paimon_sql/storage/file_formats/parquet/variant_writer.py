"""Writer of shredded variants; the first rows are buffered to infer the shredding types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.storage.expressions.kernels.conform import conform
from paimon_sql.storage.file_formats.base import DataFileWriter
from paimon_sql.storage.file_formats.parquet.variant_columns import Shapes, apart, shred_columns
from paimon_sql.storage.file_formats.parquet.variant_shredding import Shredding


class ShreddingWriter(DataFileWriter):
    """A writer of one file, which opens the real writer once the shredding types are known.

    Args:
        path: the file.
        fields: the columns of the table.
        how: how to shred variants.
        open_writer: opens a writer of the shredded columns.
    """

    def __init__(
        self,
        path: str,
        fields: Sequence[t.DataField],
        how: Shredding,
        open_writer: Callable[[Sequence[t.DataField]], DataFileWriter],
    ) -> None:
        self.path = path
        self._fields = fields
        self._shredding = how
        self._open = open_writer
        self._table_schema = arrow_schema(fields)
        self._shapes: Shapes = {}
        self._schema = pa.schema([])
        self._writer: DataFileWriter | None = None
        self._buffered: list[pa.RecordBatch] = []
        self._buffered_rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        columns = [conform(column, field.type) for column, field in zip(batch.columns, self._table_schema, strict=True)]
        batch = pa.RecordBatch.from_arrays(columns, schema=self._table_schema)
        if self._writer is not None:
            self._put(self._writer, batch)
            return
        self._buffered.append(batch)
        self._buffered_rows += batch.num_rows
        if self._buffered_rows >= self._shredding.rows:
            self._begin()

    def _begin(self) -> DataFileWriter:
        first = pa.Table.from_batches(self._buffered, self._table_schema).slice(0, self._shredding.rows)
        columns = [
            pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
            for column in first.columns
        ]
        with self._malformed_refused():
            self._shapes = self._shredding.shapes(pa.RecordBatch.from_arrays(columns, schema=self._table_schema))
        fields = apart(self._fields, self._shapes)
        self._schema = arrow_schema(fields)
        self._writer = writer = self._open(fields)
        buffered, self._buffered = self._buffered, []
        for batch in buffered:
            self._put(writer, batch)
        return writer

    def _put(self, writer: DataFileWriter, batch: pa.RecordBatch) -> None:
        with self._malformed_refused():
            columns = shred_columns(batch, self._shapes)
        writer.write(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    @contextmanager
    def _malformed_refused(self) -> Iterator[None]:
        try:
            yield
        except (ValueError, LookupError) as error:
            raise InvalidInputError(f"{self.path}: a variant is malformed: {error}.") from error

    @property
    def bytes_written(self) -> int:
        if self._writer is None:
            return sum(batch.nbytes for batch in self._buffered)
        return self._writer.bytes_written

    def close(self) -> int:
        return (self._writer or self._begin()).close()

    def abort(self) -> None:
        self._buffered = []
        if self._writer is not None:
            self._writer.abort()
