"""UPDATE and DELETE change the rows for which Spark alone would find the condition true, whoever decides on them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import SparkSession

from paimon_sql.spark.execution import distribute, executor
from tests.selection import EVERY
from tests.spark.conftest import Sql

CONDITIONS = [
    "b",
    "NOT b",
    "b IS NULL",
    "i8 % 3 = 0",
    "i8 % -3 = -2",
    "NOT (pmod(i16, 5) = 2)",
    "i32 > i64",
    "i64 >= 9223372036854775807 OR i64 = -9223372036854775808",
    "i64 % 2 <> 0",
    "i32 + 1 > 0",
    "i32 IN (1, 2, NULL)",
    "NOT (i32 IN (1, 2))",
    "i32 NOT IN (1, NULL)",
    "i32 <=> NULL",
    "NOT (i32 <=> 1)",
    "i32 = 1 OR i32 IS NULL",
    "coalesce(i32, 0) = 0",
    "f32 > 0",
    "f64 = CAST('NaN' AS DOUBLE)",
    "f64 < 1",
    "NOT (f64 > 1)",
    "f64 = 0",
    "d = 1.5",
    "d > 1",
    "d < CAST(-0.01 AS DECIMAL(10, 2))",
    "s = 'a'",
    "s = 'a '",
    "s = ''",
    "s LIKE 'ä%'",
    "s > '中'",
    "NOT (s IN ('a', 'ä'))",
    "s = upper(s)",
    "c = 'ab'",
    "c = 'ab '",
    "c LIKE 'ab%'",
    "c > 'ab'",
    "vc > 'b' AND vc <> 'c'",
    "bin = X'00'",
    "bin > X'00'",
    "day = DATE '1969-12-31'",
    "day < DATE '2000-01-01'",
    "at >= TIMESTAMP '2024-03-31 02:30:00'",
    "ntz = TIMESTAMP_NTZ '1969-12-31 23:59:59.999999'",
    "ntz > TIMESTAMP_NTZ '2024-01-01 00:00:00'",
    "(b OR i32 = 1) AND NOT (s = 'a')",
    "NOT (b AND i32 = 1)",
    "p = 1",
    "p % 2 = 1 AND b",
    "p = 1 OR i32 = 1",
    "id = 3",
    "id > 2 AND id % 4 = 1",
    "id IN (1, 5, 99)",
    "true",
    "false",
    "i32 = (SELECT max(i32) FROM {source})",
    "id IN (SELECT id FROM {source} WHERE b)",
]
TYPES = {
    "b": "BOOLEAN",
    "i8": "TINYINT",
    "i16": "SMALLINT",
    "i32": "INT",
    "i64": "BIGINT",
    "f32": "FLOAT",
    "f64": "DOUBLE",
    "d": "DECIMAL(10, 2)",
    "s": "STRING",
    "c": "CHAR(4)",
    "vc": "VARCHAR(5)",
    "bin": "BINARY",
    "day": "DATE",
    "at": "TIMESTAMP",
    "ntz": "TIMESTAMP_NTZ",
}
VALUES = {
    "b": ["true", "false"],
    "i8": ["-128", "127", "-2", "0", "3"],
    "i16": ["-32768", "32767", "2", "-3"],
    "i32": ["1", "2", "0", "-2147483648", "7"],
    "i64": ["9223372036854775807", "-9223372036854775808", "-1", "0", "1"],
    "f32": ["'-0'", "'NaN'", "'Infinity'", "'1.5'", "'0'"],
    "f64": ["'NaN'", "'0'", "'-0'", "'-Infinity'", "'2.5'"],
    "d": ["1.5", "-0.02", "0", "99999999.99"],
    "s": ["'a'", "'a '", "''", "'ä'", "'äb'", "'中文'", "'A'", "'😀'"],
    "c": ["'ab'", "'abc'", "'b'", "''"],
    "vc": ["'a'", "'b'", "'c'", "'bb'"],
    "bin": ["X''", "X'00'", "X'0001'", "X'FF'"],
    "day": ["'1969-12-31'", "'2000-01-01'", "'0001-01-01'", "'9999-12-31'"],
    "at": ["'2024-03-31 02:30:00'", "'1969-12-31 23:59:59.999999'", "'2024-01-01 00:00:00'"],
    "ntz": ["'1969-12-31 23:59:59.999999'", "'2024-01-01 00:00:00'", "'2030-06-01 12:00:00.000001'"],
}
ROWS = 24


@pytest.fixture
def source(sql: Sql, spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """A table of Spark's own with the rows."""
    database = f"spark_catalog.{spark.catalog.currentDatabase()}"
    sql(f"CREATE DATABASE {database} LOCATION '{tmp_path}/plain'")
    chance = random.Random(11)
    cells = [[f"CAST({v} AS {TYPES[name]})" for v in [*values, "NULL"]] for name, values in VALUES.items()]
    rows = ", ".join(f"({i}, {i % 3}, 0, {', '.join(map(chance.choice, cells))})" for i in range(ROWS))
    columns = ", ".join(["id INT", "p INT", "mark INT", *(f"{n} {t}" for n, t in TYPES.items())])
    for name, options in (
        (f"{database}.source", "USING parquet"),
        ("keyed", "PARTITIONED BY (p) TBLPROPERTIES ('primary-key'='p,id', 'bucket'='2')"),
        ("plain", ""),
    ):
        sql(f"CREATE TABLE {name} ({columns}) {options}")
    sql(f"INSERT INTO {database}.source VALUES {rows}")
    yield f"{database}.source"
    sql(f"DROP DATABASE {database} CASCADE")


@pytest.fixture
def wanted(sql: Sql, source: str) -> dict[str, list[int]]:
    """The ids of the rows for which Spark finds each condition true, all in one look."""
    asked = [c for c in CONDITIONS if "SELECT" not in c]
    rows = sql(f"SELECT id, {', '.join(f'({c})' for c in asked)} FROM {source} ORDER BY id")
    found = {c: [cast(int, row[0]) for row in rows if row[i]] for i, c in enumerate(asked, 1)}
    for condition in set(CONDITIONS) - set(asked):
        rows = sql(f"SELECT id FROM {source} WHERE {condition.format(source=source)} ORDER BY id")
        found[condition] = [cast(int, row[0]) for row in rows]
    return found


def deleted(sql: Sql, name: str, condition: str, source: str) -> tuple[object, list[int]]:
    """Delete the rows of a condition and insert them again: how many they were, as told, and the ids of the others."""
    ((told,),) = sql(f"DELETE FROM {name} WHERE {condition.format(source=source)}")
    left = sorted(cast(int, row[0]) for row in sql(f"SELECT id FROM {name} WHERE mark = 0"))
    if gone := set(range(ROWS)) - set(left):
        sql(f"INSERT INTO {name} SELECT * FROM {source} WHERE id IN ({', '.join(map(str, gone))})")
    return told, left


def left_by(ids: list[int]) -> tuple[object, list[int]]:
    """What is told of a delete of these rows."""
    return len(ids), [i for i in range(ROWS) if i not in ids]


def fill(sql: Sql, name: str, source: str) -> None:
    for rest in (0, 1):
        sql(f"INSERT INTO {name} SELECT * FROM {source} WHERE id % 2 = {rest}")


def test_changes_find_the_rows_that_spark_finds(sql: Sql, source: str, wanted: dict[str, list[int]]) -> None:
    fill(sql, "keyed", source)
    for condition, ids in list(wanted.items())[:: 1 if EVERY else 2]:
        assert deleted(sql, "keyed", condition, source) == left_by(ids), condition


@pytest.mark.parametrize("name", ["keyed", "plain"])
def test_workers_find_them_too(
    sql: Sql, source: str, wanted: dict[str, list[int]], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distribute, "_FEW_BYTES", -1)
    monkeypatch.setattr(executor, "FEW_BYTES", -1)
    fill(sql, name, source)
    for condition, ids in list(wanted.items())[:: len(wanted) // 7]:
        where = condition.format(source=source)
        assert sql(f"UPDATE {name} SET mark = mark + 1 WHERE {where}") == [(len(ids),)], (name, condition)
        assert deleted(sql, name, condition, source) == left_by(ids), condition


@pytest.mark.parametrize(
    "values",
    [
        {"i32": "i32 % 7", "i64": "i16 * 2 - 1", "s": "'x'", "day": "NULL", "mark": "-5", "b": "true"},
        {"i8": "pmod(i8, 5)", "i16": "i8", "d": "2.25", "bin": "X'01'", "f64": "1", "ntz": "NULL", "s": "vc"},
        {"f64": "-0D", "f32": "CAST('NaN' AS FLOAT)", "day": "DATE '0001-01-01'", "d": "-99999999.99", "i64": "mark"},
        {"i64": "i64 % 3", "s": "concat(s, '!')", "c": "'zz  '", "vc": "'zz'", "at": "TIMESTAMP '2020-01-01 00:00:00'"},
        {"i32": "id + p * 3", "mark": "id"},
    ],
)
def test_values_are_those_that_spark_computes(sql: Sql, source: str, values: dict[str, str]) -> None:
    fill(sql, "keyed", source)
    names = ["id", "p", "mark", *TYPES]
    told = ", ".join(f"CAST({values[n]} AS {TYPES.get(n, 'INT')}) AS {n}" if n in values else n for n in names)
    changed = f"SELECT {told} FROM {source} WHERE id % 2 = 0"
    wanted = sql(f"{changed} UNION ALL SELECT * FROM {source} WHERE id % 2 = 1")
    assigned = ", ".join(f"{n} = {v}" for n, v in values.items())
    assert sql(f"UPDATE keyed SET {assigned} WHERE id % 2 = 0") == [(ROWS // 2,)]
    assert sorted(map(str, sql("SELECT * FROM keyed"))) == sorted(map(str, wanted))


def test_an_overflow_changes_nothing(sql: Sql, spark: SparkSession) -> None:
    sql("CREATE TABLE t (id INT, n INT) TBLPROPERTIES ('primary-key'='id', 'bucket'='2')")
    sql("INSERT INTO t SELECT id, IF(id = 7, 2147483647, id) FROM range(10)")
    with pytest.raises(Exception, match="ARITHMETIC_OVERFLOW"):
        sql("UPDATE t SET n = n + 1 WHERE id >= 0")
    assert sql("SELECT sum(n) FROM t WHERE id <> 7") == [(38,)]
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        assert sql("UPDATE t SET n = n + 1 WHERE id >= 0") == [(10,)]
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    assert sql("SELECT n FROM t WHERE id = 7") == [(-2147483648,)]
