"""Paimon's types are declared to Spark as what they read as, and their exact form travels beside them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.format.schema import types as p
from paimon_sql.sql.dialect.column_definitions import ExactType
from paimon_sql.sql.dialect.session_dialect import walk
from paimon_sql.sql.rewrite import RewriteContext, rewrite
from paimon_sql.sql.types import (
    TYPE_PROPERTY,
    declared_type,
    is_exact,
    read_type_text,
    spark_type,
    take_types,
    type_text,
)


def read(text: str, *, like_spark: bool = False) -> p.DataType:
    parser = walk(f"c {text}")
    parser.spark_timestamps = like_spark
    column = parser.column()
    assert column is not None and isinstance(column.args["kind"], ExactType)
    return column.args["kind"].paimon


ROW = p.RowType(True, (p.DataField(0, "a", p.IntType(False), "it's"), p.DataField(1, "b c", p.TimeType(True, 3))))
STRUCT = "STRUCT<`a`: INT NOT NULL COMMENT 'it\\'s', `b c`: INT>"


@pytest.mark.parametrize(
    ("text", "data_type", "spark"),
    [
        ("BOOLEAN", p.BooleanType(), "BOOLEAN"),
        ("byte", p.TinyIntType(), "TINYINT"),
        ("SHORT", p.SmallIntType(), "SMALLINT"),
        ("INTEGER", p.IntType(), "INT"),
        ("LONG", p.BigIntType(), "BIGINT"),
        ("REAL", p.FloatType(), "FLOAT"),
        ("DOUBLE /* x */ PRECISION", p.DoubleType(), "DOUBLE"),
        ("DECIMAL", p.DecimalType(), "DECIMAL(10, 0)"),
        ("DEC(5)", p.DecimalType(True, 5, 0), "DECIMAL(5, 0)"),
        ("numeric ( 38 , 38 )", p.DecimalType(True, 38, 38), "DECIMAL(38, 38)"),
        ("STRING", p.string_type(), "STRING"),
        ("CHAR", p.CharType(True, 1), "CHAR(1)"),
        ("CHARACTER(3)", p.CharType(True, 3), "CHAR(3)"),
        ("VARCHAR(20)", p.VarCharType(True, 20), "VARCHAR(20)"),
        ("BYTES", p.bytes_type(), "BINARY"),
        ("BINARY", p.bytes_type(), "BINARY"),
        ("BINARY(3)", p.BinaryType(True, 3), "BINARY"),
        ("VARBINARY(3)", p.VarBinaryType(True, 3), "BINARY"),
        ("BLOB", p.BlobType(), "BINARY"),
        ("VARIANT", p.VariantType(), "VARIANT"),
        ("DATE", p.DateType(), "DATE"),
        ("TIME", p.TimeType(), "INT"),
        ("TIME(3) WITHOUT TIME ZONE", p.TimeType(True, 3), "INT"),
        ("TIMESTAMP", p.TimestampType(), "TIMESTAMP_NTZ"),
        ("TIMESTAMP_NTZ", p.TimestampType(), "TIMESTAMP_NTZ"),
        ("TIMESTAMP(3)", p.TimestampType(True, 3), "TIMESTAMP_NTZ"),
        ("TIMESTAMP(9) WITHOUT TIME ZONE", p.TimestampType(True, 9), "TIMESTAMP_NTZ"),
        ("TIMESTAMP_LTZ", p.LocalZonedTimestampType(), "TIMESTAMP_LTZ"),
        ("TIMESTAMP_LTZ(0)", p.LocalZonedTimestampType(True, 0), "TIMESTAMP_LTZ"),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", p.LocalZonedTimestampType(True, 3), "TIMESTAMP_LTZ"),
        ("ARRAY<ARRAY<INT NOT NULL>>", p.ArrayType(True, p.ArrayType(True, p.IntType(False))), "ARRAY<ARRAY<INT>>"),
        ("INT ARRAY MULTISET", p.MultisetType(True, p.ArrayType(True, p.IntType())), "MAP<ARRAY<INT>, INT>"),
        ("MAP<INT NOT NULL, BYTES NULL>", p.MapType(True, p.IntType(False), p.bytes_type()), "MAP<INT, BINARY>"),
        ("VECTOR<FLOAT, 3>", p.VectorType(True, p.FloatType(), 3), "ARRAY<FLOAT>"),
        ("ROW<a INT NOT NULL 'it''s', `b c` TIME(3)>", ROW, STRUCT),
        ("ROW(a INT NOT NULL COMMENT 'it''s', `b c` TIME(3))", ROW, STRUCT),
        ("STRUCT<a: INT NOT NULL COMMENT 'it\\'s', `b c`: TIME(3)>", ROW, STRUCT),
    ],
)  # fmt: skip
def test_types_are_read_and_declared_to_spark(text: str, data_type: p.DataType, spark: str) -> None:
    assert read(text) == data_type
    assert spark_type(data_type) == spark


def test_timestamp_alone_is_sparks_in_sparks_style() -> None:
    assert read("TIMESTAMP", like_spark=True) == p.LocalZonedTimestampType()
    assert read("ARRAY<TIMESTAMP>", like_spark=True) == p.ArrayType(True, p.LocalZonedTimestampType())
    assert read("TIMESTAMP(3) WITHOUT TIME ZONE", like_spark=True) == p.TimestampType(True, 3)


def test_a_timestamp_of_a_size_that_spark_has_not_is_flinks_in_every_style() -> None:
    assert read("TIMESTAMP(3)", like_spark=True) == p.TimestampType(True, 3)
    row = read("ROW<t TIMESTAMP(0)>", like_spark=True)
    assert isinstance(row, p.RowType) and row.fields[0].type == p.TimestampType(True, 0)


@pytest.mark.parametrize("text", ["INTERVAL YEAR TO MONTH", "VOID", "ARRAY<INTERVAL DAY>", "RAW('a', 'b')"])
def test_a_type_that_paimon_has_not_is_left_to_spark(text: str) -> None:
    parser = walk(f"c {text}, d INT")
    first = parser.column()
    assert first is not None and not isinstance(first.args.get("kind"), ExactType)
    assert parser.accept(",")
    second = parser.column()
    assert second is not None and second.args["kind"].paimon == p.IntType()


@pytest.mark.parametrize(
    ("data_type", "exact"),
    [
        (p.IntType(), True),
        (p.TimestampType(), True),
        (p.TimestampType(True, 9), False),
        (p.LocalZonedTimestampType(True, 3), False),
        (p.bytes_type(), True),
        (p.VarBinaryType(True, 5), False),
        (p.TimeType(), False),
        (p.ArrayType(True, p.IntType()), True),
        (p.ArrayType(True, p.IntType(False)), False),
        (p.MapType(True, p.IntType(False), p.IntType()), True),
        (p.MapType(True, p.IntType(), p.IntType()), False),
        (p.RowType(True, (p.DataField(0, "a", p.IntType(False)),)), True),
        (ROW, False),
    ],
)
def test_a_type_is_exact_where_sparks_words_lead_back_to_it(data_type: p.DataType, exact: bool) -> None:
    assert is_exact(data_type) is exact


def data_types() -> st.SearchStrategy[p.DataType]:
    leaves = st.sampled_from(
        [
            p.IntType(),
            p.IntType(False),
            p.string_type(),
            p.TimestampType(True, 3),
            p.DecimalType(True, 12, 3),
            p.BlobType(),
        ]
    )
    names = st.text(min_size=1, max_size=4)

    def wrap(inner: st.SearchStrategy[p.DataType]) -> st.SearchStrategy[p.DataType]:
        fields = st.lists(st.builds(p.DataField, st.just(0), names, inner, st.none() | names), min_size=1, max_size=3)
        return st.one_of(
            st.builds(p.ArrayType, st.booleans(), inner),
            st.builds(p.MapType, st.booleans(), inner, inner),
            st.builds(p.MultisetType, st.booleans(), inner),
            fields.map(lambda fs: p.RowType(True, tuple(fs))),
        )

    return st.recursive(leaves, wrap, max_leaves=6)


@given(data_types())
def test_the_exact_type_comes_back_from_its_text(data_type: p.DataType) -> None:
    assert read_type_text(type_text(data_type)) == data_type


@given(data_types(), st.sampled_from(["", " USING paimon", " TBLPROPERTIES ('k' = 'v')", " WITH ('k' = 'v')"]))
def test_a_declared_type_is_read_exactly_in_every_style(data_type: p.DataType, clause: str) -> None:
    # Spark's words alone say nothing of types that Spark lacks, and in Flink's style the key of a map may be null.
    if clause == (" WITH ('k' = 'v')" if is_exact(data_type) else ""):
        clause = " USING paimon"
    text = f"CREATE TABLE t (c {declared_type(data_type)}){clause}"
    context = RewriteContext("paimon", "db", frozenset({"paimon"}))
    rewritten = rewrite(text, context).sql
    given = re.search(r"'paimon-sql\.type\.c' = '((?:[^'\\]|\\.)*)'", rewritten, re.DOTALL)
    if given is None:
        assert is_exact(data_type)
    else:
        exact = read_type_text(re.sub(r"\\(.)", r"\1", given[1], flags=re.DOTALL))
        assert exact.as_nullable().sql() == data_type.as_nullable().sql()


def test_the_catalog_takes_the_types_out_of_the_properties() -> None:
    properties = {
        "k": "v",
        f"{TYPE_PROPERTY}a.b": "TIMESTAMP(3)",
        f"{TYPE_PROPERTY}m": '{"type":"MULTISET","element":"INT"}',
    }
    types, rest = take_types(properties)
    assert types == {"a.b": p.TimestampType(True, 3), "m": p.MultisetType(True, p.IntType())}
    assert rest == {"k": "v"}
