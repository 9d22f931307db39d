"""Literals and names of types, without a server."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sqlalchemy.exc import ArgumentError

from paimon_sql.errors import InvalidInputError
from paimon_sql.sqlalchemy.dialect import PaimonDialect
from paimon_sql.sqlalchemy.literals import literal
from paimon_sql.sqlalchemy.names import read_schema, schema_of
from paimon_sql.sqlalchemy.type_names import type_named

DIALECT = PaimonDialect()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        (np.bool_(False), "FALSE"),
        (7, "7"),
        (np.int8(7), "7"),
        (-7, " -7"),
        (0.1, "0.1D"),
        (-1e300, " -1e+300D"),
        (np.float32(0.5), "0.5D"),
        (float("nan"), "CAST('NaN' AS DOUBLE)"),
        (-np.inf, "CAST('-Infinity' AS DOUBLE)"),
        (Decimal("-1.50"), " -1.50BD"),
        (Decimal("1E+3"), "1000BD"),
        ("it's 100% $x\\\n", "'it\\'s 100% \\u0024x\\\\\\u000a'"),
        (b"\x00'", "X'0027'"),
        (date(2024, 2, 29), "DATE'2024-02-29'"),
        (datetime(1, 1, 1), "TIMESTAMP_NTZ'0001-01-01 00:00:00.000000'"),
        (
            datetime(2024, 1, 1, 12, tzinfo=timezone(timedelta(hours=2))),
            "TIMESTAMP_LTZ'2024-01-01 10:00:00.000000+00:00'",
        ),
        (pd.Timestamp("2024-01-01 12:00:00.000001"), "TIMESTAMP_NTZ'2024-01-01 12:00:00.000001'"),
        (pd.NaT, "NULL"),
        (timedelta(days=-1, seconds=-1), "INTERVAL '-1 00:00:01.000000' DAY TO SECOND"),
        ((1, "a"), "(1, 'a')"),
    ],
)
def test_a_value_is_one_literal(value: object, text: str) -> None:
    assert literal(value) == text


def test_what_has_no_literal_is_refused_by_its_type() -> None:
    with pytest.raises(InvalidInputError, match="A value of type dict cannot be a parameter"):
        literal({})


@pytest.mark.parametrize(
    ("name", "compiled"),
    [
        ("INT", "INT"),
        ("bigint", "BIGINT"),
        ("DECIMAL(10,2)", "DECIMAL(10, 2)"),
        ("VARCHAR(5)", "VARCHAR(5)"),
        ("CHAR(3)", "CHAR(3)"),
        ("STRING COLLATE UTF8_LCASE", "STRING"),
        ("FLOAT", "FLOAT"),
        ("DOUBLE", "DOUBLE"),
        ("TIMESTAMP", "TIMESTAMP_LTZ"),
        ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ"),
        ("MAP<STRING, ARRAY<DECIMAL(3,1)>>", "MAP<STRING, ARRAY<DECIMAL(3, 1)>>"),
        ("STRUCT<`a b``c`: INT, d: STRING NOT NULL COMMENT 'x, >'>", "STRUCT<`a b``c`: INT, `d`: STRING>"),
        ("STRUCT<>", "STRUCT<>"),
        ("VARIANT", "VARIANT"),
    ],
)
def test_a_type_is_known_by_its_name(name: str, compiled: str) -> None:
    assert type_named(name).compile(DIALECT) == compiled


@pytest.mark.parametrize("name", ["INTERVAL DAY TO SECOND", "GEOMETRY(4326)", "ARRAY<", "DECIMAL(a)", ""])
def test_an_unknown_type_is_none_of_sqlalchemys(name: str) -> None:
    assert str(type_named(name)) == "NULL"


@pytest.mark.parametrize("name", ["sales", "a.b", "my-db", "a`b", "größe", " x ", "`"])
def test_a_database_is_found_by_its_schema(name: str) -> None:
    assert read_schema(schema_of(name)) == (None, name)
    assert read_schema(schema_of(name, "c.d")) == ("c.d", name)


def test_a_schema_of_three_parts_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"'a.b.c' has 3 parts"):
        read_schema("a.b.c")
