"""Columns of many rows, packed and unpacked at once, against the codec that does it row by row."""

from __future__ import annotations

import datetime as dt
import math
import struct
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.rows.binary_row import RowCodec
from paimon_sql.format.rows.decode import decode_columns
from paimon_sql.format.rows.encode import encode_rows
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.statistics.column_statistics import EMPTY_ROW
from tests.format.java_rows import java_nested_rows, java_rows

_WIDE = Context(prec=40)


def _integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    limit = 10**precision - 1
    return st.integers(-limit, limit).map(lambda n: Decimal(n).scaleb(-scale, _WIDE))


_TEXT = st.text(max_size=20)
_NARROW = st.integers(-(2**62), 2**62)
_ATOMIC: list[tuple[t.DataType, st.SearchStrategy[Any]]] = [
    (t.BooleanType(), st.booleans()),
    (t.TinyIntType(), _integers(8)),
    (t.SmallIntType(), _integers(16)),
    (t.IntType(), _integers(32)),
    (t.BigIntType(), _integers(64)),
    (t.FloatType(), st.floats(width=32)),
    (t.DoubleType(), st.floats()),
    (t.DateType(), _integers(32)),
    (t.TimeType(True, 3), st.integers(0, 86_399_999)),
    (t.TimestampType(True, 3), _NARROW.map(lambda n: n // 1000 * 1000)),
    (t.TimestampType(True, 6), _NARROW),
    (t.LocalZonedTimestampType(True, 9), _NARROW),
    (t.DecimalType(True, 9, 2), _decimals(9, 2)),
    (t.DecimalType(True, 18, 0), _decimals(18, 0)),
    (t.DecimalType(True, 19, 5), _decimals(19, 5)),
    (t.DecimalType(True, 38, 10), _decimals(38, 10)),
    (t.CharType(True, 20), _TEXT),
    (t.string_type(), _TEXT),
    (t.BinaryType(True, 20), st.binary(max_size=20)),
    (t.bytes_type(), st.binary(max_size=40)),
]
_ROW = t.RowType(True, (t.DataField(0, "a", t.IntType()), t.DataField(1, "b", t.string_type())))
_NESTED: list[tuple[t.DataType, st.SearchStrategy[Any]]] = [
    (_ROW, st.tuples(st.none() | _integers(32), st.none() | _TEXT)),
    (t.ArrayType(True, t.TimestampType()), st.lists(st.none() | _NARROW, max_size=3)),
    (
        t.MapType(True, t.string_type(), _ROW),
        st.dictionaries(_TEXT, st.none() | st.tuples(_integers(32), _TEXT), max_size=3),
    ),
    (t.MultisetType(True, t.IntType()), st.dictionaries(_integers(32), st.integers(1, 9), max_size=3)),
    (t.VectorType(True, t.FloatType(), 2), st.lists(st.floats(width=32, allow_nan=False), min_size=2, max_size=2)),
    (t.VariantType(), st.tuples(st.binary(max_size=9), st.binary(max_size=9))),
]


@st.composite
def _rows(draw: st.DrawFn) -> tuple[list[t.DataType], list[tuple[Any, ...]]]:
    columns = draw(st.lists(st.sampled_from(_ATOMIC + _NESTED), min_size=1, max_size=5))
    count = draw(st.integers(0, 6))
    return [d for d, _ in columns], [tuple(draw(st.none() | s) for _, s in columns) for _ in range(count)]


@settings(max_examples=250)
@given(_rows())
def test_columns_pack_and_unpack_like_the_rows_one_by_one(
    table: tuple[list[t.DataType], list[tuple[Any, ...]]],
) -> None:
    types, values = table
    serialized = [RowCodec(types).encode(row) for row in values]
    columns = decode_columns(types, serialized)
    assert [c.type for c in columns] == [arrow_type(d) for d in types]
    for column in columns:
        column.validate(full=True)
    assert encode_rows(columns, types, prefix=True).to_pylist() == serialized
    assert encode_rows(columns, types).to_pylist() == [row[4:] for row in serialized]


@settings(max_examples=100)
@given(st.data())
def test_atomic_columns_unpack_to_the_values_that_arrow_itself_makes_of_them(data: st.DataObject) -> None:
    data_type, strategy = data.draw(st.sampled_from(_ATOMIC))
    values = data.draw(st.lists(st.none() | strategy, max_size=20))
    codec = RowCodec([data_type])
    column = decode_columns([data_type], [codec.encode([v]) for v in values])[0]
    wanted = pa.array(values, arrow_type(data_type))
    if pa.types.is_floating(wanted.type):
        assert [v is not None and math.isnan(v) for v in column.to_pylist()] == [
            v is not None and math.isnan(v) for v in wanted.to_pylist()
        ]
        column, wanted = (pa.array([v if v == v else 0.0 for v in a.to_pylist()]) for a in (column, wanted))
    assert column.equals(wanted)


def test_columns_pack_as_java_packs_them_also_out_of_the_middle_of_an_array() -> None:
    for java in java_rows():
        column = pa.array([None, java.value, java.value], arrow_type(java.data_type))[1:2]
        assert encode_rows([column], [java.data_type], prefix=True).to_pylist() == [java.row], java
    for name, types, _, row, _ in java_nested_rows():
        columns = [pa.concat_arrays([c, c])[1:] for c in decode_columns(types, [row])]
        assert encode_rows(columns, types, prefix=True).to_pylist() == [row], name


def test_an_absent_row_is_null_in_every_column() -> None:
    types = [
        t.IntType(),
        t.string_type(),
        t.DecimalType(True, 38, 0),
        t.TimestampType(),
        t.BooleanType(),
        t.ArrayType(),
    ]
    there = RowCodec(types).encode([1, "a text of some length", Decimal(5), dt.datetime(2024, 1, 1), True, [1]])
    columns = decode_columns(types, [None, there, EMPTY_ROW, b""])
    assert [c.is_null().to_pylist() for c in columns] == [[True, False, True, True]] * len(types)


def test_rows_come_as_a_list_a_slice_or_chunks() -> None:
    codec = RowCodec([t.BigIntType(), t.string_type()])
    rows = [codec.encode([i, "x" * i]) for i in range(20)]
    for shape in (
        rows[3:],
        pa.array(rows)[3:],
        pa.chunked_array([rows[3:7], rows[7:]]),
        pa.array(rows, pa.large_binary())[3:],
    ):
        numbers, texts = decode_columns(codec.types, shape)
        assert numbers.to_pylist() == list(range(3, 20))
        assert texts.to_pylist() == ["x" * i for i in range(3, 20)]


def test_columns_of_like_types_are_cast() -> None:
    texts = pa.array(["a", "longer than seven"])
    for like in (texts.cast(pa.large_string()), texts.dictionary_encode(), pa.chunked_array([texts[:1], texts[1:]])):
        assert encode_rows([like], [t.string_type()]).equals(encode_rows([texts], [t.string_type()]))
    with pytest.raises(InvalidInputError, match="cannot be encoded as INT"):
        encode_rows([texts], [t.IntType()])


def test_no_rows_give_empty_columns() -> None:
    types = [d for d, _ in _ATOMIC + _NESTED]
    columns = decode_columns(types, [])
    assert [len(c) for c in columns] == [0] * len(types)
    assert len(encode_rows(columns, types)) == 0
    without_memory = [pa.Array.from_buffers(pa.decimal128(d, 0), 0, [None, None]) for d in (9, 38)]
    assert len(encode_rows(without_memory, [t.DecimalType(True, d) for d in (9, 38)])) == 0


def test_a_wrong_number_of_columns_is_refused() -> None:
    with pytest.raises(InvalidInputError):
        encode_rows([pa.array([1])], [t.IntType(), t.IntType()])
    with pytest.raises(InvalidInputError):
        encode_rows([], [])


def test_rows_of_another_number_of_fields_are_refused() -> None:
    row = RowCodec([t.IntType()]).encode([1])
    with pytest.raises(InvalidInputError, match="1 fields was read as one of 2"):
        decode_columns([t.IntType(), t.IntType()], [row])


@pytest.mark.parametrize(
    "data_type", [t.string_type(), t.DecimalType(True, 38, 0), t.TimestampType(), t.ArrayType()], ids=str
)
def test_a_row_that_is_cut_short_or_points_outside_itself_is_refused(data_type: t.DataType) -> None:
    outside = b"\x00\x00\x00\x01" + bytes(8) + struct.pack("<II", 16, 1000)
    for broken in (outside[:12], outside):
        with pytest.raises(InvalidInputError):
            decode_columns([data_type], [broken])


def test_text_that_is_no_utf_8_is_refused() -> None:
    row = RowCodec([t.bytes_type()]).encode([b"\xff\xfe"])
    with pytest.raises(InvalidInputError, match="UTF-8"):
        decode_columns([t.string_type()], [row])


def test_nanoseconds_beyond_arrow_are_an_error_or_null_as_asked() -> None:
    types = [t.TimestampType(True, 9)]
    rows = [RowCodec(types).encode([n]) for n in (5, 10**20)]
    with pytest.raises(InvalidInputError, match="does not fit"):
        decode_columns(types, rows)
    column = decode_columns(types, rows, overflow_to_null=True)[0]
    assert column.view(pa.int64()).to_pylist() == [5, None]
