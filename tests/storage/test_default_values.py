"""Default values: texts of schema files and expressions of SQL, read as values of their columns."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.storage.columns.defaults import default_scalar, default_scalars, fill_defaults, stored_default
from paimon_sql.storage.columns.literals import parse_constant, quoted

STRING, INT = t.string_type(), t.IntType()
PAIR = t.RowType(True, (t.DataField(0, "n", INT), t.DataField(1, "s", STRING)))


def column(data_type: t.DataType, default: str | None = None) -> t.DataField:
    return t.DataField(0, "c", data_type, default=default)


def value(data_type: t.DataType, text: str) -> Any:
    scalar = default_scalar(column(data_type, text))
    assert scalar is not None
    assert scalar.type.equals(arrow_type(data_type))
    return scalar.as_py()


@pytest.mark.parametrize(
    ("data_type", "text", "wanted"),
    [
        (STRING, "nobody", "nobody"),
        (STRING, "'nobody'", "nobody"),
        (STRING, "it's", "it's"),
        (STRING, "'", "'"),
        (STRING, "''", ""),
        (STRING, " padded ", " padded "),
        (t.VarCharType(True, 3), "'abc'", "abc"),
        (INT, "7", 7),
        (INT, "'-7'", -7),
        (t.DecimalType(True, 6, 2), "9.99", Decimal("9.99")),
        (t.DoubleType(), "2.5D", 2.5),
        (t.BooleanType(), "true", True),
        (t.DateType(), "'2024-01-01'", dt.date(2024, 1, 1)),
        (t.TimestampType(True, 3), "2024-01-01 10:00:00.5", dt.datetime(2024, 1, 1, 10, 0, 0, 500000)),
        (t.bytes_type(), "'ab'", b"ab"),
        (t.ArrayType(True, INT), "array(1, null, 3)", [1, None, 3]),
        (t.ArrayType(True, INT), "[1, 2]", [1, 2]),
        (t.ArrayType(True, STRING), "ARRAY('a', b c)", ["a", "b c"]),
        (t.ArrayType(True, INT), "[]", []),
        (t.MapType(True, STRING, INT), "map(k, 1)", [("k", 1)]),
        (t.MapType(True, STRING, INT), "{k -> 1, 'l' -> 2}", [("k", 1), ("l", 2)]),
        (PAIR, "struct(1, 'a')", {"n": 1, "s": "a"}),
        (PAIR, "{1, a}", {"n": 1, "s": "a"}),
        (PAIR, "named_struct('n', 1, 's', null)", {"n": 1, "s": None}),
        (
            t.ArrayType(True, PAIR),
            "array(struct(1, 'a, b'), struct(2, '('))",
            [{"n": 1, "s": "a, b"}, {"n": 2, "s": "("}],
        ),
        (t.VectorType(True, t.FloatType(), 2), "[1.5, 2]", [1.5, 2.0]),
    ],
)
def test_a_text_of_a_schema_file_is_read_as_its_columns_type(data_type: t.DataType, text: str, wanted: Any) -> None:
    assert value(data_type, text) == wanted


@pytest.mark.parametrize(
    ("data_type", "sql", "stored"),
    [
        (STRING, "'it''s'", "'it's'"),
        (STRING, r"'it\'s'", "'it's'"),
        (STRING, '"double"', "'double'"),
        (STRING, "'a' 'b'", "'ab'"),
        (STRING, "5", "'5'"),
        (INT, "5", "5"),
        (INT, "(-5)", "-5"),
        (t.BigIntType(), "5L", "5"),
        (t.DecimalType(True, 6, 2), "9.99BD", "9.99"),
        (t.DateType(), "DATE '2024-01-01'", "'2024-01-01'"),
        (t.TimestampType(), "TIMESTAMP_NTZ '2024-01-01 10:00:00'", "'2024-01-01 10:00:00'"),
        (t.bytes_type(), "X'6162'", "'ab'"),
        (t.ArrayType(True, STRING), "array('a', 'b, c', '', 'null', null)", "array(a, 'b, c', '', 'null', null)"),
        (PAIR, "named_struct('n', 4, 's', 'x')", "struct(4, x)"),
        (INT, "NULL", None),
        (INT, "", None),
    ],
)
def test_an_expression_is_stored_as_every_implementation_reads_it(
    data_type: t.DataType, sql: str, stored: str | None
) -> None:
    assert stored_default(column(data_type), sql).default == stored


@pytest.mark.parametrize(
    ("data_type", "sql"),
    [
        (INT, "'text'"),
        (INT, "1 + 1"),
        (INT, "rand()"),
        (t.DateType(), "current_date()"),
        (t.VarCharType(True, 3), "'abcd'"),
        (t.ArrayType(True, INT), "5"),
        (t.ArrayType(True, INT), "map(1, 2)"),
        (t.ArrayType(True, INT), "array(1"),
        (t.ArrayType(True, INT), "array(1) and more"),
        (t.MapType(True, INT, INT), "map(1, 2, 1, 3)"),
        (t.MapType(True, INT, INT), "map(1)"),
        (PAIR, "struct(1)"),
        (STRING, "'never ends"),
        (t.bytes_type(), "X'ff'"),
        (t.VectorType(True, t.FloatType(), 2), "array(1)"),
    ],
)
def test_what_is_no_constant_of_the_column_is_refused_by_its_name(data_type: t.DataType, sql: str) -> None:
    with pytest.raises(InvalidSchemaError, match="'c'"):
        stored_default(column(data_type), sql)


@given(st.lists(st.text(max_size=8), max_size=4))
@settings(max_examples=150)
def test_texts_in_an_array_survive_their_schema_file(texts: list[str]) -> None:
    array = t.ArrayType(True, STRING)
    stored = stored_default(column(array), f"array({', '.join(map(quoted, texts))})")
    assert stored.default is not None
    assert value(array, stored.default) == texts


@given(st.text(max_size=12))
@settings(max_examples=150)
def test_a_text_survives_its_schema_file(text: str) -> None:
    stored = stored_default(column(STRING), quoted(text))
    assert stored.default == f"'{text}'"
    assert value(STRING, stored.default) == text


def test_nulls_are_filled_and_nothing_else() -> None:
    fields = [
        t.DataField(0, "n", INT, default="5"),
        t.DataField(1, "tags", t.ArrayType(True, STRING), default="array(a, b)"),
        t.DataField(2, "plain", INT),
        t.DataField(3, "pair", PAIR, default="struct(1, x)"),
    ]
    batch = pa.RecordBatch.from_pydict(
        {
            "n": pa.array([1, None, 0], pa.int32()),
            "tags": pa.array([None, ["z"], []], arrow_type(fields[1].type)),
            "plain": pa.array([None, None, None], pa.int32()),
            "pair": pa.array([{"n": None, "s": None}, None, None], arrow_type(PAIR)),
        }
    )
    filled = fill_defaults(batch, default_scalars(fields))
    assert filled.schema.equals(batch.schema)
    assert filled.to_pydict() == {
        "n": [1, 5, 0],
        "tags": [["a", "b"], ["z"], []],
        "plain": [None, None, None],
        "pair": [{"n": None, "s": None}, {"n": 1, "s": "x"}, {"n": 1, "s": "x"}],
    }
    assert fill_defaults(batch, {}) is batch
    assert fill_defaults(batch.slice(0, 0), default_scalars(fields)).num_rows == 0


def test_a_bare_word_is_a_text_only_outside_sql() -> None:
    assert parse_constant("a", sql=False) == parse_constant("'a'", sql=True)
    with pytest.raises(ValueError, match="no constant"):
        parse_constant("a", sql=True)
