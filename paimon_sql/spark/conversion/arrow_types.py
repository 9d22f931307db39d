"""The Arrow types that Spark takes: microseconds for all times, plain lists, whole numbers for times of day."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc


@lru_cache(maxsize=256)
def spark_arrow_type(kind: pa.DataType) -> pa.DataType:
    """The type in which Spark takes values of an Arrow type; the type itself if Spark takes it as it is."""
    if pa.types.is_timestamp(kind) and kind.unit != "us":
        return pa.timestamp("us", kind.tz)
    if pa.types.is_time32(kind):
        return pa.int32()
    if pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind):
        return pa.list_(_field(kind.value_field))
    if pa.types.is_map(kind):
        return pa.map_(_field(kind.key_field), _field(kind.item_field))
    if pa.types.is_struct(kind):
        return pa.struct([_field(f) for f in kind])
    return kind


def for_spark(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch in types that Spark takes; finer times are cut to microseconds, towards the past."""
    wanted = [spark_arrow_type(f.type) for f in batch.schema]
    if all(f.type.equals(w) for f, w in zip(batch.schema, wanted, strict=True)):
        return batch
    columns = [c if c.type.equals(w) else _cut(c, w) for c, w in zip(batch.columns, wanted, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def returned(batch: pa.RecordBatch, given: Mapping[str, pa.DataType]) -> pa.RecordBatch:
    """The batch in the types in which Spark gave its columns, which it takes back; columns of other names as they are.

    Spark knows a VARIANT by what its type says beside names and types, so that the types are Spark's even where the
    columns need no cast.
    """
    kinds = [given.get(f.name, f.type) for f in batch.schema]
    columns = [c if c.type.equals(kind) else c.cast(kind) for c, kind in zip(batch.columns, kinds, strict=True)]
    schema = pa.schema([pa.field(name, kind) for name, kind in zip(batch.schema.names, kinds, strict=True)])
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cut(column: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(column.type):
        column = pc.floor_temporal(column, unit="microsecond")
    return column.cast(target, safe=False)


def _field(field: pa.Field) -> pa.Field:
    return field.with_type(spark_arrow_type(field.type))
