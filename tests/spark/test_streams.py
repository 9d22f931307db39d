"""Structured Streaming: tables as sinks, whose micro-batches are committed once, and as sources."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from paimon_sql.storage.commit.snapshot import carried_properties

Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Callable[[int, int], DataFrame]:
    """Adds rows ``(k, v)`` of a range to a folder, and gives the stream of all that is in it."""

    def add(first: int, end: int) -> DataFrame:
        rows = spark.range(first, end).selectExpr("CAST(id AS INT) k", "concat('v', id) v")
        rows.coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))
        return spark.readStream.schema("k INT, v STRING").parquet(str(tmp_path / "in"))

    return add


def written(stream: DataFrame, table: str, checkpoint: Path, mode: str = "append", **options: str) -> StreamingQuery:
    """The query that has written all there was of a stream to a table."""
    writer = stream.writeStream.options(checkpointLocation=str(checkpoint), **options).outputMode(mode)
    query = writer.trigger(availableNow=True).toTable(table)
    query.awaitTermination()
    return query


def read(spark: SparkSession, table: str, checkpoint: Path, **options: str) -> list[list[tuple[Any, ...]]]:
    """The rows of each micro-batch until there are no more."""
    batches: list[list[tuple[Any, ...]]] = []
    reader = spark.readStream
    for key, value in options.items():
        reader = reader.option(key.replace("__", "-").replace("_", "."), value)

    def keep(rows: DataFrame, _: int) -> None:
        batches.append(sorted(map(tuple, rows.collect())))

    writer = reader.table(table).writeStream.option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).foreachBatch(keep).start().awaitTermination()
    return [batch for batch in batches if batch]


def test_a_stream_brings_columns_where_the_table_lets_it(
    sql: Sql, spark: SparkSession, feed: Callable[[int, int], DataFrame], tmp_path: Path
) -> None:
    sql("CREATE TABLE t (k INT, r STRUCT<a: INT>) WITH ('primary-key' = 'k', 'bucket' = '2')")
    rows = feed(0, 2).selectExpr("k", "v", "named_struct('b', v, 'a', k) AS r")
    with pytest.raises(StreamingQueryException, match=r"has no column v.*write\.merge-schema"):
        written(rows, "t", tmp_path / "refused")
    sql("ALTER TABLE t SET TBLPROPERTIES ('write.merge-schema' = 'true')")
    written(rows, "t", tmp_path / "c")
    assert sql("SELECT k, r.a, r.b, v FROM t ORDER BY k") == [(0, 0, "v0", "v0"), (1, 1, "v1", "v1")]
    before = sql("SELECT max(schema_id) FROM t$schemas")
    rows = feed(2, 3).selectExpr("k", "v", "named_struct('b', v, 'a', k) AS r")
    written(rows, "t", tmp_path / "c")
    assert sql("SELECT count(*), count(v) FROM t") == [(3, 3)]
    assert sql("SELECT max(schema_id) FROM t$schemas") == before
    written(feed(3, 4).select("k"), "t", tmp_path / "d", **{"write.merge-schema": "false"})  # all of it anew
    assert sql("SELECT count(*), count(v) FROM t") == [(4, 0)]


@pytest.mark.smoke
def test_a_stream_goes_on_where_it_was(sql: Sql, feed: Callable[[int, int], DataFrame], tmp_path: Path) -> None:
    sql("CREATE TABLE t (v STRING, k INT, n INT DEFAULT 7, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '2')")
    written(feed(0, 10), "t", tmp_path / "cp")
    written(feed(5, 15), "t", tmp_path / "cp")
    assert sql("SELECT count(*), min(v), max(k), sum(n) FROM t") == [(15, "v0", 14, 105)]
    snapshots = sql("SELECT commit_user, commit_identifier, commit_kind FROM t$snapshots ORDER BY snapshot_id")
    assert len({user for user, *_ in snapshots}) == 1
    assert [rest for _, *rest in snapshots] == [[0, "APPEND"], [1, "APPEND"]]


@pytest.mark.parametrize(
    "made",
    [
        "(k INT, v STRING)",
        "(k INT, v STRING, p INT DEFAULT 1, PRIMARY KEY (k) NOT ENFORCED) PARTITIONED BY (p) WITH ('bucket' = '-1')",
        "(k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '-2')",
        "(k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '2', 'changelog-producer' = 'lookup')",
    ],
)
def test_a_micro_batch_that_was_committed_is_not_committed_again(
    sql: Sql, feed: Callable[[int, int], DataFrame], tmp_path: Path, made: str
) -> None:
    sql(f"CREATE TABLE t {made}")
    for first in (0, 10, 20):
        written(feed(first, first + 10), "t", tmp_path / "cp")
    sql("CALL sys.compact(table => 't')")
    before = sql("SELECT * FROM t ORDER BY k")
    # The stream ended behind the commit, before it could say so in its checkpoint.
    for name in ("2", ".2.crc"):
        (tmp_path / "cp" / "commits" / name).unlink(missing_ok=True)
    written(feed(30, 32), "t", tmp_path / "cp")
    sql("CALL sys.compact(table => 't')")
    after = sql("SELECT * FROM t ORDER BY k")
    assert len(before) == 30 and after[:30] == before and [row[0] for row in after[30:]] == [30, 31]


def test_a_stream_of_a_process_that_is_killed_behind_its_commit_delivers_each_row_once(
    spark: SparkSession, sql: Sql, feed: Callable[[int, int], DataFrame], tmp_path: Path
) -> None:
    sql("CREATE TABLE t (k INT, v STRING)")
    feed(0, 10)
    database = sql("SELECT current_database()")[0][0]
    program = f"""
        import os
        import paimon_sql
        from paimon_sql.storage.commit.transaction import Transaction

        commit = Transaction.commit

        def commit_and_die(self, *given, **named):
            commit(self, *given, **named)
            os._exit(9)

        Transaction.commit = commit_and_die
        spark = paimon_sql.connect({str(spark.conf.get("spark.sql.catalog.paimon.warehouse"))!r}, **{{
            "spark.master": "local[1]", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1"}})
        rows = spark.readStream.schema("k INT, v STRING").parquet({str(tmp_path / "in")!r})
        writer = rows.writeStream.option("checkpointLocation", {str(tmp_path / "cp")!r})
        writer.trigger(availableNow=True).toTable("paimon.{database}.t").awaitTermination()
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, timeout=120)
    assert run.returncode == 9, run.stderr.decode()[-2000:]
    assert sql("SELECT count(*) FROM t") == [(10,)]
    written(feed(10, 12), "t", tmp_path / "cp")
    assert sql("SELECT count(*), count(DISTINCT k) FROM t") == [(12, 12)]


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots carry nothing on, as those of other engines; clocks are exact."""
    monkeypatch.setattr("paimon_sql.storage.commit.snapshot.manifests.carried_properties", lambda *given: {})
    monkeypatch.setattr(carried_properties, "_SKEW_MILLIS", 0)


def expired_behind_others(sql: Sql, table: str) -> None:
    """Let snapshots of other writers follow, and all before them expire."""
    for number in range(-3, 0):
        sql(f"INSERT INTO {table} VALUES ({number}, 'other')")
    sql(f"CALL sys.expire_snapshots(table => '{table}', retain_max => 1, retain_min => 1)")


def test_a_new_stream_begins_on_a_table_whose_snapshots_have_expired(
    forgetful: None, sql: Sql, feed: Callable[[int, int], DataFrame], tmp_path: Path
) -> None:
    sql("CREATE TABLE t (k INT, v STRING)")
    expired_behind_others(sql, "t")
    written(feed(0, 10), "t", tmp_path / "cp")
    written(feed(10, 12), "t", tmp_path / "cp")
    assert sql("SELECT count(*) FROM t WHERE k >= 0") == [(12,)]


@pytest.mark.parametrize(("said", "rows"), [("skip", 12), ("commit", 22)])
def test_a_stream_whose_snapshots_have_expired_asks_before_it_repeats_a_micro_batch(
    forgetful: None, sql: Sql, feed: Callable[[int, int], DataFrame], tmp_path: Path, said: str, rows: int
) -> None:
    sql("CREATE TABLE t (k INT, v STRING)")
    written(feed(0, 10), "t", tmp_path / "cp")
    expired_behind_others(sql, "t")
    for name in ("0", ".0.crc"):
        (tmp_path / "cp" / "commits" / name).unlink(missing_ok=True)
    stream = feed(10, 12)
    with pytest.raises(StreamingQueryException, match=r"whether micro-batch 0 of stream .* is not known"):
        written(stream, "t", tmp_path / "cp")
    assert sql("SELECT count(*) FROM t WHERE k >= 0") == [(10,)]
    written(stream, "t", tmp_path / "cp", **{"write.stream.unknown-epoch": said})
    assert sql("SELECT count(*) FROM t WHERE k >= 0") == [(rows,)]
    written(feed(12, 13), "t", tmp_path / "cp", **{"write.stream.unknown-epoch": said})
    assert sql("SELECT count(*) FROM t WHERE k >= 0") == [(rows + 1,)]


def test_whole_results_replace_each_other(sql: Sql, feed: Callable[[int, int], DataFrame], tmp_path: Path) -> None:
    sql("CREATE TABLE t (g INT, n BIGINT)")
    for first in (0, 10):
        counts = feed(first, first + 10).selectExpr("k % 2 AS g").groupBy("g").count()
        written(counts.withColumnRenamed("count", "n"), "t", tmp_path / "cp", "complete")
    assert sql("SELECT * FROM t ORDER BY g") == [(0, 10), (1, 10)]
    with pytest.raises(Exception, match=r"(?i)update"):
        written(feed(20, 21), "t", tmp_path / "other", "update")


def test_columns_that_a_table_lacks_are_refused_and_nothing_is_written(
    sql: Sql, feed: Callable[[int, int], DataFrame], tmp_path: Path
) -> None:
    sql("CREATE TABLE t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1')")
    with pytest.raises(Exception, match=r"no column strange.*matched by name"):
        written(feed(0, 5).selectExpr("k", "v AS strange"), "t", tmp_path / "cp")
    with pytest.raises(Exception, match=r"(?i)null"):
        written(feed(0, 5).selectExpr("nullif(k, 3) AS k", "v"), "t", tmp_path / "cp2")
    assert sql("SELECT count(*) FROM t") == [(0,)]
    assert sql("SELECT count(*) FROM t$snapshots") == [(0,)]


@pytest.mark.smoke
def test_a_stream_reads_the_table_first_and_then_what_comes(spark: SparkSession, sql: Sql, tmp_path: Path) -> None:
    sql("CREATE TABLE t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '2')")
    sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    sql("INSERT INTO t VALUES (2, 'B'), (3, 'c')")
    assert read(spark, "t", tmp_path / "cp") == [[(1, "a"), (2, "B"), (3, "c")]]
    assert read(spark, "t", tmp_path / "cp") == []
    sql("INSERT INTO t VALUES (4, 'd')")
    sql("CALL sys.compact(table => 't')")
    sql("ALTER TABLE t ADD COLUMN n INT")
    sql("INSERT INTO t VALUES (5, 'e', 5)")
    assert read(spark, "t", tmp_path / "cp") == [[(4, "d", None), (5, "e", 5)]]


def test_a_stream_begins_where_it_is_told(spark: SparkSession, sql: Sql, tmp_path: Path) -> None:
    sql("CREATE TABLE t (k INT)")
    for k in (1, 2, 3):
        sql(f"INSERT INTO t VALUES ({k})")
    ((time,),) = sql(
        "SELECT date_format(commit_time, 'yyyy-MM-dd HH:mm:ss.SSS') FROM t$snapshots WHERE snapshot_id = 3"
    )
    starts: dict[str, dict[str, str]] = {
        "from": {"scan_snapshot__id": "2"},
        "full": {"scan_mode": "from-snapshot-full", "scan_snapshot__id": "2"},
        "time": {"scan_timestamp": str(time)},
        "latest": {"scan_mode": "latest"},
        "latest-full": {"scan_mode": "latest-full"},
    }
    found = {name: read(spark, "t", tmp_path / name, **options) for name, options in starts.items()}
    assert found == {
        "from": [[(2,), (3,)]],
        "full": [[(1,), (2,), (3,)]],
        "time": [[(3,)]],
        "latest": [],
        "latest-full": [[(1,), (2,), (3,)]],
    }
    sql("INSERT INTO t VALUES (4)")
    assert read(spark, "t", tmp_path / "latest", **starts["latest"]) == [[(4,)]]
    with pytest.raises(Exception, match="needs scan"):
        read(spark, "t", tmp_path / "none", scan_mode="from-snapshot")


def test_limits_cut_a_stream_into_steps(spark: SparkSession, sql: Sql, tmp_path: Path) -> None:
    sql("CREATE TABLE t (k INT)")
    for k in range(4):
        sql(f"INSERT INTO t VALUES ({2 * k}), ({2 * k + 1})")
    begin = {"scan_snapshot__id": "1", "scan_mode": "from-snapshot"}
    steps = [[(0,), (1,)], [(2,), (3,)], [(4,), (5,)], [(6,), (7,)]]
    assert read(spark, "t", tmp_path / "a", read_stream_maxFilesPerTrigger="1", **begin) == steps
    assert read(spark, "t", tmp_path / "b", read_stream_maxBytesPerTrigger="1", **begin) == steps
    halves = [steps[0] + steps[1], steps[2] + steps[3]]
    assert read(spark, "t", tmp_path / "c", read_stream_maxRowsPerTrigger="3", **begin) == halves


def test_changes_come_with_their_kinds(spark: SparkSession, sql: Sql, tmp_path: Path) -> None:
    sql(
        "CREATE TABLE t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED)"
        " WITH ('bucket' = '1', 'changelog-producer' = 'lookup')"
    )
    sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    sql("UPDATE t SET v = 'A' WHERE k = 1")
    sql("DELETE FROM t WHERE k = 2")
    begin = {"scan_snapshot__id": "1", "scan_mode": "from-snapshot"}
    changes = [("+I", 1, "a"), ("+I", 2, "b"), ("+U", 1, "A"), ("-D", 2, "b"), ("-U", 1, "a")]
    assert read(spark, "t$audit_log", tmp_path / "a", **begin) == [changes]
    if tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 3):  # older ones do not tell a catalog
        for option in ("read_changelog", "readChangeFeed"):
            assert read(spark, "t", tmp_path / option, **begin, **{option: "true"}) == [changes]
    assert read(spark, "t", tmp_path / "b", **begin) == [[(1, "A"), (1, "a"), (2, "b")]]


def test_a_changelog_replayed_onto_a_copy_gives_the_same_table(spark: SparkSession, sql: Sql, tmp_path: Path) -> None:
    options = "'bucket' = '2', 'changelog-producer' = 'lookup'"
    sql(f"CREATE TABLE t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ({options})")
    sql("CREATE TABLE c (k INT, v STRING, op STRING, PRIMARY KEY (k) NOT ENFORCED)"
        " WITH ('bucket' = '1', 'rowkind.field' = 'op')")  # fmt: skip
    for n in range(3):
        sql(f"INSERT INTO t SELECT CAST(id AS INT), '{n}' FROM range({5 * n}, {5 * n + 10})")
        sql(f"DELETE FROM t WHERE k % 7 = {n}")
        changes = spark.readStream.table("t$audit_log").selectExpr("k", "v", "rowkind AS op").filter("op <> '-U'")
        written(changes, "c", tmp_path / "cp")
        assert sql("SELECT k, v FROM c ORDER BY k") == sql("SELECT * FROM t ORDER BY k")


def test_a_consumer_keeps_what_a_stream_has_not_read(spark: SparkSession, sql: Sql, tmp_path: Path) -> None:
    sql("CREATE TABLE t (k INT)")
    for k in (1, 2, 3):
        sql(f"INSERT INTO t VALUES ({k})")
    begin = {"scan_snapshot__id": "1", "scan_mode": "from-snapshot", "consumer__id": "me"}
    read(spark, "t", tmp_path / "cp", read_stream_maxFilesPerTrigger="1", **begin)
    # Spark tells what is done when it begins with what comes next.
    assert sql("SELECT * FROM t$consumers") == [("me", 3)]
    sql("CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1)")
    assert sql("SELECT min(snapshot_id) FROM t$snapshots") == [(3,)]
    assert read(spark, "t", tmp_path / "other", **begin) == [[(3,)]]


def test_a_stream_that_missed_snapshots_says_so(spark: SparkSession, sql: Sql, tmp_path: Path) -> None:
    sql("CREATE TABLE t (k INT)")
    sql("INSERT INTO t VALUES (1)")
    assert read(spark, "t", tmp_path / "cp") == [[(1,)]]
    for k in (2, 3, 4):
        sql(f"INSERT INTO t VALUES ({k})")
    sql("CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1)")
    with pytest.raises(Exception, match="changes of snapshot 2 are not known any more"):
        read(spark, "t", tmp_path / "cp")


@pytest.mark.smoke
def test_a_stream_writes_texts_of_a_given_length(
    sql: Sql, feed: Callable[[int, int], DataFrame], tmp_path: Path
) -> None:
    columns = "k INT, v CHAR(3), w VARCHAR(4), s STRUCT<a: ARRAY<CHAR(2)>>, d CHAR(2) DEFAULT 'd'"
    sql(f"CREATE TABLE t ({columns}, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1', 'file.format' = 'orc')")
    written(feed(0, 2).selectExpr("k", "v", "v AS w", "struct(array('a') AS a) AS s"), "t", tmp_path / "cp")
    sql("INSERT INTO t VALUES (1, 'x', 'y', struct(array('b')), 'e')")
    wanted = [(0, "v0 ", "v0", (["a "],), "d "), (1, "x  ", "y", (["b "],), "e ")]
    assert sorted(sql("SELECT * FROM t")) == wanted


def test_a_stream_with_texts_that_are_too_long_is_refused_and_writes_nothing(
    sql: Sql, feed: Callable[[int, int], DataFrame], tmp_path: Path
) -> None:
    sql("CREATE TABLE t (k INT, v VARCHAR(2))")
    with pytest.raises(StreamingQueryException, match="EXCEED_LIMIT_LENGTH"):
        written(feed(9, 11), "t", tmp_path / "cp")
    assert sql("SELECT count(*) FROM t") == [(0,)]


@pytest.mark.parametrize("producer", ["none", "full-compaction"])
def test_every_so_many_micro_batches_compact_fully(
    sql: Sql, feed: Callable[[int, int], DataFrame], tmp_path: Path, producer: str
) -> None:
    sql(
        "CREATE TABLE t (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1',"
        f" 'full-compaction.delta-commits' = '2', 'changelog-producer' = '{producer}')"
    )
    kinds = []
    for i in range(4):
        written(feed(i, i + 1), "t", tmp_path / "checkpoint")
        kinds.append(sql("SELECT commit_kind FROM t$snapshots ORDER BY snapshot_id DESC LIMIT 1")[0][0])
    assert kinds == ["APPEND", "COMPACT", "APPEND", "COMPACT"]
    assert sql("SELECT k FROM t ORDER BY k") == [(0,), (1,), (2,), (3,)]
    sql("INSERT INTO t VALUES (9, 'x')")
    assert sql("SELECT commit_kind FROM t$snapshots ORDER BY snapshot_id DESC LIMIT 1") == [("COMPACT",)]
