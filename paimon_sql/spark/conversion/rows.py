"""Spark's internal rows as Python values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.schema import types as t

_EPOCH = datetime(1970, 1, 1)

_READERS: dict[type[t.DataType], Callable[[Any, int], Any]] = {
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


def row_values(row: Any, types: Sequence[t.DataType]) -> list[Any]:
    """The values of an ``InternalRow``; timestamps with local time zone are naive UTC.

    Raises:
        UnsupportedError: a nested type other than a map of strings.
    """
    return [_value(row, i, data_type) for i, data_type in enumerate(types)]


def _value(row: Any, index: int, data_type: t.DataType) -> Any:
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
        raise UnsupportedError(f"A value of type {data_type} cannot be taken from a row of Spark.")
    return reader(row, index)
