"""Partitions of a table: the partition and bucket of each row, and the time of a partition by its values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError, InvalidOptionError
from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.partition import (
    PARTITION_TIMESTAMP_FORMAT_STRICT,
    PARTITION_TIMESTAMP_FORMATTER,
    PARTITION_TIMESTAMP_PATTERN,
)
from paimon_sql.format.rows.binary_field import epoch_days, epoch_nanos
from paimon_sql.format.rows.binary_row import RowCodec
from paimon_sql.format.rows.bucket_functions import BucketFunction, bucket_function
from paimon_sql.format.rows.encode import encode_rows
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.text.instants import wall_clock_millis
from paimon_sql.format.text.time_fields import NANOS_A_DAY
from paimon_sql.format.text.time_patterns import TimePattern, parse_plain_time
from paimon_sql.format.text.values import cast_text, java_text
from paimon_sql.storage.expressions.kernels.conform import as_fixed_lists
from paimon_sql.storage.expressions.kernels.sorting import run_starts

_NANOS_A_MILLI = 1_000_000
_SHOWN_AS_CAST = t.DateType | t.TimeType | t.TimestampType | t.LocalZonedTimestampType


class PartitionTimes:
    """Extracts the time of partitions (Paimon: `PartitionTimeExtractor`).

    A single date or timestamp is the time itself, a TIMESTAMP_LTZ in the zone of this machine. Strings and numbers are
    combined by the pattern and parsed by the formatter, or as ``2024-01-31`` or ``2024-01-31 08:00:00`` without one.

    Args:
        fields: the partition columns.
        options: the table's options.

    Raises:
        InvalidOptionError: the formatter is invalid.
    """

    def __init__(self, fields: Sequence[t.DataField], options: TableOptions) -> None:
        self._types = {f.name: f.type for f in fields}
        given: str | None = options.get(PARTITION_TIMESTAMP_PATTERN)
        names = sorted(map(re.escape, self._types), key=len, reverse=True)
        pieces = re.split(rf"\$({'|'.join(names)})", given) if given is not None else ["", fields[0].name, ""]
        self._literals, self._names = pieces[::2], pieces[1::2]
        formatter: str | None = options.get(PARTITION_TIMESTAMP_FORMATTER)
        try:
            self._parse = parse_plain_time if formatter is None else TimePattern(formatter).parse
        except InvalidInputError as error:
            key = PARTITION_TIMESTAMP_FORMATTER.key
            raise InvalidOptionError(f"The option '{key}': {error.message}", key=key, remedy=error.remedy) from error

    def of(self, values: Mapping[str, object]) -> int | None:
        """Return the time of a partition.

        Args:
            values: the values by column.

        Returns:
            Nanoseconds since 1970-01-01 00:00 of the local time; None if the values have no valid time, such as null.
        """
        chosen = [values[name] for name in self._names]
        if any(value is None for value in chosen):
            return None
        if len(chosen) == 1 and not any(self._literals):
            time = self._own_time(chosen[0], self._types[self._names[0]])
            if time is not None:
                return time
        typed = [(value, self._types[name]) for value, name in zip(chosen, self._names, strict=True)]
        shown = [cast_text(*pair) if isinstance(pair[1], _SHOWN_AS_CAST) else java_text(*pair) for pair in typed]
        return self._parse("".join(prefix + value for prefix, value in zip(self._literals, [*shown, ""], strict=True)))

    def _own_time(self, value: Any, data_type: t.DataType) -> int | None:
        if isinstance(data_type, t.DateType):
            return epoch_days(value) * NANOS_A_DAY
        if isinstance(data_type, t.TimestampType):
            return epoch_nanos(value, data_type.precision)
        if isinstance(data_type, t.LocalZonedTimestampType):
            nanos = epoch_nanos(value, data_type.precision)
            try:
                wall = wall_clock_millis(None, lambda: nanos // 1_000_000_000)
            except (ValueError, OverflowError, OSError):
                return nanos
            return wall * _NANOS_A_MILLI + nanos % 1_000_000_000
        return None


class StrictPartitions:
    """Validates that partitions have a time, for tables with ``partition.timestamp-format.strict``.

    Args:
        schema: the table's schema.
    """

    def __init__(self, schema: TableSchema) -> None:
        self._schema = schema
        self._fields = schema.partition_fields
        self._times = PartitionTimes(self._fields, TableOptions(schema.options))
        self._codec = RowCodec([f.type for f in self._fields])
        self._valid: set[bytes] = set()

    @classmethod
    def of(cls, schema: TableSchema) -> StrictPartitions | None:
        """Create the validation of a table; None if it accepts all partitions."""
        options = TableOptions(schema.options)
        declared = options.has(PARTITION_TIMESTAMP_FORMATTER) or options.has(PARTITION_TIMESTAMP_PATTERN)
        strict = schema.partition_keys and declared and options.get(PARTITION_TIMESTAMP_FORMAT_STRICT)
        return cls(schema) if strict else None

    def check(self, partitions: Iterable[bytes]) -> None:
        """Raise `InvalidInputError` if a serialized partition has no valid time."""
        for partition in set(partitions) - self._valid:
            values = dict(zip((f.name for f in self._fields), self._codec.decode(partition), strict=True))
            if self._times.of(values) is None:
                raise InvalidInputError(
                    f"The partition {PartitionPaths.of(self._schema).name(partition)} has no time as defined by"
                    f" '{PARTITION_TIMESTAMP_FORMATTER.key}' and '{PARTITION_TIMESTAMP_PATTERN.key}'.",
                    remedy=f"Correct the values, or set '{PARTITION_TIMESTAMP_FORMAT_STRICT.key}' to 'false'.",
                )
            self._valid.add(partition)


_NO_PARTITION = RowCodec([]).encode([])
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

    def conform(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Cast columns of the table, matched by name, to the table's types."""
        fields = {f.name: f for f in self.schema.fields}
        return conform_batch(batch, arrow_schema(fields[name] for name in batch.schema.names))

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
            return [_NO_PARTITION], np.zeros(batch.num_rows, dtype=np.int64)
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
        starts = run_starts(ordered)
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
