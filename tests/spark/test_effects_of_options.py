"""Options of splits and of commits, given for a table, a session and a statement through SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[object, ...]]]
_SMALL = "'source.split.target-size' = '1 b', 'source.split.open-file-cost' = '0 b'"


@pytest.fixture
def files(sql: Sql) -> Sql:
    """Statements with a table of six files."""
    sql("CREATE TABLE t (a INT)")
    for number in range(6):
        sql(f"INSERT INTO t VALUES ({number})")
    return sql


@pytest.fixture
def large(spark: SparkSession) -> Iterator[None]:
    """A session whose own settings let one task read everything."""
    given = {"spark.sql.files.maxPartitionBytes": "1g", "spark.sql.files.openCostInBytes": "1"}
    for key, value in given.items():
        spark.conf.set(key, value)
    yield
    for key in given:
        spark.conf.unset(key)


def tasks(spark: SparkSession, query: str) -> int:
    return spark.sql(query).rdd.getNumPartitions()


def test_the_size_of_splits_decides_how_many_tasks_read(files: Sql, spark: SparkSession) -> None:
    usual, hint = tasks(spark, "SELECT * FROM t"), f"/*+ OPTIONS({_SMALL}) */"
    assert usual < 6
    assert tasks(spark, f"SELECT * FROM t {hint}") == 6
    assert files(f"SELECT sum(a), count(*) FROM t {hint}") == [(15, 6)]
    files(f"ALTER TABLE t SET TBLPROPERTIES ({_SMALL})")
    assert tasks(spark, "SELECT * FROM t") == 6


def test_merging_workers_read_splits_of_that_size_too(sql: Sql, spark: SparkSession) -> None:
    sql(f"CREATE TABLE k (a INT, v INT) TBLPROPERTIES ('primary-key' = 'a', 'file.format' = 'orc', {_SMALL})")
    for number in range(3):
        sql(f"INSERT INTO k VALUES ({number}, 1)")
    assert tasks(spark, "SELECT * FROM k") == 3
    assert sql("SELECT * FROM k ORDER BY a") == [(0, 1), (1, 1), (2, 1)]


@pytest.mark.usefixtures("large")
def test_sparks_own_settings_hold_where_no_option_is_given(files: Sql, spark: SparkSession) -> None:
    assert tasks(spark, "SELECT * FROM t") <= 2
    spark.conf.set("spark.sql.files.maxPartitionBytes", "1")
    assert tasks(spark, "SELECT * FROM t") == 6
    assert tasks(spark, "SELECT * FROM t /*+ OPTIONS('source.split.target-size' = '1 gb') */") <= 2


def test_commit_users_bear_the_prefix_of_the_session(sql: Sql, spark: SparkSession) -> None:
    sql("CREATE TABLE t (a INT)")
    spark.conf.set("spark.paimon.commit.user-prefix", "etl")
    try:
        sql("INSERT INTO t VALUES (1)")
        sql("DELETE FROM t WHERE a = 1")
    finally:
        spark.conf.unset("spark.paimon.commit.user-prefix")
    sql("INSERT INTO t VALUES (2)")
    assert sql("SELECT commit_user LIKE 'etl\\_%' FROM `t$snapshots` ORDER BY snapshot_id") == [
        (True,),
        (True,),
        (False,),
    ]


def test_an_insert_of_no_rows_makes_a_snapshot_where_the_option_asks_for_one(files: Sql) -> None:
    files("INSERT INTO t SELECT a FROM t WHERE a > 100")
    assert files("SELECT count(*) FROM `t$snapshots`") == [(6,)]
    files("INSERT INTO t /*+ OPTIONS('snapshot.ignore-empty-commit' = 'false') */ SELECT a FROM t WHERE a > 100")
    assert files("SELECT snapshot_id, commit_kind FROM `t$snapshots` WHERE snapshot_id > 6") == [(7, "APPEND")]
    assert files("SELECT count(*) FROM t") == [(6,)]


def test_strict_mode_refuses_an_insert_after_the_overwrite_of_another(files: Sql) -> None:
    files("INSERT OVERWRITE t VALUES (1)")
    with pytest.raises(Exception, match=r"snapshot 7 of commit user .* \(OVERWRITE\) changed files of the table"):
        files("INSERT INTO t /*+ OPTIONS('commit.strict-mode.last-safe-snapshot' = '6') */ VALUES (2)")
    files("INSERT INTO t /*+ OPTIONS('commit.strict-mode.last-safe-snapshot' = '7') */ VALUES (2)")
    assert files("SELECT a FROM t ORDER BY a") == [(1,), (2,)]


def test_a_file_of_an_insert_holds_no_more_rows_than_asked_for(sql: Sql) -> None:
    sql("CREATE TABLE t (a BIGINT) TBLPROPERTIES ('target-file-row-num' = '40')")
    sql("INSERT INTO t SELECT id FROM range(0, 100, 1, 1)")
    assert sql("SELECT max(record_count), sum(record_count) FROM `t$files`") == [(40, 100)]


def test_dynamic_partition_columns_are_taken_last_where_the_session_says_so(sql: Sql) -> None:
    sql("CREATE TABLE h (p1 STRING, a INT, p2 STRING, b STRING) PARTITIONED BY (p1, p2)")
    sql("SET spark.paimon.write.hive-style-dynamic-partition.enabled = true")
    try:
        sql("INSERT INTO h PARTITION (p1, p2) SELECT 1, 'b', 'x', 'y'")
        sql("INSERT INTO h PARTITION (p1 = 's', p2) SELECT 2, 'b', 'y'")
        sql("WITH w AS (SELECT 3, 'b', 'p2', 'p1') INSERT INTO h PARTITION (p2, p1) SELECT * FROM w")
        sql("INSERT OVERWRITE TABLE h PARTITION (p1 = 's', p2) (SELECT 4, 'c', NULL)")
        sql("INSERT INTO h PARTITION (p1 = 's', p2) (b, a, p2) VALUES ('bb', 5, 'q')")
        sql("INSERT INTO h VALUES ('t', 6, 'u', 'v')")
        sql("INSERT INTO h PARTITION (p1 = 'k', p2 = 'l') VALUES (7, 'm')")
        sql("INSERT INTO h PARTITION (p1, p2) BY NAME SELECT 'n' p1, 'o' p2, 'p' b, 8 a")
        sql("INSERT INTO h PARTITION (p1, p2) SELECT 'q' AS p1, 10 AS a, 'r' AS P2, 's' AS b")
        sql("WITH w AS (SELECT 11 AS a, 't' AS p2, 'u' AS b) INSERT INTO h PARTITION (p1 = 'v', p2) SELECT * FROM w")
    finally:
        sql("RESET spark.paimon.write.hive-style-dynamic-partition.enabled")
    sql("INSERT INTO h PARTITION (p1, p2) SELECT 'p1', 9, 'p2', 'b'")
    assert sql("SELECT * FROM h ORDER BY a") == [
        ("x", 1, "y", "b"),
        ("p1", 3, "p2", "b"),
        ("s", 4, None, "c"),
        ("s", 5, "q", "bb"),
        ("t", 6, "u", "v"),
        ("k", 7, "l", "m"),
        ("n", 8, "o", "p"),
        ("p1", 9, "p2", "b"),
        ("q", 10, "r", "s"),
        ("v", 11, "t", "u"),
    ]


def test_a_query_of_all_partitions_is_refused_where_the_session_forbids_it(sql: Sql) -> None:
    sql("CREATE TABLE n (a INT)")
    sql("CREATE TABLE p (a INT, d STRING) PARTITIONED BY (d)")
    sql("INSERT INTO n VALUES (1)")
    sql("SET spark.paimon.read.allow.fullScan = false")
    try:
        assert sql("SELECT * FROM p") == []
        sql("INSERT INTO p VALUES (1, 'x'), (2, 'y')")
        for query in ("SELECT * FROM p", "SELECT * FROM p WHERE d > 'a'", "SELECT a, count(*) FROM p GROUP BY a"):
            with pytest.raises(Exception, match=r"Full scan is not supported\. The query would read all 2 files"):
                sql(query)
        assert sql("SELECT a FROM p WHERE d = 'x'") == [(1,)]
        assert sql("SELECT a FROM p /*+ OPTIONS('read.allow.fullScan' = 'true') */ ORDER BY a") == [(1,), (2,)]
        assert sql("SELECT count(*) FROM p") == [(2,)]
        assert sql("SELECT * FROM n") == [(1,)]
        assert sql("UPDATE p SET a = a + 1") == [(2,)]
    finally:
        sql("RESET spark.paimon.read.allow.fullScan")


def test_a_compaction_leaves_partitions_alone_whose_time_is_over(sql: Sql) -> None:
    sql(
        "CREATE TABLE c (a INT, d STRING) PARTITIONED BY (d) TBLPROPERTIES ('primary-key' = 'a,d', 'bucket' = '1',"
        " 'write-only' = 'true', 'partition.expiration-time' = '7 d', 'partition.timestamp-formatter' = 'yyyy-MM-dd')"
    )
    for a in range(2):
        sql(f"INSERT INTO c VALUES ({a}, '2020-01-01'), ({a}, '2999-01-01'), ({a}, 'none')")
    ask = "CALL sys.compact(table => 'c', options => 'compaction.skip-expired-partitions={}', dry_run => true)"
    assert [sql(ask.format(word))[0][1] for word in ("true", "false")] == [4, 6]
    sql("ALTER TABLE c SET TBLPROPERTIES ('partition.expiration-strategy' = 'update-time')")
    assert sql(ask.format("true"))[0][1] == 6


def test_what_has_no_effect_here_is_told_once_a_session(
    spark: SparkSession, sql: Sql, caplog: pytest.LogCaptureFixture
) -> None:
    def told() -> list[str]:
        found = [r.message for r in caplog.records if "has no effect here" in r.message]
        caplog.clear()
        return found

    sql("CREATE TABLE w (a INT) TBLPROPERTIES ('page-size' = '32 kb', 'mine' = 'x', 'file.format' = 'orc')")
    assert told() == ["The option 'page-size' has no effect here: it is kept for Java writers."]
    sql("ALTER TABLE w SET TBLPROPERTIES ('page-size' = '16 kb', 'sink.parallelism' = '3')")
    assert told() == ["The option 'sink.parallelism' has no effect here: it is kept for Flink."]
    sql("SELECT * FROM w /*+ OPTIONS('scan.parallelism' = '3', 'page-size' = '1 mb') */")
    assert told() == ["The option 'scan.parallelism' has no effect here: it is kept for Flink."]
    spark.createDataFrame([(1,)], "a INT").write.option("cache-page-size", "1 mb").insertInto("w")
    assert told() == ["The option 'cache-page-size' has no effect here: it is kept for Java writers."]
    sql("INSERT INTO w /*+ OPTIONS('cache-page-size' = '2 mb') */ VALUES (2)")
    assert told() == []
    database = sql("SELECT current_database()")[0][0]
    other = spark.newSession().sql(f"SELECT * FROM paimon.{database}.w /*+ OPTIONS('page-size' = '1 mb') */")
    assert len(other.collect()) == 2
    assert told() == ["The option 'page-size' has no effect here: it is kept for Java writers."]
    assert sql("SELECT * FROM w ORDER BY a") == [(1,), (2,)]
