"""Arrow types that Spark accepts: timestamps in microseconds, variable-size lists, integers for times of day."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc


@lru_cache(maxsize=256)
def spark_arrow_type(kind: pa.DataType) -> pa.DataType:
    """The type that Spark accepts for values of an Arrow type; the same object if Spark accepts it unchanged."""
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
    """The batch in types that Spark accepts; timestamps are floored to microseconds."""
    targets = [spark_arrow_type(f.type) for f in batch.schema]
    if all(f.type.equals(w) for f, w in zip(batch.schema, targets, strict=True)):
        return batch
    columns = [c if c.type.equals(w) else _cast(c, w) for c, w in zip(batch.columns, targets, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def cast_back(batch: pa.RecordBatch, given: Mapping[str, pa.DataType]) -> pa.RecordBatch:
    """The batch in the types in which Spark passed its columns; other columns are unchanged.

    Spark recognizes a VARIANT by the metadata of its type, so the types are replaced even where no cast is needed.
    """
    kinds = [given.get(f.name, f.type) for f in batch.schema]
    columns = [c if c.type.equals(kind) else c.cast(kind) for c, kind in zip(batch.columns, kinds, strict=True)]
    schema = pa.schema([pa.field(name, kind) for name, kind in zip(batch.schema.names, kinds, strict=True)])
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast(column: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(column.type):
        column = pc.floor_temporal(column, unit="microsecond")
    return column.cast(target, safe=False)


def _field(field: pa.Field) -> pa.Field:
    return field.with_type(spark_arrow_type(field.type))
