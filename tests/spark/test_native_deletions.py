"""Tables with deletion vectors are read by Spark's own reader, and their deleted rows stay deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row, SparkSession

from paimon_sql.format.deletion_vectors import DeletionVector
from paimon_sql.spark.deleted_rows import bits_of
from tests.spark.conftest import Sql

_NATIVE = "_tmp_metadata_row_index"
_ROWS = 4_000


@given(st.sets(st.integers(0, 500)))
def test_each_deleted_row_is_a_bit(positions: set[int]) -> None:
    bits = np.unpackbits(np.frombuffer(bits_of(DeletionVector(sorted(positions))), np.uint8), bitorder="little")
    assert set(np.flatnonzero(bits)) == positions
    assert len(bits) // 8 == (max(positions) // 8 + 1 if positions else 0)


@pytest.fixture(scope="module")
def kept(spark: SparkSession) -> Iterator[str]:
    """The name of a database that stays for all tests here and whose table ``t`` no test changes."""
    spark.sql("CREATE DATABASE paimon.native_deletions")
    spark.sql("USE paimon.native_deletions")
    _make(lambda text: [tuple(row) for row in spark.sql(text).collect()])
    yield "paimon.native_deletions"
    spark.sql("DROP DATABASE paimon.native_deletions CASCADE")


@pytest.fixture
def keyed(spark: SparkSession, kept: str) -> Iterator[Sql]:
    """Runs statements beside the table ``t``."""
    spark.sql(f"USE {kept}")
    yield lambda text: [tuple(row) for row in spark.sql(text).collect()]
    spark.sql("USE paimon.default")


def _make(sql: Sql) -> None:
    """A table ``t`` of three partitions, two buckets each; a tenth of its rows were written anew, some deleted."""
    sql(
        "CREATE TABLE t (k INT, name STRING, n BIGINT, amount DECIMAL(20, 2), at TIMESTAMP, tags ARRAY<STRING>,"
        " more STRUCT<a: INT, b: MAP<STRING, DOUBLE>>, p STRING) PARTITIONED BY (p)"
        " TBLPROPERTIES ('primary-key' = 'k,p', 'bucket' = '2', 'deletion-vectors.enabled' = 'true')"
    )
    sql(f"INSERT INTO t {_rows('id', 'first', _ROWS)}")
    sql(f"INSERT INTO t {_rows('id * 10', 'second', _ROWS // 10)}")
    sql("CALL sys.create_tag('t', 'all')")
    sql("DELETE FROM t WHERE k % 11 = 5")


def _rows(key: str, name: str, count: int) -> str:
    return (
        f"SELECT CAST({key} AS INT), concat('{name} ', {key}), IF({key} % 7 = 0, NULL, {key} * 3),"
        f" CAST({key} AS DECIMAL(20, 2)), timestamp'2024-01-01 00:00:00' + make_interval(0, 0, 0, 0, 0, 0, {key}),"
        f" array('x', concat('y', {key})), named_struct('a', CAST({key} AS INT), 'b', map('z', CAST({key} AS DOUBLE))),"
        f" concat('p', {key} % 3) FROM range({count})"
    )


@pytest.fixture
def by_workers(spark: SparkSession) -> Iterator[Callable[[str], list[Row]]]:
    """Answers a query without rules of ours, that is by Python workers."""
    methods = spark._jsparkSession.sessionState().experimentalMethods()
    rules = methods.extraOptimizations()

    def answer(query: str) -> list[Row]:
        getattr(methods, "extraOptimizations_$eq")(rules.take(0))
        assert _NATIVE not in _plan(spark, query)
        found = spark.sql(query).collect()
        getattr(methods, "extraOptimizations_$eq")(rules)
        return found

    yield answer
    getattr(methods, "extraOptimizations_$eq")(rules)


def _plan(spark: SparkSession, query: str) -> str:
    return str(spark.sql(f"EXPLAIN {query}").collect()[0][0])


@pytest.mark.smoke
def test_what_was_written_anew_or_deleted_is_not_read_again(spark: SparkSession, keyed: Sql) -> None:
    assert _NATIVE in _plan(spark, "SELECT * FROM t")
    found = keyed("SELECT k, name FROM t")
    alive = [k for k in range(_ROWS) if k % 11 != 5]
    assert sorted(found) == [(k, f"{'second' if k % 10 == 0 else 'first'} {k}") for k in alive]
    assert keyed("SELECT count(*) FROM t") == [(len(alive),)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM t",
        "SELECT more.b['z'], tags[1], k FROM t WHERE more.a > 1000",
        "SELECT n FROM t WHERE n BETWEEN 300 AND 900 AND p = 'p1'",
        "SELECT p, count(*), sum(amount), max(name) FROM t WHERE n IS NOT NULL GROUP BY p",
        "SELECT count(*) FROM t WHERE name LIKE 'second%'",
        "SELECT count(*) FROM t WHERE p IN ('p0', 'p2')",
        "SELECT a.k, b.name FROM t a JOIN t b ON a.k = b.n WHERE a.p = 'p0'",
        "WITH c AS (SELECT k, n FROM t WHERE k < 700) SELECT x.k, y.n FROM c x LEFT JOIN c y ON x.k = y.n",
        "SELECT k FROM t WHERE k IN (SELECT n FROM t WHERE p = 'p0') AND k > (SELECT min(k) + 10 FROM t)",
        "SELECT k, (SELECT max(n) FROM t b WHERE b.k = a.k) FROM t a WHERE k < 90",
        "SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM t b WHERE b.n = t.k)",
        "SELECT k FROM t UNION ALL SELECT n FROM t WHERE n < 100",
        "SELECT k, row_number() OVER (PARTITION BY p ORDER BY k DESC) FROM t WHERE k < 200",
        "SELECT DISTINCT p FROM t",
        "SELECT k FROM t ORDER BY k DESC LIMIT 7",
        "SELECT 1 FROM t WHERE k < 40",
        "SELECT k, `__paimon_bucket` FROM t WHERE k < 40",
    ],
)
def test_both_ways_to_read_answer_alike(
    spark: SparkSession, keyed: Sql, by_workers: Callable[[str], list[Row]], query: str
) -> None:
    def in_order(rows: list[Row]) -> list[str]:
        return sorted(map(repr, rows))

    assert in_order(spark.sql(query).collect()) == in_order(by_workers(query))


def test_row_groups_that_are_left_out_do_not_shift_the_deleted_rows(spark: SparkSession, sql: Sql) -> None:
    sql(
        "CREATE TABLE t (k INT, v INT, pad STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1',"
        " 'deletion-vectors.enabled' = 'true', 'file.block-size' = '16 kb')"
    )
    sql("INSERT INTO t SELECT CAST(id AS INT), CAST(id AS INT), repeat(uuid(), 3) FROM range(3000)")
    sql("DELETE FROM t WHERE k % 2 = 0")
    query = "SELECT k FROM t WHERE v >= 2000 AND v < 2100"
    assert _NATIVE in _plan(spark, query)
    assert sorted(sql(query)) == [(k,) for k in range(2001, 2100, 2)]


def test_a_reader_that_knows_no_positions_is_not_chosen(spark: SparkSession, keyed: Sql) -> None:
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", "false")
    try:
        assert _NATIVE not in _plan(spark, "SELECT * FROM t")
        assert keyed("SELECT count(*) FROM t WHERE k % 11 = 5") == [(0,)]
    finally:
        spark.conf.unset("spark.sql.parquet.enableVectorizedReader")


def test_append_tables_and_wide_vectors_are_read_natively_too(spark: SparkSession, sql: Sql) -> None:
    sql(
        "CREATE TABLE t (a INT, b STRING)"
        " TBLPROPERTIES ('deletion-vectors.enabled' = 'true', 'deletion-vectors.bitmap64' = 'true')"
    )
    sql("INSERT INTO t SELECT CAST(id AS INT), concat('b', id) FROM range(1000)")
    sql("DELETE FROM t WHERE a % 3 = 0 OR a > 900")
    assert _NATIVE in _plan(spark, "SELECT * FROM t")
    assert sorted(sql("SELECT a FROM t")) == [(a,) for a in range(901) if a % 3]
    sql("INSERT INTO t VALUES (5000, 'new')")
    assert sql("SELECT count(*), max(a) FROM t") == [(len([a for a in range(901) if a % 3]) + 1, 5000)]


def test_columns_that_came_or_went_are_read_as_they_are_now(spark: SparkSession, sql: Sql) -> None:
    _make(sql)
    sql("ALTER TABLE t ADD COLUMN extra INT")
    sql("ALTER TABLE t DROP COLUMN tags")
    assert _NATIVE in _plan(spark, "SELECT * FROM t")
    assert sorted(sql("SELECT k, extra FROM t")) == [(k, None) for k in range(_ROWS) if k % 11 != 5]


def test_sessions_made_later_read_the_same(spark: SparkSession, keyed: Sql, kept: str) -> None:
    other = spark.newSession()
    query = f"SELECT count(*), sum(n) FROM {kept}.t WHERE name > ''"
    assert _NATIVE in str(other.sql(f"EXPLAIN {query}").collect()[0][0])
    assert [tuple(row) for row in other.sql(query).collect()] == keyed(query)


def test_frames_that_are_kept_or_written_hold_no_column_more(spark: SparkSession, keyed: Sql) -> None:
    frame = spark.table("t").filter("k < 100")
    columns = frame.columns
    cached = frame.cache()
    assert cached.columns == columns
    assert cached.count() == len([k for k in range(100) if k % 11 != 5])
    cached.unpersist()
    keyed("CREATE TABLE copied AS SELECT * FROM t")
    assert keyed("SELECT count(*) FROM copied") == keyed("SELECT count(*) FROM t")
    assert spark.table("copied").columns == columns
    keyed("DROP TABLE copied")


def test_an_older_state_has_the_rows_that_it_had(keyed: Sql) -> None:
    assert keyed("SELECT count(*) FROM t VERSION AS OF 'all' WHERE name > ''") == [(_ROWS,)]
