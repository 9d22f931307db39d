"""Rows of Python values as Paimon's BinaryRows, byte by byte as Java packs them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.rows.binary_row import RowCodec
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.system_fields import ROW_ID, SEQUENCE_NUMBER
from paimon_sql.format.statistics.column_statistics import EMPTY_ROW
from tests.format.golden_files import golden_files
from tests.format.java_rows import java_nested_rows, java_rows

_MICROS_9999 = 253_402_300_799_999_999


def test_atomic_values_are_packed_as_java_packs_them() -> None:
    for java in java_rows():
        codec = RowCodec([java.data_type])
        assert codec.encode([java.value]) == java.row, java
        assert codec.encode(codec.decode(java.row)) == java.row, java


def test_nested_and_many_values_are_packed_as_java_packs_them() -> None:
    for name, types, values, row, _ in java_nested_rows():
        codec = RowCodec(types)
        assert codec.encode(values) == row, name
        assert codec.encode(codec.decode(row)) == row, name


def test_every_row_of_the_golden_manifests_reads_and_packs_to_the_same_bytes(golden: Path) -> None:
    seen = 0
    for file in golden_files(golden):
        schema, meta = file.schema, file.meta
        columns = {f.name: f for f in (*schema.fields, ROW_ID, SEQUENCE_NUMBER)}
        stats_cols = meta.get("_VALUE_STATS_COLS")
        if stats_cols is None:
            stats_cols = meta.get("_WRITE_COLS")
        value_fields = schema.fields if stats_cols is None else [columns[name] for name in stats_cols]
        rows = [
            (schema.partition_fields, file.partition),
            (schema.key_fields, meta["_MIN_KEY"]),
            (schema.key_fields, meta["_MAX_KEY"]),
            (schema.key_fields, meta["_KEY_STATS"]["_MIN_VALUES"]),
            (value_fields, meta["_VALUE_STATS"]["_MIN_VALUES"]),
            (value_fields, meta["_VALUE_STATS"]["_MAX_VALUES"]),
        ]
        for fields, row in rows:
            if row != EMPTY_ROW:
                codec = RowCodec([f.type for f in fields])
                assert codec.encode(codec.decode(row)) == row, file
                seen += 1
    assert seen > 1000


def test_a_row_of_no_fields_is_the_empty_row() -> None:
    assert RowCodec([]).encode([]) == EMPTY_ROW
    assert RowCodec([]).decode(EMPTY_ROW) == ()


@pytest.mark.parametrize(
    ("data_type", "value"),
    [
        (t.DateType(), dt.date(1, 1, 1)),
        (t.DateType(), dt.date(9999, 12, 31)),
        (t.DateType(), -(2**31)),
        (t.DateType(), 2**31 - 1),
        (t.TimestampType(True, 6), dt.datetime(1582, 10, 4, 23, 59, 59, 999999)),
        (t.TimestampType(True, 3), dt.datetime(9999, 12, 31, 23, 59, 59, 999000)),
        (t.TimestampType(True, 6), _MICROS_9999 + 1),
        (t.TimestampType(True, 3), -(10**17)),
        (t.LocalZonedTimestampType(True, 6), dt.datetime(1969, 12, 31, 23, 59, 59, 999999)),
        (t.TimestampType(True, 9), -1),
        (t.TimestampType(True, 9), 10**22 + 7),
        (t.DecimalType(True, 38, 38), Decimal("-0." + "9" * 38)),
        (t.DecimalType(True, 38, 0), Decimal("-" + "9" * 38)),
        (t.VectorType(True, t.FloatType(), 3), [1.5, -2.0, 0.0]),
        (t.MapType(True, t.ArrayType(True, t.IntType()), t.IntType()), [([1, None], 2)]),
        (t.VariantType(), (b"", b"\x01")),
        (t.BlobType(), b"\x00" * 9),
        (t.RowType(True, ()), ()),
    ],
    ids=str,
)
def test_a_value_comes_back_as_it_was_given(data_type: t.DataType, value: Any) -> None:
    codec = RowCodec([t.IntType(), data_type])
    assert codec.decode(codec.encode([1, value])) == (1, value)


def test_a_timestamp_of_nine_digits_takes_a_datetime_and_gives_nanoseconds() -> None:
    codec = RowCodec([t.TimestampType(True, 9)])
    assert codec.decode(codec.encode([dt.datetime(1970, 1, 1, 0, 0, 1, 5)])) == (1_000_005_000,)


@pytest.mark.parametrize(
    ("data_type", "value"),
    [
        (t.IntType(), 2**31),
        (t.IntType(), "1"),
        (t.TinyIntType(), 128),
        (t.FloatType(), 1e300),
        (t.DecimalType(True, 3, 1), Decimal("1.25")),
        (t.DecimalType(True, 3, 1), Decimal("100")),
        (t.DecimalType(True, 3, 1), Decimal("NaN")),
        (t.DecimalType(True, 38, 0), Decimal("1e40")),
        (t.string_type(), b"bytes"),
        (t.bytes_type(), 7),
        (t.bytes_type(), "text"),
        (t.DateType(), "2024-01-01"),
        (t.TimestampType(), dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)),
        (t.ArrayType(True, t.IntType()), [1, "x"]),
        (t.VectorType(True, t.FloatType(), 2), [1.0, None]),
        (t.VariantType(), b"x"),
    ],
    ids=str,
)
def test_a_value_of_another_type_is_refused_by_name(data_type: t.DataType, value: Any) -> None:
    with pytest.raises(InvalidInputError):
        RowCodec([data_type]).encode([value])


def test_a_row_of_another_number_of_fields_is_refused() -> None:
    row = RowCodec([t.IntType()]).encode([1])
    with pytest.raises(InvalidInputError, match="1 fields was read as one of 2"):
        RowCodec([t.IntType(), t.IntType()]).decode(row)
    with pytest.raises(InvalidInputError, match="given 2 values"):
        RowCodec([t.IntType()]).encode([1, 2])


@pytest.mark.parametrize(
    "data_type",
    [
        t.string_type(),
        t.DecimalType(True, 38, 0),
        t.TimestampType(),
        t.ArrayType(),
        t.MapType(),
        t.VariantType(),
        t.VectorType(),
        t.RowType(True, (t.DataField(0, "a", t.IntType()),)),
    ],
    ids=str,
)
def test_a_row_that_is_cut_short_or_points_outside_itself_is_refused(data_type: t.DataType) -> None:
    codec = RowCodec([data_type])
    outside = EMPTY_ROW[:3] + b"\x01" + bytes(8) + (64).to_bytes(4, "little") + (1000).to_bytes(4, "little")
    for broken in (b"", b"\x00\x00", outside[:12], outside):
        with pytest.raises(InvalidInputError):
            codec.decode(broken)
