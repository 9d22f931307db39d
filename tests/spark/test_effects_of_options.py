"""Options of splits and of commits, given for a table, a session and a statement through SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

import paimon_sql
from paimon_sql.errors import CommitConflictError
from paimon_sql.spark.row_level import run
from paimon_sql.spark.write import job
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.format_tables import partitions
from paimon_sql.storage.statements import retries

Sql = Callable[[str], list[tuple[Any, ...]]]
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
    return int(spark.sql(query).rdd.getNumPartitions())


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
    assert told() == ["The option 'page-size' has no effect here: it is kept for Java engines."]
    sql("ALTER TABLE w SET TBLPROPERTIES ('page-size' = '16 kb', 'sink.parallelism' = '3')")
    assert told() == ["The option 'sink.parallelism' has no effect here: it is kept for Flink."]
    sql("SELECT * FROM w /*+ OPTIONS('scan.parallelism' = '3', 'page-size' = '1 mb') */")
    assert told() == ["The option 'scan.parallelism' has no effect here: it is kept for Flink."]
    spark.createDataFrame([(1,)], "a INT").write.option("cache-page-size", "1 mb").insertInto("w")
    assert told() == ["The option 'cache-page-size' has no effect here: it is kept for Java engines."]
    sql("INSERT INTO w /*+ OPTIONS('cache-page-size' = '2 mb') */ VALUES (2)")
    assert told() == []
    database = sql("SELECT current_database()")[0][0]
    other = spark.newSession().sql(f"SELECT * FROM paimon.{database}.w /*+ OPTIONS('page-size' = '1 mb') */")
    assert len(other.collect()) == 2
    assert told() == ["The option 'page-size' has no effect here: it is kept for Java engines."]
    assert sql("SELECT * FROM w ORDER BY a") == [(1,), (2,)]


def test_columns_that_are_not_read_do_not_count_where_the_session_says_so(sql: Sql, spark: SparkSession) -> None:
    sql("CREATE TABLE t (a INT, b BINARY, c BINARY) TBLPROPERTIES ('source.split.open-file-cost' = '0 b')")
    for number in range(6):
        sql(f"INSERT INTO t VALUES ({number}, X'00', X'01')")
    (size,) = sql("SELECT max(file_size_in_bytes) FROM `t$files`")[0]
    hint = f"/*+ OPTIONS('source.split.target-size' = '{int(str(size)) + 1} b'{{}}) */"
    pruned = hint.format(", 'source.split.target-size-with-column-pruning' = 'true'")
    assert tasks(spark, f"SELECT a FROM t {hint.format('')}") == 6
    assert tasks(spark, f"SELECT a FROM t {pruned}") <= 2
    assert tasks(spark, f"SELECT * FROM t {pruned}") == 6
    assert sql(f"SELECT sum(a) FROM t {pruned}") == [(15,)]


def test_partitions_are_read_in_their_order_where_the_option_says_so(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT, d INT, s STRING) PARTITIONED BY (d, s)")
    for number in (10, 2, 33, 2, 1):
        sql(f"INSERT INTO t VALUES ({number}, {number}, 'y'), ({number}, {number}, 'x')")
    sql("INSERT INTO t VALUES (0, NULL, 'x')")
    hint = "/*+ OPTIONS('scan.plan-sort-partition' = 'true') */"
    found = sql(f"SELECT d, s FROM t {hint}")
    assert found == sorted(found, key=lambda row: (row[0] is not None, row[0] or 0, row[1]))
    assert len(found) == 11


@pytest.mark.parametrize("strategy", ["HASH", "partition_dynamic"])
def test_the_rows_of_a_partition_come_to_one_writer_where_the_option_says_so(
    sql: Sql, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    monkeypatch.setattr(job, "fits_one_task", lambda *_: False)
    for name, options in (("apart", ""), ("together", f"TBLPROPERTIES ('partition.sink-strategy' = '{strategy}')")):
        sql(f"CREATE TABLE {name} (a BIGINT, p BIGINT) PARTITIONED BY (p) {options}")
        sql(f"INSERT INTO {name} SELECT id, id % 3 FROM range(0, 60000, 1, 4)")
        assert sql(f"SELECT count(*), sum(a) FROM {name}") == [(60000, 1799970000)]
    assert sql("SELECT count(*) > 3 FROM `apart$files`") == [(True,)]
    assert sql("SELECT count(*) FROM `together$files`") == [(3,)]


def test_deletion_vectors_are_parted_into_files_of_that_size(sql: Sql) -> None:
    sql(
        "CREATE TABLE t (a INT) TBLPROPERTIES ('deletion-vectors.enabled' = 'true',"
        " 'deletion-vector.index-file.target-size' = '1 b', 'compaction.min.file-num' = '100')"
    )
    for start in (0, 100, 200):
        sql(f"INSERT INTO t SELECT cast(id AS INT) FROM range({start}, {start + 100}, 1, 1)")
    sql("DELETE FROM t WHERE a % 10 = 3")
    files = "SELECT count(*) FROM `t$table_indexes` WHERE index_type = 'DELETION_VECTORS'"
    assert sql(files) == [(3,)]
    sql("DELETE FROM t WHERE a = 5")
    assert sql(files) == [(3,)]
    assert sql("SELECT count(*), sum(a) FROM t") == [(269, 40405)]
    sql("ALTER TABLE t SET TBLPROPERTIES ('deletion-vector.index-file.target-size' = '1 mb')")
    sql("DELETE FROM t WHERE a % 10 = 4")
    assert sql(files) == [(1,)]
    assert sql("SELECT count(*) FROM t") == [(239,)]


def test_a_catalog_may_have_another_default_database(spark: SparkSession, tmp_path: Path) -> None:
    paimon_sql.install(spark, {"elsewhere": {"warehouse": str(tmp_path), "defaultDatabase": "main_db"}})
    try:
        spark.sql("USE elsewhere")
        assert [r[1] for r in spark.sql("SHOW CURRENT NAMESPACE").collect()] == ["main_db"]
        spark.sql("CREATE TABLE t (a INT)")
        spark.sql("INSERT INTO t VALUES (1)")
        assert [tuple(r) for r in spark.sql("SELECT * FROM elsewhere.main_db.t").collect()] == [(1,)]
        assert [r[0] for r in spark.sql("SHOW DATABASES IN elsewhere").collect()] == ["main_db"]
    finally:
        spark.sql("USE paimon.default")


def test_a_change_of_columns_is_tried_as_often_as_the_session_says(sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    sql("CREATE TABLE t (a INT, b INT) TBLPROPERTIES ('row-tracking.enabled'='true', 'data-evolution.enabled'='true')")
    sql("INSERT INTO t VALUES (1, 1)")
    tried: list[float] = []

    def fail(*_: object) -> None:
        tried.append(0)
        raise CommitConflictError("a rival was first")

    monkeypatch.setattr(run, "change_columns", fail)
    waited: list[float] = []
    monkeypatch.setattr(retries, "time", SimpleNamespace(sleep=waited.append))
    most = "write.data-evolution.update-conflict-retry.max-attempts"
    wait = "write.data-evolution.update-conflict-retry.wait-ms"
    for settings, attempts in (({}, 8), ({most: "3", wait: "250"}, 3), ({wait: "5"}, 20)):
        tried.clear()
        waited.clear()
        hint = ", ".join(f"'{key}' = '{value}'" for key, value in settings.items())
        with pytest.raises(Exception, match="a rival was first"):
            sql(f"UPDATE t {f'/*+ OPTIONS({hint}) */' if hint else ''} SET b = 2")
        assert (len(tried), len(waited)) == (attempts, attempts - 1)
        if wait in settings:
            assert set(waited) == {int(settings[wait]) / 1000}
    assert sql("SELECT b FROM t") == [(1,)]


def test_deletes_of_whole_partitions_are_told_by_the_changelog_where_asked_for(sql: Sql) -> None:
    for name, asked in (("told", "true"), ("untold", "false")):
        sql(
            f"CREATE TABLE {name} (a INT NOT NULL, p STRING NOT NULL) PARTITIONED BY (p) TBLPROPERTIES ('primary-key' ="
            f" 'a,p', 'bucket' = '1', 'changelog-producer' = 'input', 'delete.force-produce-changelog' = '{asked}')"
        )
        sql(f"INSERT INTO {name} VALUES (1, 'x'), (2, 'x'), (3, 'y')")
        sql(f"DELETE FROM {name} WHERE p = 'x'")
        assert sql(f"SELECT * FROM {name}") == [(3, "y")]
    count = "SELECT max(changelog_record_count) FROM `{}$snapshots` WHERE snapshot_id = 2"
    assert sql(count.format("told")) == [(2,)]
    assert sql(count.format("untold")) != [(2,)]


@pytest.mark.parametrize(("strategy", "kept"), [("merge", 2), ("ignore", 1), ("error", None)])
def test_nested_rows_with_nulls_in_their_key_go_as_the_option_says(sql: Sql, strategy: str, kept: int | None) -> None:
    sql(
        "CREATE TABLE t (id INT NOT NULL, r ARRAY<STRUCT<k: INT, v: STRING>>) TBLPROPERTIES ('primary-key' = 'id',"
        " 'bucket' = '1', 'merge-engine' = 'aggregation', 'fields.r.aggregate-function' = 'nested_update',"
        f" 'fields.r.nested-key' = 'k', 'fields.r.nested-key-null-strategy' = '{strategy}')"
    )

    def insert_and_count() -> list[tuple[Any, ...]]:
        sql("INSERT INTO t VALUES (1, array(named_struct('k', 1, 'v', 'a')))")
        sql("INSERT INTO t VALUES (1, array(named_struct('k', CAST(NULL AS INT), 'v', 'b')))")
        return sql("SELECT size(r) FROM t")

    if kept is None:
        with pytest.raises(Exception, match="null"):
            insert_and_count()
    else:
        assert insert_and_count() == [(kept,)]


@pytest.mark.parametrize(
    ("file_format", "option"),
    [("csv", "csv.line-delimiter"), ("json", "json.line-delimiter"), ("text", "text.line-delimiter")],
)
def test_rows_of_plain_files_end_as_the_option_says(sql: Sql, tmp_path: Path, file_format: str, option: str) -> None:
    columns = "s STRING" if file_format == "text" else "s STRING, n INT"
    sql(
        f"CREATE TABLE f ({columns}) TBLPROPERTIES ('type' = 'format-table', 'file.format' = '{file_format}',"
        f" 'path' = '{tmp_path / 'files'}', '{option}' = '|')"
    )
    values = "('a'), ('b')" if file_format == "text" else "('a', 1), ('b', 2)"
    sql(f"INSERT INTO f VALUES {values}")
    assert sql("SELECT s FROM f ORDER BY s") == [("a",), ("b",)]
    written = [p.read_text() for p in (tmp_path / "files").iterdir() if p.is_file() and p.name[0] not in "._"]
    assert any("|" in text for text in written) and not any("\n" in text for text in written)


def test_folders_of_a_format_table_are_listed_by_so_many_threads(
    sql: Sql, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def counted(look: Callable[[object], object], items: object, threads: int) -> list[object]:
        asked.append(threads)
        return map_in_threads(look, items, threads)  # type: ignore[arg-type]

    sql(
        "CREATE TABLE f (s STRING, p INT) PARTITIONED BY (p) TBLPROPERTIES ('type' = 'format-table', 'file.format' ="
        f" 'parquet', 'path' = '{tmp_path / 'files'}', 'format-table.scan.list-parallelism' = '7')"
    )
    sql("INSERT INTO f VALUES ('a', 1), ('b', 2)")
    monkeypatch.setattr(partitions, "map_in_threads", counted)
    assert sql("SELECT * FROM f ORDER BY p") == [("a", 1), ("b", 2)]
    assert set(asked) == {7}


@pytest.mark.parametrize(("escape", "stored"), [("^", '^"'), ("\\\\", '\\"')])
def test_signs_in_csv_files_are_escaped_as_the_option_says(sql: Sql, tmp_path: Path, escape: str, stored: str) -> None:
    sql(
        "CREATE TABLE f (s STRING) TBLPROPERTIES ('type' = 'format-table', 'file.format' = 'csv',"
        f" 'csv.escape-character' = '{escape}', 'path' = '{tmp_path / 'files'}')"
    )
    sql("INSERT INTO f VALUES ('a\"b, c')")
    assert sql("SELECT * FROM f") == [('a"b, c',)]
    (text,) = [p.read_text() for p in (tmp_path / "files").iterdir() if p.is_file() and p.name[0] not in "._"]
    assert stored in text
