"""Aggregates that workers put together answer as Spark does over a Parquet copy of the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]

COLUMNS = (
    "k BIGINT, i INT, b BIGINT, d DECIMAL(4, 2), w DECIMAL(30, 5), x DOUBLE, f FLOAT, s STRING, v VARCHAR(9),"
    " o BOOLEAN, y DATE, m TIMESTAMP, n TIMESTAMP_NTZ, h BINARY, `count(*)` INT"
)
ROWS = (
    "SELECT id AS k, IF(id % 7 = 0, NULL, CAST(id % 5 - 2 AS INT)) AS i, id * 461168601842738 - 99 AS b,"
    " CAST(IF(id % 6 = 0, -99.99, 99.99) AS DECIMAL(4, 2)) AS d,"
    " CAST(id % 3 AS DECIMAL(30, 5)) * 3333333333333333333333333.33333 AS w,"
    " CASE id % 6 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D WHEN 2 THEN 0.0D WHEN 3 THEN NULL ELSE id / 4 END AS x,"
    " CAST(IF(id % 9 = 0, 'NaN', id % 4 - 1.5) AS FLOAT) AS f, IF(id % 4 = 0, NULL, concat('ä', id % 3)) AS s,"
    " concat('v', id % 4) AS v, id % 5 > 1 AS o, date_add(DATE '1500-01-01', CAST(id % 3 AS INT) * 99999) AS y,"
    " timestamp_micros(id % 3 * 1000000000001) AS m, TIMESTAMP_NTZ '1969-12-31 23:59:59.999999' AS n,"
    " IF(id % 3 = 0, X'', CAST(concat('h', id % 2) AS BINARY)) AS h, CAST(id % 2 AS INT) AS `count(*)`"
    " FROM range({}, {})"
)
ALL = (
    "count(*), count(i), sum(i), avg(i), min(i), max(i), sum(b), min(b), sum(d), avg(d), max(d), sum(w), min(w),"
    " sum(x), max(x), min(x), count(x), sum(f), avg(f), min(f), min(s), max(s), max(v), min(o),"
    " max(o), min(y), max(m), min(n), max(h), min(h)"
)
KEYS = ["i", "d", "w", "x", "f", "s", "v", "o", "y", "m", "n", "h", "`count(*)`", "s, o", "i, f, y"]
TABLES = {
    "deduplicate": "'primary-key'='k', 'bucket'='2', 'file.format'='avro'",
    "partial-update": "'primary-key'='k', 'bucket'='1', 'merge-engine'='partial-update'",
    "aggregation": "'primary-key'='k', 'bucket'='1', 'merge-engine'='aggregation', 'fields.i.aggregate-function'='sum',"
    " 'fields.b.aggregate-function'='max', 'file.format'='orc'",
    "append": "'bucket'='-1', 'file.format'='avro'",
}


class Answer(NamedTuple):
    """What a query found in the table and in the copy, and whether workers put rows together for it."""

    found: list[str]
    expected: list[str]
    pushed: bool


Ask = Callable[[str], Answer]


@pytest.fixture
def ask(spark: SparkSession, sql: Sql, tmp_path: Path) -> Iterator[Ask]:
    """Asks a query of the table ``t`` and of a copy of its rows, made when the first is asked."""
    copy = tmp_path / "copy"

    def answer(query: str) -> Answer:
        if not copy.exists():
            spark.table("t").write.parquet(str(copy))
            spark.read.parquet(str(copy)).createOrReplaceTempView("plain_copy")
        found, expected = (sorted(map(_text, sql(query.format(name)))) for name in ("t", "plain_copy"))
        ((plan,),) = sql(f"EXPLAIN {query.format('t')}")
        return Answer(found, expected, "groups by" in str(plan) or "aggregates " in str(plan))

    yield answer
    spark.catalog.dropTempView("plain_copy")


def check(ask: Ask, *queries: str, pushed: bool) -> None:
    """Queries answer as over the copy, and workers put rows together for each or for none."""
    for query in queries:
        answer = ask(query)
        assert (answer.found, answer.pushed) == (answer.expected, pushed)


def _text(row: tuple[Any, ...]) -> str:
    """A row as text; of -0.0 and 0.0 whichever comes first is the least of both, to Spark as well."""
    return str(tuple(v + 0.0 if isinstance(v, float) else v for v in row))


def made(sql: Sql, options: str) -> None:
    sql(f"CREATE TABLE t ({COLUMNS}) TBLPROPERTIES ('write-only'='true', {options})")
    for start, end in ((0, 60), (40, 90), (20, 50)):
        sql(f"INSERT INTO t {ROWS.format(start, end)}")


@pytest.mark.parametrize("kind", TABLES)
def test_groups_are_those_of_a_parquet_copy(sql: Sql, ask: Ask, kind: str) -> None:
    made(sql, TABLES[kind])
    for key in KEYS[list(TABLES).index(kind) :: len(TABLES)]:
        check(ask, f"SELECT {key}, {ALL} FROM {{}} GROUP BY {key}", pushed=True)
    check(ask, f"SELECT {ALL} FROM {{}}", pushed=True)
    check(ask, "SELECT DISTINCT s, o FROM {}", pushed=True)


@pytest.mark.parametrize("kind", ["partial-update", "append"])
def test_filters_that_workers_decide_let_groups_be_put_together(sql: Sql, ask: Ask, kind: str) -> None:
    made(sql, TABLES[kind])
    for condition in ("i > 0", "s = 'ä1' OR s IS NULL", "k % 3 = 1 AND k BETWEEN 10 AND 70", "NOT o AND y IS NOT NULL"):
        check(ask, f"SELECT i, count(*), sum(d), max(s) FROM {{}} WHERE {condition} GROUP BY i", pushed=True)
    for condition in (
        "x > 3",
        "x = double('NaN') OR f IN (0.5, -0.5)",
        "x <= -0.0D AND NOT f < 1",
        "x <> 0",
        "x IS NULL",
    ):
        check(ask, f"SELECT x, count(*), max(f) FROM {{}} WHERE {condition} GROUP BY x", pushed=True)
    check(ask, "SELECT count(*), max(x), sum(b) FROM {} WHERE i % 3 = 5", pushed=True)
    check(
        ask,
        "SELECT s, count(*) AS c FROM {} WHERE i < 2 GROUP BY s HAVING count(*) > 3 ORDER BY c LIMIT 2",
        pushed=True,
    )
    for condition in ("s LIKE '%1'", "length(s) = 2", "CAST(i AS STRING) = '1'"):
        check(ask, f"SELECT i, count(*), max(s) FROM {{}} WHERE {condition} GROUP BY i", pushed=False)


def test_what_cannot_be_put_together_is_left_to_spark(sql: Sql, ask: Ask) -> None:
    made(sql, TABLES["deduplicate"])
    queries = (
        "SELECT s, count(DISTINCT i) FROM {} GROUP BY s",
        "SELECT s, sum(i) FILTER (WHERE o) FROM {} GROUP BY s",
        "SELECT i + 1, count(*), max(s) FROM {} GROUP BY i + 1",
        "SELECT lower(s), sum(i) FROM {} GROUP BY lower(s)",
        "SELECT s COLLATE UTF8_LCASE, count(*), max(i) FROM {} GROUP BY s COLLATE UTF8_LCASE",
        "SELECT max(s COLLATE UTF8_LCASE) FROM {}",
        "SELECT s, sum(k * 2) FROM {} GROUP BY s",
        "SELECT s, stddev(i) FROM {} GROUP BY s",
        "SELECT s, sum(CAST(w AS DECIMAL(38, 5))) FROM {} GROUP BY s",
        "SELECT o, max(named_struct('a', i)) FROM {} GROUP BY o",
        "SELECT s, i, count(*) FROM {} GROUP BY s, i WITH ROLLUP",
        "SELECT i, count(*) FROM {} WHERE k = 7 GROUP BY i",
    )
    check(ask, *queries, pushed=False)


def test_sums_overflow_as_sparks_do(spark: SparkSession, sql: Sql, ask: Ask) -> None:
    options = "'primary-key'='k', 'bucket'='2', 'write-only'='true', 'file.format'='orc'"
    sql(f"CREATE TABLE t (k INT, g INT, b BIGINT) TBLPROPERTIES ({options})")
    for start in (0, 5):
        sql(f"INSERT INTO t SELECT CAST(id AS INT), CAST(id % 2 AS INT), {2**63 - 1} FROM range({start}, 10)")
    check(ask, "SELECT g, max(b), count(b) FROM {} GROUP BY g", pushed=True)
    # Spark averages long numbers as floating-point ones, which do not overflow.
    check(ask, "SELECT g, avg(b), count(b) FROM {} GROUP BY g", pushed=False)
    check(ask, "SELECT g, try_sum(b) FROM {} GROUP BY g", pushed=True)
    with pytest.raises(Exception, match=r"overflow|OVERFLOW"):
        sql("SELECT g, sum(b) FROM t GROUP BY g")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        answer = ask("SELECT g, sum(b) FROM {} GROUP BY g")
        assert (answer.found, answer.pushed) == (answer.expected, True)
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_columns_that_changed_meanwhile_are_put_together_as_they_are_today(sql: Sql, ask: Ask) -> None:
    made(sql, TABLES["partial-update"])
    sql("ALTER TABLE t RENAME COLUMN i TO renamed")
    sql("ALTER TABLE t ALTER COLUMN f TYPE DOUBLE")
    sql("ALTER TABLE t ALTER COLUMN `count(*)` TYPE BIGINT")
    sql("ALTER TABLE t ADD COLUMN e INT")
    sql("INSERT INTO t SELECT * EXCEPT (e), CAST(k % 2 AS INT) FROM t WHERE k % 4 = 0")
    for key in ("renamed", "e", "f", "`count(*)`"):
        told = "count(*), sum(renamed), sum(e), count(e), max(f), sum(`count(*)`)"
        check(ask, f"SELECT {key}, {told} FROM {{}} GROUP BY {key}", pushed=True)
    check(ask, "SELECT e, sum(renamed) FROM {} WHERE e IS NULL OR renamed > 0 GROUP BY e", pushed=True)


def test_what_spark_reads_by_itself_it_puts_together_by_itself(sql: Sql, ask: Ask) -> None:
    sql("CREATE TABLE t (k INT, s STRING)")
    check(ask, "SELECT s, count(*), max(k) FROM {} GROUP BY s", pushed=False)
    sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'a')")
    ((plan,),) = sql("EXPLAIN SELECT s, count(*), max(k) FROM t GROUP BY s")
    assert "groups by" not in str(plan)


def test_merges_that_sparks_reader_reads_are_put_together_by_spark(sql: Sql, ask: Ask) -> None:
    made(sql, "'primary-key'='k', 'bucket'='2', 'file.format'='parquet'")
    check(ask, "SELECT s, count(*), avg(i), max(x) FROM {} GROUP BY s", "SELECT sum(d), min(s) FROM {}", pushed=False)


def test_an_empty_merge_has_no_groups(sql: Sql, ask: Ask) -> None:
    options = "'primary-key'='k', 'bucket'='2', 'write-only'='true', 'file.format'='orc'"
    sql(f"CREATE TABLE t (k INT, s STRING) TBLPROPERTIES ({options})")
    sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    sql("DELETE FROM t WHERE k > 0")
    check(ask, "SELECT s, count(*), max(k) FROM {} GROUP BY s", pushed=True)
    check(ask, "SELECT count(*), max(k), sum(k), count(s) FROM {}", pushed=True)


def test_groups_are_written_into_columns_that_are_not_null(sql: Sql) -> None:
    sql("CREATE TABLE t (k INT NOT NULL, v INT) TBLPROPERTIES ('file.format' = 'orc')")
    sql("INSERT INTO t VALUES (1, 1), (1, 2), (2, 5)")
    sql("CREATE TABLE counts (k INT NOT NULL, n BIGINT NOT NULL) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    sql("INSERT INTO counts SELECT k, count(*) FROM t GROUP BY k")
    assert sorted(sql("SELECT * FROM counts")) == [(1, 2), (2, 1)]
    sql(
        "CREATE TABLE sums TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')"
        " AS SELECT k, sum(v) AS s FROM t GROUP BY k"
    )
    assert sorted(sql("SELECT * FROM sums")) == [(1, 3), (2, 5)]


NATIVE = {
    "append": "'bucket'='-1'",
    "merged": "'primary-key'='k', 'bucket'='2'",
    "vectors": "'bucket'='-1', 'deletion-vectors.enabled'='true'",
}
"""Tables that Spark's own reader can read."""


@pytest.mark.parametrize("kind", NATIVE)
def test_workers_aggregate_faster_what_sparks_reader_could_read(
    sql: Sql, ask: Ask, workers_aggregate: None, kind: str
) -> None:
    made(sql, NATIVE[kind])
    sql("DELETE FROM t WHERE k % 17 = 3")
    for key in KEYS:
        answer = ask(f"SELECT {key}, {ALL} FROM {{}} GROUP BY {key}")
        assert answer.found == answer.expected
    check(
        ask,
        f"SELECT {ALL} FROM {{}}",
        f"SELECT o, {ALL} FROM {{}} GROUP BY o",
        "SELECT DISTINCT s, o FROM {}",
        pushed=True,
    )
    queries = (
        "SELECT o, max(i) FROM {} WHERE x > 3 GROUP BY o",
        "SELECT k, sum(i), max(s) FROM {} GROUP BY k",
        "SELECT o, avg(b) FROM {} GROUP BY o",
        "SELECT s, count(DISTINCT i) FROM {} GROUP BY s",
    )
    check(ask, *queries, pushed=False)


def test_few_bytes_are_aggregated_by_spark(sql: Sql, ask: Ask) -> None:
    made(sql, NATIVE["append"])
    check(ask, "SELECT o, sum(i), max(s) FROM {} GROUP BY o", pushed=False)


def test_partitions_are_groups_whose_number_is_known(sql: Sql, ask: Ask, workers_aggregate: None) -> None:
    sql(f"CREATE TABLE t ({COLUMNS}) PARTITIONED BY (s) TBLPROPERTIES ('write-only'='true')")
    sql(f"INSERT INTO t {ROWS.format(0, 90)}")
    sql("ALTER TABLE t RENAME COLUMN i TO j")
    queries = (
        "SELECT s, sum(j), max(b) FROM {} GROUP BY s",
        "SELECT s, o, sum(j) FROM {} WHERE s = 'ä1' GROUP BY s, o",
    )
    check(ask, *queries, pushed=True)
