"""Routing: the partition and bucket of each row of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.rows.binary_row import RowCodec
from paimon_sql.format.rows.bucket_functions import BucketFunction, bucket_function
from paimon_sql.format.rows.encode import encode_rows
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.expressions.kernels.conform import as_fixed_lists
from paimon_sql.storage.table.partitioning.times import StrictPartitions

UNAWARE = -1
"""Number of buckets of a table in bucket-unaware mode; its files are in bucket 0."""


class Router:
    """Splits batches by partition and bucket.

    Args:
        schema: the table's schema.
        buckets: number of buckets per partition; below 2 all rows go to bucket 0.
    """

    extra: Sequence[str] = ()
    """Additional columns of the rows that `split` removes."""

    def __init__(self, schema: TableSchema, buckets: int) -> None:
        self.schema = schema
        self.buckets = buckets
        self._partition_types = [f.type for f in schema.partition_fields]
        self._bucket_types = [schema.field(k).type for k in schema.bucket_keys]

    @cached_property
    def _function(self) -> BucketFunction:
        return bucket_function(self.schema.options.get("bucket-function.type", "default"))

    @cached_property
    def _strict(self) -> StrictPartitions | None:
        return StrictPartitions.of(self.schema)

    @cached_property
    def _no_partition(self) -> bytes:
        return RowCodec([]).encode([])

    def conform(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Cast columns of the table, matched by name, to the table's types."""
        types = {f.name: f.type for f in self.schema.fields}
        schema = pa.schema([pa.field(name, arrow_type(types[name])) for name in batch.schema.names])
        return conform_batch(batch, schema)

    def buckets_of(self, batch: pa.RecordBatch) -> npt.NDArray[np.int32]:
        """Return the bucket of each row."""
        if self.buckets <= 1:
            return np.zeros(batch.num_rows, dtype=np.int32)
        columns = [batch.column(k) for k in self.schema.bucket_keys]
        return self._function.assign(columns, self._bucket_types, self.buckets)

    def total_buckets(self, partition: bytes) -> int:
        """Return the number of buckets of a partition as recorded by commits."""
        return self.buckets

    def partitions_of(self, batch: pa.RecordBatch) -> tuple[list[bytes], npt.NDArray[np.int64]]:
        """Return the distinct serialized partitions of the rows, and the index of each row's partition."""
        if not self._partition_types:
            return [self._no_partition], np.zeros(batch.num_rows, dtype=np.int64)
        columns = [batch.column(k) for k in self.schema.partition_keys]
        codes, picked = _distinct(columns)
        rows = encode_rows([c.take(pa.array(picked)) for c in columns], self._partition_types, prefix=True)
        return rows.to_pylist(), codes

    def split(self, batch: pa.RecordBatch) -> Iterator[tuple[bytes, int, pa.RecordBatch]]:
        """Yield the rows per partition and bucket, in input order.

        Raises:
            InvalidInputError: a partition has no valid time, and the table requires one.
        """
        if not batch.num_rows:
            return
        partitions, codes = self.partitions_of(batch)
        if self._strict is not None:
            self._strict.check(partitions)
        buckets = self._place(batch, partitions, codes)
        width = int(buckets.max()) + 1
        groups = codes * width + buckets
        if self.extra:
            batch = batch.drop_columns(list(self.extra))
        first = groups[0]
        if (groups == first).all():
            yield partitions[first // width], int(first % width), batch
            return
        order = np.argsort(groups, kind="stable")
        ordered = groups[order]
        starts = np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1])
        gathered = batch.take(pa.array(order))
        for start, end in zip(starts, np.append(starts[1:], len(order)), strict=True):
            group = ordered[start]
            yield partitions[group // width], int(group % width), gathered.slice(start, end - start)

    def _place(
        self, batch: pa.RecordBatch, partitions: Sequence[bytes], codes: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int32]:
        """Return the bucket of each row, given the distinct partitions and the index of each row's."""
        return self.buckets_of(batch)


def conform_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Cast the batch's columns, matched by position, to the names and types of a schema.

    Raises:
        InvalidInputError: the number of columns differs, or a value does not fit its column's type.
    """
    if batch.num_columns != len(schema):
        raise InvalidInputError(
            f"Rows of {batch.num_columns} columns were given for the {len(schema)} columns of a table."
        )
    arrays = [_conform(column, target) for column, target in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=schema.names)


def _conform(column: pa.Array, target: pa.Field) -> pa.Array:
    if column.type == target.type:
        return column
    try:
        if pa.types.is_fixed_size_list(target.type) and pa.types.is_list(column.type):
            return as_fixed_lists(column, target.type)
        return column.cast(target.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidInputError(f"Column '{target.name}' cannot take a value of type {column.type}: {error}") from error


def _distinct(columns: Sequence[pa.Array]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return for each row the index of its combination of values, and a row of each combination."""
    codes = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        encoded = pc.dictionary_encode(column, null_encoding="encode")
        values = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        _, codes = np.unique(codes * (len(encoded.dictionary) + 1) + values, return_inverse=True)
    _, picked, codes = np.unique(codes, return_index=True, return_inverse=True)
    return codes.astype(np.int64), picked
