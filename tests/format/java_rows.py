"""Rows that Paimon's Java library (1.4.2) packed and hashed: recorded values, bytes, hashes and buckets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from paimon_sql.format.schema.types import (
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    SmallIntType,
    TimestampType,
    TinyIntType,
    VarBinaryType,
    VariantType,
    bytes_type,
    parse_atomic,
    string_type,
)

_DATA = Path(__file__).parent / "data"
_INT, _STRING = IntType(), string_type()
_ROW = RowType(
    True,
    tuple(
        DataField(i, f"f{i}", d)
        for i, d in enumerate((_INT, _STRING, DecimalType(True, 30, 3), TimestampType(True, 6)))
    ),
)
_NAN = float("nan")


@dataclass(frozen=True)
class JavaRow:
    """A row of one field; ``default`` and ``hive`` are its buckets of 1000003, ``mod`` that of 7."""

    data_type: DataType
    value: Any
    row: bytes
    hash: int
    default: int
    mod: int | None
    hive: int | None


def java_rows() -> Iterator[JavaRow]:
    """Rows of one atomic field, of every such type; times are counts in Arrow's units."""
    for record in json.loads((_DATA / "java_rows.json").read_text()):
        data_type = parse_atomic(record["type"])
        value = record["value"]
        if isinstance(data_type, DecimalType) and value is not None:
            value = Decimal(value)
        if isinstance(data_type, BinaryType | VarBinaryType):
            value = bytes.fromhex(value)
        if isinstance(data_type, FloatType | DoubleType):
            value = float(value)
        buckets = (record["default"], record["mod"], record["hive"])
        yield JavaRow(data_type, value, bytes.fromhex(record["row"]), record["hash"], *buckets)


def java_nested_rows() -> Iterator[tuple[str, list[DataType], tuple[Any, ...], bytes, int]]:
    """Name, types, values, bytes and hash of rows with nested, many or null fields."""
    for record in json.loads((_DATA / "java_nested_rows.json").read_text()):
        types, values = _NESTED[record["name"]]
        yield record["name"], types, values, bytes.fromhex(record["row"]), record["hash"]


def _array(element: DataType, values: list[Any]) -> tuple[list[DataType], tuple[Any, ...]]:
    return [ArrayType(True, element)], (values,)


_NESTED: dict[str, tuple[list[DataType], tuple[Any, ...]]] = {
    "array_int": _array(_INT, [1, None, -3]),
    "array_empty": _array(_INT, []),
    "array_null": ([ArrayType(True, _INT), _INT], (None, 5)),
    "array_tinyint": _array(TinyIntType(), [None if i % 3 == 0 else i for i in range(40)]),
    "array_boolean": _array(BooleanType(), [True, None, False, True]),
    "array_smallint": _array(SmallIntType(), [-1, None, 300]),
    "array_string": _array(_STRING, ["a", None, "longer than seven", "", "häß🙂x"]),
    "array_double": _array(DoubleType(), [1.5, None, _NAN, -0.0]),
    "array_float": _array(FloatType(), [1.5, None, _NAN]),
    "array_decimal_wide": _array(
        DecimalType(True, 38, 2), [Decimal("-1.25"), None, Decimal("123456789012345678901234567890.12")]
    ),
    "array_decimal": _array(DecimalType(True, 10, 2), [Decimal("-1.25"), None]),
    "array_timestamp": _array(TimestampType(True, 9), [-1, None, 1704067200000123456]),
    "array_timestamp_3": _array(TimestampType(True, 3), [-1000, None]),
    "array_date": _array(DateType(), [-719163, None, 19723]),
    "array_array": _array(ArrayType(True, _STRING), [["x", None], None, []]),
    "map": ([MapType(True, _STRING, _INT)], ({"k1": 1, "a longer key": None},)),
    "map_empty": ([MapType(True, _STRING, _INT)], ({},)),
    "multiset": ([MultisetType(True, _STRING)], ({"x": 3, "yyyyyyyyy": 1},)),
    "row": ([_ROW, _INT], ((7, "inside a row", Decimal("-1.5"), -1), 9)),
    "row_nulls": ([_ROW], ((None,) * 4,)),
    "row_null": ([_ROW], (None,)),
    "array_row": _array(_ROW, [(1, "abc", Decimal("2.125"), 0), None]),
    "map_row": ([MapType(True, BigIntType(), _ROW)], ({1: (1, None, None, 5001)},)),
    "variant": ([VariantType(), _INT], ((bytes([12, 1]), bytes([1, 0, 0])), 4)),
    "seventy": (
        [_INT if i % 2 == 0 else _STRING for i in range(70)],
        tuple(None if i % 5 == 0 else i if i % 2 == 0 else f"value number {i}" for i in range(70)),
    ),
    "all_null_wide": (
        [DecimalType(True, 38, 0), TimestampType(True, 6), _STRING, LocalZonedTimestampType(True, 9), bytes_type()],
        (None,) * 5,
    ),
}
