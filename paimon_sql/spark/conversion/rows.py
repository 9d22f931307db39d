"""Conversion of rows: Spark's internal rows to Python values, and Arrow columns to Spark's ``InternalRow[]``."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.types import row_struct
from paimon_sql.spark.java.catalyst import InternalRow, StructType
from paimon_sql.spark.java.objects import JavaMethod, JavaObject
from paimon_sql.spark.jvm.gateway import CATALYST, EXECUTION, EXPRESSIONS, SETTINGS, Jvm
from paimon_sql.storage.execution.threads import map_in_threads

_EPOCH = datetime(1970, 1, 1)

_READERS: dict[type[t.DataType], Callable[[InternalRow, int], object]] = {
    t.BooleanType: lambda row, i: row.getBoolean(i),
    t.TinyIntType: lambda row, i: row.getByte(i),
    t.SmallIntType: lambda row, i: row.getShort(i),
    t.IntType: lambda row, i: row.getInt(i),
    t.BigIntType: lambda row, i: row.getLong(i),
    t.FloatType: lambda row, i: row.getFloat(i),
    t.DoubleType: lambda row, i: row.getDouble(i),
    t.CharType: lambda row, i: row.getUTF8String(i).toString(),
    t.VarCharType: lambda row, i: row.getUTF8String(i).toString(),
    t.BinaryType: lambda row, i: bytes(row.getBinary(i)),
    t.VarBinaryType: lambda row, i: bytes(row.getBinary(i)),
    t.DateType: lambda row, i: date(1970, 1, 1) + timedelta(days=row.getInt(i)),
    t.TimestampType: lambda row, i: _EPOCH + timedelta(microseconds=row.getLong(i)),
    t.LocalZonedTimestampType: lambda row, i: _EPOCH + timedelta(microseconds=row.getLong(i)),
}


def row_values(row: InternalRow, types: Sequence[t.DataType]) -> list[object]:
    """The values of an ``InternalRow``; timestamps with local time zone are naive UTC.

    Raises:
        UnsupportedError: a nested type other than a map of strings.
    """
    return [_value(row, i, data_type) for i, data_type in enumerate(types)]


def _value(row: InternalRow, index: int, data_type: t.DataType) -> object:
    if row.isNullAt(index):
        return None
    if isinstance(data_type, t.DecimalType):
        return Decimal(row.getDecimal(index, data_type.precision, data_type.scale).toString())
    if isinstance(data_type, t.MapType):
        entries = row.getMap(index)
        keys, values = entries.keyArray(), entries.valueArray()
        count = entries.numElements()
        return {keys.getUTF8String(i).toString(): values.getUTF8String(i).toString() for i in range(count)}
    reader = _READERS.get(type(data_type))
    if reader is None:
        raise UnsupportedError(f"Values of type {data_type} cannot be read from Spark rows.")
    return reader(row, index)


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


_ROW = f"{CATALYST}.InternalRow"
_CONVERTERS = f"{EXECUTION}.arrow.ArrowConverters"
_STRUCT = "org.apache.spark.sql.types.StructType"
_PIECE_BYTES = 8 << 20
"""Bytes that one thread converts at once."""
_THREADS = 4
_ARROW_ROWS = "paimon.ArrowRows"
_FEW_ROWS = 1000
"""The most rows that are copied without generated code: to generate it takes longer than to copy them."""
_INTERPRETED = f"""
    private static {EXPRESSIONS}.UnsafeProjection interpreted({_STRUCT} schema) {{
        java.util.ArrayList columns = new java.util.ArrayList();
        for (int i = 0; i < schema.length(); i++)
            columns.add(new {EXPRESSIONS}.BoundReference(i, schema.apply(i).dataType(), true));
        return {EXPRESSIONS}.InterpretedUnsafeProjection$.MODULE$.createProjection(
            scala.jdk.javaapi.CollectionConverters.asScala(columns).toSeq());
    }}"""
_ROWS = f"""
    public static {_ROW}[] rows(scala.collection.Iterator batches, {_STRUCT} schema, boolean few) {{
        String zone = {SETTINGS}.get().sessionLocalTimeZone();
        scala.collection.Iterator rows =
            {_CONVERTERS}$.MODULE$.fromBatchIterator(batches, schema, zone, false, false, null);
        {EXPRESSIONS}.UnsafeProjection copier =
            few ? interpreted(schema) : {EXPRESSIONS}.UnsafeProjection$.MODULE$.create(schema);
        java.util.ArrayList made = new java.util.ArrayList();
        while (rows.hasNext()) made.add(copier.apply(({_ROW}) rows.next()).copy());
        return ({_ROW}[]) made.toArray(new {_ROW}[0]);
    }}"""
"""Converts Arrow batches to rows; ``ArrowConverters.toDataFrame`` plans a query for that."""
_ROWS_OF_MESSAGE = f"""
    public static {_ROW}[] ofMessage(byte[] message, {_STRUCT} schema, boolean few) {{
        scala.collection.Iterator one = scala.collection.Iterator$.MODULE$.single(message);
        return rows(one, schema, few);
    }}"""
_CALL_BYTES = 64 << 10
"""Maximum bytes that pass through a call of Py4J, which encodes them as text; more cross faster by a file."""


def internal_rows(jvm: Jvm, table: pa.Table, fields: Sequence[DataField]) -> Sequence[InternalRow]:
    """The rows of a table as ``InternalRow[]``, converted inside the JVM.

    Args:
        jvm: the JVM.
        table: the rows, in the Arrow types of the fields.
        fields: the columns.
    """
    if not len(table):
        return jvm.array(_ROW)
    if table.num_rows == 1 and all(pa.types.is_int64(kind) for kind in table.schema.types):
        return jvm.array(_ROW, [_row_of_longs(jvm, [column[0].as_py() for column in table.columns])])
    struct = jvm.struct(row_struct(fields))
    batches = table.combine_chunks().to_batches(max_chunksize=_rows_per_piece(table))
    pieces = map_in_threads(lambda batch: _converted(jvm, for_spark(batch), struct), batches, _THREADS)
    if len(pieces) == 1:
        return pieces[0]
    rows = jvm.singleton("scala.Array").concat(jvm.seq(pieces), _class_tag(jvm, _ROW))
    return cast("Sequence[InternalRow]", rows)


def _rows_per_piece(table: pa.Table) -> int:
    pieces = max(1, -(-table.nbytes // _PIECE_BYTES))
    return int(-(-table.num_rows // pieces))


def _converted(jvm: Jvm, batch: pa.RecordBatch, struct: StructType) -> Sequence[InternalRow]:
    """The rows of one batch."""
    few = batch.num_rows <= _FEW_ROWS
    if batch.nbytes <= _CALL_BYTES:
        return cast("Sequence[InternalRow]", _converter(jvm, "ofMessage")(bytearray(batch.serialize()), struct, few))
    with tempfile.NamedTemporaryFile(prefix="paimon-sql-rows-", suffix=".arrow") as file:
        with pa.ipc.new_stream(file, batch.schema) as stream:
            stream.write_batch(batch)
        file.flush()
        # PySpark passes local data in the same way.
        messages = jvm.static("org.apache.spark.sql.api.python.PythonSQLUtils", "readArrowStreamFromFile")(file.name)
        return cast("Sequence[InternalRow]", _converter(jvm, "rows")(messages, struct, few))


def _converter(jvm: Jvm, method: str) -> JavaMethod:
    jvm.compiled_class(_ARROW_ROWS, (_INTERPRETED, _ROWS, _ROWS_OF_MESSAGE), beside=_ROW)
    return jvm.static(_ARROW_ROWS, method)


def _class_tag(jvm: Jvm, name: str) -> JavaObject:
    def make() -> JavaObject:
        return jvm.singleton("scala.reflect.ClassTag").apply(jvm.java_class(name))

    return jvm.constant(f"tag of {name}", make)


def _row_of_longs(jvm: Jvm, values: Sequence[int | None]) -> InternalRow:
    """A row of BIGINTs, such as a count: for one row the conversion of Arrow is much slower."""
    row = jvm.new(f"{EXPRESSIONS}.GenericInternalRow", len(values))
    for i, value in enumerate(values):
        if value is None:
            row.setNullAt(i)
        else:
            row.setLong(i, value)
    return row
