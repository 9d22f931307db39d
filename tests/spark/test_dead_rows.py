"""Spark's own reader reads tables with deletion vectors and tables to be merged; dead rows stay dead."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row, SparkSession

from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.storage.read.deletion_mask import MaskedSplit, mask_of
from tests.spark.conftest import Sql, changed_settings

_NATIVE = "_tmp_metadata_row_index"
_ROWS = 4_000


@given(st.sets(st.integers(0, 500)))
def test_each_deleted_row_is_a_bit(positions: set[int]) -> None:
    bits = np.unpackbits(np.frombuffer(mask_of(DeletionVector(sorted(positions))), np.uint8), bitorder="little")
    assert set(np.flatnonzero(bits)) == positions
    assert len(bits) // 8 == (max(positions) // 8 + 1 if positions else 0)


_VECTORS = "'bucket' = '2', 'deletion-vectors.enabled' = 'true'"
_MERGED = "'bucket' = '2', 'num-sorted-run.compaction-trigger' = '20'"


@pytest.fixture(scope="module", params=[_VECTORS, _MERGED], ids=["vectors", "merged"])
def kept(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a database that stays for all tests here and whose table ``t`` no test changes."""
    spark.sql("CREATE DATABASE paimon.dead_rows")
    spark.sql("USE paimon.dead_rows")
    _make(lambda text: [tuple(row) for row in spark.sql(text).collect()], request.param)
    yield "paimon.dead_rows"
    spark.sql("DROP DATABASE paimon.dead_rows CASCADE")


@pytest.fixture
def keyed(spark: SparkSession, kept: str) -> Iterator[Sql]:
    """Runs statements beside the table ``t``."""
    spark.sql(f"USE {kept}")
    yield lambda text: [tuple(row) for row in spark.sql(text).collect()]
    spark.sql("USE paimon.default")


def _make(sql: Sql, options: str) -> None:
    """A table ``t`` of three partitions, two buckets each; a tenth of its rows were written anew, some deleted."""
    sql(
        "CREATE TABLE t (k INT, name STRING, n BIGINT, amount DECIMAL(20, 2), at TIMESTAMP, tags ARRAY<STRING>,"
        " more STRUCT<a: INT, b: MAP<STRING, DOUBLE>>, p STRING) PARTITIONED BY (p)"
        f" TBLPROPERTIES ('primary-key' = 'k,p', {options})"
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
        found: list[Row] = spark.sql(query).collect()
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
        "SELECT * FROM t WHERE k BETWEEN 100 AND 120 AND p = 'p1'",
        "SELECT * FROM t WHERE k IN (7, 70, 700, 5, 16) AND n > 3",
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


@pytest.fixture
def by_rows(spark: SparkSession) -> Iterator[None]:
    """Spark's reader returns rows, as it does for more than a hundred columns."""
    with changed_settings(spark, **{"spark.sql.codegen.wholeStage": "false"}):
        yield


@pytest.mark.smoke
@pytest.mark.parametrize("options", [_VECTORS, _MERGED], ids=["vectors", "merged"])
def test_more_than_a_hundred_columns_are_read_natively(spark: SparkSession, sql: Sql, options: str) -> None:
    columns = [f"c{i}" for i in range(120)]
    sql(
        f"CREATE TABLE wide (k INT, {', '.join(f'{c} BIGINT' for c in columns)})"
        f" TBLPROPERTIES ('primary-key' = 'k', {options})"
    )
    values = ", ".join(f"id + {i}" for i in range(120))
    sql(f"INSERT INTO wide SELECT CAST(id AS INT), {values} FROM range(100)")
    sql("DELETE FROM wide WHERE k % 10 = 5")
    for query in ("SELECT * FROM wide", "SELECT k, c7, c99 FROM wide WHERE c3 > 5"):
        assert _NATIVE in _plan(spark, query)
    assert sql("SELECT count(*), sum(k), sum(c7), sum(c119) FROM (SELECT * FROM wide)") == [(90, 4450, 5080, 15160)]
    assert len(sql("SELECT * FROM wide WHERE 100 / (k - 5) < 30 AND c1 > 3")) == 84
    assert sql("SELECT count(*) FROM (SELECT * FROM wide) a JOIN (SELECT * FROM wide) b ON a.k = b.c1") == [(79,)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM t",
        "SELECT n FROM t WHERE n BETWEEN 300 AND 900 AND p = 'p1'",
        "SELECT p, count(*), sum(amount), max(name) FROM t WHERE 10 / (k - 5) < 2 GROUP BY p",
        "WITH c AS (SELECT k, n FROM t WHERE k < 700) SELECT x.k, y.n FROM c x LEFT JOIN c y ON x.k = y.n",
        "SELECT a.k FROM t a JOIN t b ON a.k = b.n AND a.p = b.p WHERE b.name LIKE 'second 1%'",
        "SELECT k FROM t WHERE k IN (SELECT n FROM t WHERE p = 'p0') AND k > (SELECT min(k) + 10 FROM t)",
    ],
)
def test_readers_that_return_rows_answer_alike(
    spark: SparkSession, keyed: Sql, by_workers: Callable[[str], list[Row]], by_rows: None, query: str
) -> None:
    assert _NATIVE in _plan(spark, query)
    assert sorted(map(repr, spark.sql(query).collect())) == sorted(map(repr, by_workers(query)))


def test_rows_of_a_kept_plan_stay_right_when_runtime_filters_leave_other_files(
    spark: SparkSession, sql: Sql, by_rows: None
) -> None:
    _make(sql, _MERGED)
    frame = spark.sql(
        "SELECT a.k, a.p FROM t a JOIN (SELECT DISTINCT p FROM t WHERE k = rand() * 0 + 3) b ON a.p = b.p"
    )
    first = sorted(map(tuple, frame.collect()))
    assert first == [(k, "p0") for k in range(0, _ROWS, 3) if k % 11 != 5]
    assert sorted(map(tuple, frame.collect())) == first


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


@pytest.mark.parametrize("options", [_VECTORS, _MERGED], ids=["vectors", "merged"])
def test_columns_that_came_or_went_are_read_as_they_are_now(spark: SparkSession, sql: Sql, options: str) -> None:
    _make(sql, options)
    sql("ALTER TABLE t ADD COLUMN extra INT")
    sql("ALTER TABLE t DROP COLUMN tags")
    assert _NATIVE in _plan(spark, "SELECT * FROM t")
    assert sorted(sql("SELECT k, extra FROM t")) == [(k, None) for k in range(_ROWS) if k % 11 != 5]
    sql("INSERT INTO t (k, name, p, extra) VALUES (3, 'third', 'p0', 1)")
    assert sql("SELECT name, n, extra FROM t WHERE n IS NULL AND k < 7 AND k > 0") == [("third", None, 1)]


@pytest.mark.parametrize(
    ("options", "left"),
    [
        # A row of an older time does not replace a newer one.
        ("'sequence.field' = 'v'", [(1, 10), (2, 20), (3, 31)]),
        ("'sequence.field' = 'v', 'sequence.field.sort-order' = 'descending'", [(1, 9), (2, 20), (3, 30)]),
        ("'ignore-delete' = 'true'", [(1, 9), (2, 20), (3, 31)]),
        ("'rowkind.field' = 'kind'", [(1, 9), (3, 31)]),
        ("'file.compression' = 'zstd', 'write-only' = 'true'", [(1, 9), (2, 20), (3, 31)]),
    ],
)
def test_merging_finds_the_row_that_is_left(
    spark: SparkSession, sql: Sql, options: str, left: list[tuple[int, int]]
) -> None:
    sql(
        "CREATE TABLE t (k INT, v INT, kind STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1',"
        f" 'num-sorted-run.compaction-trigger' = '20', {options})"
    )
    sql("INSERT INTO t VALUES (1, 10, '+I'), (2, 20, '+I'), (3, 30, '+I')")
    sql("INSERT INTO t VALUES (1, 9, '+U'), (3, 31, '+I')")
    if "rowkind" in options:
        sql("INSERT INTO t VALUES (2, 20, '-D')")
    query = "SELECT k, v FROM t WHERE v > 0"
    assert _NATIVE in _plan(spark, query)
    assert sorted(sql(query)) == left
    assert sorted(sql(query)) == left


@pytest.mark.parametrize("engine", ["partial-update", "aggregation"])
def test_engines_that_make_rows_are_not_read_natively(spark: SparkSession, sql: Sql, engine: str) -> None:
    sql(
        "CREATE TABLE t (k INT, v INT)"
        f" TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1', 'merge-engine' = '{engine}')"
    )
    sql("INSERT INTO t VALUES (1, 10)")
    sql("INSERT INTO t VALUES (1, NULL), (2, 3)")
    query = "SELECT * FROM t WHERE v > 0"
    assert _NATIVE not in _plan(spark, query)
    assert sorted(sql(query)) == [(1, 10), (2, 3)]


def test_keys_of_several_columns_and_many_files_are_merged(spark: SparkSession, sql: Sql) -> None:
    sql(
        "CREATE TABLE t (a STRING, b DECIMAL(30, 3), c DATE, v INT) TBLPROPERTIES ('primary-key' = 'a,b,c',"
        " 'bucket' = '3', 'num-sorted-run.compaction-trigger' = '20', 'target-file-size' = '64 kb')"
    )
    expected: dict[int, int] = {}
    for turn in range(5):
        sql(
            "INSERT INTO t SELECT concat('ä', id % 50), CAST(id % 7 AS DECIMAL(30, 3)) / 8,"
            f" date'1500-01-01' + (id % 11), {turn}"
            f" FROM (SELECT CAST(id * {2 * turn + 1} AS INT) AS id FROM range(3000))"
        )
        expected |= {(i * (2 * turn + 1)) % (50 * 7 * 11): turn for i in range(3000)}
    query = "SELECT v, count(*) FROM t WHERE v >= 0 GROUP BY v"
    assert _NATIVE in _plan(spark, query)
    counts = {turn: list(expected.values()).count(turn) for turn in set(expected.values())}
    assert dict(sql(query)) == counts


def test_an_explained_query_merges_nothing(spark: SparkSession, keyed: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(merging: MaskedSplit) -> None:
        raise AssertionError

    monkeypatch.setattr(MaskedSplit, "masks", refuse)
    assert _NATIVE in _plan(spark, "SELECT name FROM t WHERE k > 17 AND k < 4000")


def test_a_query_that_wants_a_few_rows_does_not_wait_for_all(spark: SparkSession, sql: Sql) -> None:
    _make(sql, _MERGED)
    assert _NATIVE not in _plan(spark, "SELECT * FROM t LIMIT 3")
    assert len(sql("SELECT * FROM t LIMIT 3")) == 3


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


@pytest.mark.parametrize(
    "options", ["'bucket' = '1', 'write-only' = 'true'", "'bucket' = '1', 'deletion-vectors.enabled' = 'true'"]
)
def test_conditions_that_fail_for_some_values_do_not_see_dead_rows(spark: SparkSession, sql: Sql, options: str) -> None:
    sql(f"CREATE TABLE t (k INT, v INT, s STRING) TBLPROPERTIES ('primary-key' = 'k', {options})")
    sql("INSERT INTO t VALUES (1, 0, 'x'), (2, 5, '7'), (3, 0, 'y')")
    sql("INSERT INTO t VALUES (1, 4, '8'), (3, 2, '9')")
    for query, expected in (
        ("SELECT k FROM t WHERE 20 / v > 4", [(1,), (3,)]),
        ("SELECT k FROM t WHERE v < 5 AND 20 / v > 4 AND k > 1", [(3,)]),
        ("SELECT k FROM t WHERE CAST(s AS INT) > 7 AND s LIKE '%'", [(1,), (3,)]),
        ("SELECT a.k FROM t a JOIN t b ON a.k = b.k AND 20 / a.v > 4 AND b.v IN (2, 4)", [(1,), (3,)]),
    ):
        assert _NATIVE in _plan(spark, query)
        assert sorted(sql(query)) == expected


def test_the_querys_own_conditions_come_first_where_they_fail_for_no_values(spark: SparkSession, keyed: Sql) -> None:
    plan = _plan(spark, "SELECT k FROM t WHERE n > 3 AND name LIKE 'x%' AND 10 / n < 7")
    ((condition,),) = [[line.split("Filter ", 1)[1]] for line in plan.splitlines() if "Filter " in line]
    marked = condition.index("__paimon_dead_rows")
    assert max(condition.rindex(text) for text in ("StartsWith", "> 3")) < marked < condition.index("< 7")


def test_rows_that_are_not_dead_are_counted_without_reading(spark: SparkSession, keyed: Sql) -> None:
    alive = [k for k in range(_ROWS) if k % 11 != 5]
    for where, expected in (("", alive), (" WHERE p = 'p1'", [k for k in alive if k % 3 == 1])):
        query = f"SELECT count(*) FROM t{where}"
        assert _NATIVE not in _plan(spark, query)
        assert keyed(query) == [(len(expected),)]
    assert keyed("SELECT count(*) FROM t VERSION AS OF 'all'") == [(_ROWS,)]
