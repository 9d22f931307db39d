"""Several INSERTs of one statement that share common tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]
NUMBERS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 4)"


@pytest.fixture(autouse=True)
def _tables(sql: Sql) -> None:
    sql("CREATE TABLE a (n INT, PRIMARY KEY (n) NOT ENFORCED) WITH ('bucket' = '2')")
    sql("CREATE TABLE b (n INT)")


@pytest.mark.smoke
def test_one_that_calls_itself_is_known_to_all_inserts(sql: Sql) -> None:
    sql(f"{NUMBERS} FROM r INSERT INTO a SELECT n INSERT INTO b SELECT n * 10 WHERE n > 1")
    assert sql("SELECT * FROM a ORDER BY n") == [(1,), (2,), (3,), (4,)]
    assert sql("SELECT * FROM b ORDER BY n") == [(20,), (30,), (40,)]


def test_others_may_be_made_of_it(sql: Sql) -> None:
    sql("INSERT INTO b VALUES (0)")
    tables = f"{NUMBERS}, s AS (SELECT 100 + n AS m FROM r)"
    sql(f"{tables} FROM r, s INSERT INTO a SELECT n WHERE m = 101 INSERT OVERWRITE b SELECT m WHERE n = 1")
    assert sql("SELECT count(*), max(n) FROM a") == [(4, 4)]
    assert sql("SELECT * FROM b ORDER BY n") == [(101,), (102,), (103,), (104,)]


def test_tables_of_other_catalogs_may_stand_among_ours(sql: Sql, spark: SparkSession, tmp_path: Path) -> None:
    plain = "spark_catalog.default.plain_numbers"
    spark.sql(f"CREATE TABLE {plain} (n INT) USING parquet LOCATION '{tmp_path / 'plain'}'")
    try:
        sql(f"{NUMBERS} FROM r INSERT INTO {plain} SELECT n INSERT INTO a SELECT n WHERE n = 3")
        assert sorted(map(tuple, spark.read.parquet(str(tmp_path / "plain")).collect())) == [(1,), (2,), (3,), (4,)]
        assert sql("SELECT * FROM a") == [(3,)]
    finally:
        spark.sql(f"DROP TABLE {plain}")
