"""What Spark's grammar offers and Paimon's tables have not is refused clearly; defaults that Spark folds are taken."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.mark.parametrize(
    "clauses",
    [
        "CLUSTERED BY (a) SORTED BY (b) INTO 2 BUCKETS",
        "CLUSTERED BY (a, b) INTO 2 BUCKETS TBLPROPERTIES ('file.format' = 'orc')",
        "PARTITIONED BY (b) CLUSTERED BY (a) SORTED BY (b ASC) INTO 2 BUCKETS COMMENT 'x'",
    ],
)
def test_hives_buckets_are_refused_by_naming_the_options(sql: Sql, clauses: str) -> None:
    for columns in ("a INT, b INT", "a INT PRIMARY KEY NOT ENFORCED, b INT"):
        with pytest.raises(Exception, match=r"CLUSTERED BY .* 'bucket' and 'bucket-key'"):
            sql(f"CREATE TABLE t ({columns}) {clauses}")


def test_defaults_are_the_literals_that_spark_makes_of_expressions(sql: Sql) -> None:
    sql(
        "CREATE TABLE t (k INT, s STRING DEFAULT CONCAT('a', 'b\\'c'), n INT DEFAULT 1 + 2,"
        " d DECIMAL(5, 2) DEFAULT 1.5 * 2, f FLOAT DEFAULT cast(1.5 AS FLOAT),"
        " a ARRAY<INT> DEFAULT array(1 + 1, 3), r STRUCT<x: INT> DEFAULT named_struct('x', 1 + 1), x BINARY DEFAULT"
        " unhex('41'), at DATE DEFAULT DATE '2024-01-31' + INTERVAL 1 DAY, v STRING DEFAULT if(1 > 2, 'x', NULL))"
    )
    sql("INSERT INTO t (k) VALUES (1)")
    sql("ALTER TABLE t ALTER COLUMN s SET DEFAULT upper('q') || 'r'")
    sql("INSERT INTO t (k, n) VALUES (2, DEFAULT)")
    rest = (3, Decimal("3.00"), 1.5, [2, 3], (2,), b"A", dt.date(2024, 2, 1), None)
    assert sql("SELECT * FROM t ORDER BY k") == [(1, "ab'c", *rest), (2, "Qr", *rest)]
    assert ("n", "int", None) in sql("DESCRIBE t")


@pytest.mark.parametrize("value", ["current_date()", "date_add(current_date(), 1)", "to_date(now())", "curdate()"])
def test_a_default_that_is_another_one_tomorrow_is_refused(sql: Sql, value: str) -> None:
    with pytest.raises(Exception, match="A default value is a constant"):
        sql(f"CREATE TABLE t (k INT, d DATE DEFAULT {value})")
    sql("CREATE TABLE t (k INT, d DATE)")
    with pytest.raises(Exception, match="A default value is a constant"):
        sql(f"ALTER TABLE t ALTER COLUMN d SET DEFAULT {value}")


def test_parameters_that_nobody_gives_are_told_as_by_spark(sql: Sql, spark: SparkSession) -> None:
    sql("CREATE TABLE t (n INT)")
    sql("INSERT INTO t VALUES (1)")
    for text in (
        "SELECT ?",
        "UPDATE t SET n = ?",
        "SELECT * FROM t /*+ OPTIONS('scan.snapshot-id' = '1') */ WHERE n = ?",
    ):
        with pytest.raises(AnalysisException) as caught:
            sql(f'EXECUTE IMMEDIATE "{text}"')
        assert caught.value.getCondition() == "UNBOUND_SQL_PARAMETER"
    with pytest.raises(AnalysisException) as caught:
        spark.sql("UPDATE t SET n = :x", args={"y": 1})
    assert caught.value.getCondition() == "UNBOUND_SQL_PARAMETER"


def test_a_hint_without_its_sign_is_refused(sql: Sql) -> None:
    sql("CREATE TABLE t (n INT)")
    with pytest.raises(Exception, match="lacks its sign"):
        sql("SELECT * FROM t /*+ OPTIONS('scan.snapshot-id' '1') */")
