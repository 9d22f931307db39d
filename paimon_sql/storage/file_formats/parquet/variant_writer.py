"""Writing files whose variants are taken apart; the first rows are held until they have told how."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.storage.expressions.kernels.conform import conform
from paimon_sql.storage.file_formats.base import DataFileWriter
from paimon_sql.storage.file_formats.parquet.variant_columns import Shapes, apart, taken_apart
from paimon_sql.storage.file_formats.parquet.variant_shredding import Shredding


class ShreddingWriter(DataFileWriter):
    """One file in the making, whose writer is opened once the shapes of its variants are known.

    Args:
        path: the file.
        fields: the columns as the table has them.
        how: how variants get their shapes.
        open_writer: opens a writer of the columns as the file has them.
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
        self._how = how
        self._open = open_writer
        self._whole = arrow_schema(fields)
        self._shapes: Shapes = {}
        self._schema = pa.schema([])
        self._writer: DataFileWriter | None = None
        self._held: list[pa.RecordBatch] = []
        self._held_rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        columns = [conform(column, field.type) for column, field in zip(batch.columns, self._whole, strict=True)]
        batch = pa.RecordBatch.from_arrays(columns, schema=self._whole)
        if self._writer is not None:
            self._put(self._writer, batch)
            return
        self._held.append(batch)
        self._held_rows += batch.num_rows
        if self._held_rows >= self._how.rows:
            self._begin()

    def _begin(self) -> DataFileWriter:
        first = pa.Table.from_batches(self._held, self._whole).slice(0, self._how.rows)
        columns = [
            pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
            for column in first.columns
        ]
        with self._malformed_refused():
            self._shapes = self._how.shapes(pa.RecordBatch.from_arrays(columns, schema=self._whole))
        fields = apart(self._fields, self._shapes)
        self._schema = arrow_schema(fields)
        self._writer = writer = self._open(fields)
        held, self._held = self._held, []
        for batch in held:
            self._put(writer, batch)
        return writer

    def _put(self, writer: DataFileWriter, batch: pa.RecordBatch) -> None:
        with self._malformed_refused():
            columns = taken_apart(batch, self._shapes)
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
            return sum(batch.nbytes for batch in self._held)
        return self._writer.bytes_written

    def close(self) -> int:
        return (self._writer or self._begin()).close()

    def abort(self) -> None:
        self._held = []
        if self._writer is not None:
            self._writer.abort()
