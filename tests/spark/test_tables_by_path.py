"""Tables by their paths: the data source ``paimon`` for reads, writes and streams."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def here(spark: SparkSession, sql: Sql) -> Path:
    """The folder of the test's database."""
    warehouse = str(spark.conf.get("spark.sql.catalog.paimon.warehouse"))
    return Path(warehouse) / f"{sql('SELECT current_database()')[0][0]}.db"


def load(spark: SparkSession, path: Path | str, **options: str) -> list[tuple[Any, ...]]:
    """The rows at a path, sorted; in the names of options ``_`` stands for a dot and ``__`` for a hyphen."""
    return sorted(map(tuple, loaded(spark, path, **options).collect()))


def loaded(spark: SparkSession, path: Path | str, **options: str) -> DataFrame:
    """What is read from a path."""
    reader = spark.read.format("paimon")
    for key, value in options.items():
        reader = reader.option(key.replace("__", "-").replace("_", "."), value)
    return reader.load(str(path))


def rows(spark: SparkSession, *values: tuple[Any, ...], columns: str = "k INT, v STRING") -> DataFrame:
    """A DataFrame."""
    return spark.createDataFrame(list(values), columns)


def save(frame: DataFrame, path: Path | str, mode: str = "append", **options: str) -> None:
    """Write a DataFrame to a path."""
    given = {k.replace("__", "-").replace("_", "."): v for k, v in options.items()}
    frame.write.format("paimon").options(**given).mode(mode).save(str(path))


@pytest.mark.smoke
def test_a_path_is_read_and_written_as_its_name_is(spark: SparkSession, sql: Sql, here: Path) -> None:
    sql("CREATE TABLE t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '2')")
    save(rows(spark, (1, "a"), (2, "b")), here / "t")
    save(rows(spark, (2, "B"), (3, None)), here / "t")
    assert load(spark, here / "t") == [(1, "a"), (2, "B"), (3, None)] == sorted(sql("SELECT * FROM t"))
    save(rows(spark, (9, "z")).select("v", "k"), here / "t", "overwrite")
    assert load(spark, here / "t") == [(9, "z")]
    assert [kind for (kind,) in sql("SELECT commit_kind FROM t$snapshots ORDER BY snapshot_id")] == [
        "APPEND", "APPEND", "OVERWRITE",
    ]  # fmt: skip


@pytest.mark.smoke
def test_a_read_by_path_pushes_down_and_uses_sparks_own_reader(spark: SparkSession, sql: Sql, here: Path) -> None:
    sql("CREATE TABLE t (k INT, v STRING, p INT) PARTITIONED BY (p)")
    sql("INSERT INTO t SELECT id, concat('v', id), id % 4 FROM range(100)")
    plan = loaded(spark, here / "t").where("p = 1 AND k > 50").select("v")._jdf.queryExecution().toString()
    physical = plan.partition("== Physical Plan ==")[2]
    assert "ColumnarToRow" in physical and "files 1 of 4" in physical
    assert loaded(spark, here / "t").where("p = 1").count() == 25


def test_options_say_which_state_is_read(spark: SparkSession, sql: Sql, here: Path) -> None:
    sql("CREATE TABLE t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1')")
    sql("INSERT INTO t VALUES (1, 'a')")
    sql("CALL sys.create_tag('t', 'first')")
    sql("ALTER TABLE t ADD COLUMN n INT")
    sql("INSERT INTO t VALUES (2, 'b', 5)")
    first, both = [(1, "a")], [(1, "a", None), (2, "b", 5)]
    assert load(spark, here / "t") == both
    assert load(spark, here / "t", scan_snapshot__id="1") == first
    assert load(spark, here / "t", scan_tag__name="first") == first
    assert load(spark, here / "t", versionAsOf="1") == first
    assert load(spark, here / "t", versionAsOf="first") == first
    assert load(spark, here / "t", incremental__between="1,2") == [(2, "b", 5)]
    assert loaded(spark, here / "t", read_changelog="true").columns == ["rowkind", "k", "v", "n"]
    with pytest.raises(Exception, match=r"7"):
        load(spark, here / "t", scan_snapshot__id="7")


def test_a_time_is_read(spark: SparkSession, sql: Sql, here: Path) -> None:
    sql("CREATE TABLE t (k INT, v STRING)")
    sql("INSERT INTO t VALUES (1, 'a')")
    sql("INSERT INTO t VALUES (2, 'b')")
    assert load(spark, here / "t", timestampAsOf="2999-01-01 00:00:00") == [(1, "a"), (2, "b")]
    (millis,) = sql("SELECT unix_millis(CAST(commit_time AS TIMESTAMP)) FROM t$snapshots WHERE snapshot_id = 1")[0]
    assert load(spark, here / "t", scan_timestamp__millis=str(millis)) == [(1, "a")]


def test_branches_and_system_tables_stand_behind_a_path(spark: SparkSession, sql: Sql, here: Path) -> None:
    sql("CREATE TABLE t (k INT, v STRING)")
    sql("INSERT INTO t VALUES (1, 'a')")
    sql("CALL sys.create_branch('t', 'b')")
    sql("ALTER TABLE `t$branch_b` ADD COLUMN n INT")
    save(rows(spark, (5, "e", 7), columns="k INT, v STRING, n INT"), here / "t", branch="b")
    assert load(spark, here / "t", branch="b") == load(spark, f"{here}/t$branch_b") == [(5, "e", 7)]
    assert load(spark, here / "t") == [(1, "a")]
    assert loaded(spark, f"{here}/t$snapshots").count() == 1
    assert load(spark, f"{here}/t$audit_log") == [("+I", 1, "a")]
    with pytest.raises(Exception, match=r"(?i)no system table .*t\$nothing"):
        load(spark, f"{here}/t$nothing")


@pytest.mark.parametrize("spelling", ["file:{}", "file://{}", "{}/", "./{name}"])
def test_a_path_may_be_spelt_as_it_likes(
    spark: SparkSession, sql: Sql, here: Path, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql("CREATE TABLE t AS SELECT 1 AS k")
    monkeypatch.chdir(here)
    assert load(spark, spelling.format(here / "t", name="t")) == [(1,)]


@pytest.mark.smoke
def test_a_write_without_a_mode_makes_a_table(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "ün`i. q" / "t.x"
    frame = rows(spark, (1, "a", "d1"), (2, "b", "d2"), columns="k INT, v STRING, dt STRING")
    given = {"primary-key": "k,dt", "bucket": "2", "comment": "a=b & c`d", "fields.v.default-value": "é"}
    frame.write.format("paimon").options(**given).partitionBy("dt").save(str(place))
    assert load(spark, place) == [(1, "a", "d1"), (2, "b", "d2")]
    schema = (place / "schema" / "schema-0").read_text()
    assert '"k",\n    "dt"' in schema and '"bucket": "2"' in schema and '"comment": "a=b & c`d"' in schema
    assert '"fields.v.default-value": "é"' in schema and '"path"' not in schema
    with pytest.raises(Exception, match="already exists"):
        save(frame, place, "errorifexists")
    save(frame, place, "ignore", bucket="3")
    assert loaded(spark, place).count() == 2
    with pytest.raises(Exception, match=r"(?i)partition"):
        frame.write.format("paimon").mode("append").partitionBy("v").save(str(place))


def test_a_table_that_cannot_be_made_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    frame = rows(spark, (1, "a"), (None, "b"))
    with pytest.raises(Exception, match=r"(?i)null"):
        save(frame, tmp_path / "t", "errorifexists", primary__key="k", bucket="1")
    with pytest.raises(Exception, match=r"no option 'bucketz'.*'bucket'"):
        save(frame, tmp_path / "t", "errorifexists", bucketz="1")
    with pytest.raises(Exception, match="No format table"):
        save(frame, tmp_path / "t", "errorifexists", type="format-table", file_format="csv")
    with pytest.raises(Exception, match=r"(?i)branch"):
        save(frame, f"{tmp_path}/t$branch_b", "errorifexists")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_else_is_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(Exception, match="holds something else"):
        save(rows(spark, (1, "a")), tmp_path / "full", "errorifexists")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(Exception, match=r"(?i)not a directory"):
        save(rows(spark, (1, "a")), tmp_path / "file", "errorifexists")
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["file", "full", "mine.txt"]


def test_paths_without_a_table_are_told(spark: SparkSession, sql: Sql, here: Path, tmp_path: Path) -> None:
    sql("CREATE TABLE f (k INT) USING csv")
    sql("CREATE TABLE t (k INT)")
    reader = spark.read.format("paimon")
    for mode in ("append", "overwrite"):
        with pytest.raises(Exception, match=r"no Paimon table at .*nowhere.*without a mode makes"):
            save(rows(spark, (1, "a")), tmp_path / "nowhere", mode)
    with pytest.raises(Exception, match=r"no Paimon table at .*nowhere"):
        spark.readStream.format("paimon").load(str(tmp_path / "nowhere"))
    with pytest.raises(Exception, match="needs a path"):
        reader.load()
    with pytest.raises(Exception, match="one path at a time"):
        reader.load([str(here / "t"), str(here / "f")])
    with pytest.raises(Exception, match=r"there is a format table.*format\('csv'\)"):
        reader.load(str(here / "f"))
    with pytest.raises(Exception, match=r"no option 'scan.snapshotid'.*'scan.snapshot-id'"):
        load(spark, here / "t", scan_snapshotid="1")
    with pytest.raises(Exception, match=r"(?i)schema"):
        spark.read.format("paimon").schema("k INT").load(str(here / "t"))
    with pytest.raises(Exception, match=r"paimon_paths has no procedures|FAILED_TO_LOAD_ROUTINE"):
        sql("CALL paimon_paths.sys.compact('t')")
    with pytest.raises(Exception, match="cannot be dropped by its path"):
        sql(f"DROP TABLE paimon_paths.`{here}/t`")
    assert not (tmp_path / "nowhere").exists() and sql("SELECT count(*) FROM t") == [(0,)]


def test_secrets_of_a_file_system_are_not_shown(spark: SparkSession, sql: Sql, here: Path) -> None:
    sql("CREATE TABLE t AS SELECT 1 AS k")
    frame = loaded(spark, here / "t", s3_secret__key="SECRET", s3_endpoint="nowhere")
    assert "SECRET" not in frame._jdf.queryExecution().toString()
    assert frame.collect() == [(1,)]
    save(frame, here / "u", "errorifexists", s3_secret__key="SECRET")
    assert "SECRET" not in (here / "u" / "schema" / "schema-0").read_text()


def test_a_catalog_may_be_named_beside_the_path(spark: SparkSession, sql: Sql, here: Path) -> None:
    sql("CREATE TABLE t AS SELECT 1 AS k")
    assert load(spark, here / "t", catalog="paimon") == [(1,)]
    database = here.name.removesuffix(".db")
    assert load(spark, "/elsewhere", catalog="paimon", database=database, table="t") == [(1,)]
    save(rows(spark, (2,), columns="k INT"), here / "t", catalog="paimon")
    assert spark.readStream.format("paimon").option("catalog", "paimon").load(str(here / "t")).columns == ["k"]
    assert load(spark, here / "t") == [(1,), (2,)]


def test_a_write_is_not_sent_into_the_past(spark: SparkSession, sql: Sql, here: Path) -> None:
    sql("CREATE TABLE t (k INT, v STRING)")
    sql("INSERT INTO t VALUES (1, 'a')")
    sql("INSERT INTO t VALUES (2, 'b')")
    save(rows(spark, (3, "c")), here / "t", scan_snapshot__id="1")
    spark.conf.set("spark.paimon.scan.snapshot-id", "1")
    try:
        assert load(spark, here / "t") == [(1, "a")]
        save(rows(spark, (4, "d")), here / "t")
    finally:
        spark.conf.unset("spark.paimon.scan.snapshot-id")
    assert [k for k, _ in load(spark, here / "t")] == [1, 2, 3, 4]


def test_a_table_is_overwritten_by_what_is_read_from_it(spark: SparkSession, sql: Sql, here: Path) -> None:
    sql("CREATE TABLE t (k INT, v STRING)")
    sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    cached = loaded(spark, here / "t").cache()
    assert cached.count() == 2
    save(loaded(spark, here / "t").where("k > 1"), here / "t", "overwrite")
    assert load(spark, here / "t") == [(2, "b")]
    cached.unpersist()


def test_a_view_over_a_path_shows_the_newest_rows(spark: SparkSession, sql: Sql, here: Path) -> None:
    sql("CREATE TABLE t AS SELECT 1 AS k")
    loaded(spark, here / "t").createOrReplaceTempView("over_a_path")
    sql("INSERT INTO t VALUES (2)")
    assert sql("SELECT count(*) FROM over_a_path") == [(2,)]
    spark.catalog.dropTempView("over_a_path")


@pytest.mark.smoke
def test_sessions_that_saw_no_statement_yet_know_paths(spark: SparkSession, sql: Sql, here: Path) -> None:
    sql("CREATE TABLE t (k BIGINT)")
    for session in (spark.newSession(), spark.newSession()):
        save(session.range(2).withColumnRenamed("id", "k"), here / "t")
    assert spark.newSession().read.format("paimon").load(str(here / "t")).count() == 4


def written(stream: DataFrame, path: Path, checkpoint: Path, mode: str = "append") -> StreamingQuery:
    """The query that has written all there was of a stream to a path."""
    writer = stream.writeStream.format("paimon").option("checkpointLocation", str(checkpoint)).outputMode(mode)
    query = writer.trigger(availableNow=True).start(str(path))
    query.awaitTermination()
    return query


@pytest.mark.smoke
def test_streams_go_from_path_to_path_and_on_by_their_checkpoint(
    spark: SparkSession, sql: Sql, here: Path, tmp_path: Path
) -> None:
    sql("CREATE TABLE a (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '2')")
    sql("CREATE TABLE b (v STRING, k INT)")
    sql("INSERT INTO a VALUES (1, 'a'), (2, 'b')")
    written(spark.readStream.format("paimon").load(str(here / "a")), here / "b", tmp_path / "cp")
    sql("INSERT INTO a VALUES (3, 'c')")
    sql("INSERT INTO a VALUES (4, 'd')")
    other = spark.newSession()
    written(other.readStream.format("paimon").load(str(here / "a")), here / "b", tmp_path / "cp")
    assert sorted(sql("SELECT k, v FROM b")) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    assert len(sql("SELECT DISTINCT commit_user FROM b$snapshots")) == 1


def test_a_stream_by_path_brings_columns(spark: SparkSession, sql: Sql, here: Path, tmp_path: Path) -> None:
    sql("CREATE TABLE a (k INT, r STRUCT<x: INT, y: STRING>, v STRING)")
    sql("CREATE TABLE b (k INT, r STRUCT<x: INT>)")
    sql("INSERT INTO a VALUES (1, named_struct('x', 1, 'y', 'é'), NULL)")
    with pytest.raises(StreamingQueryException, match=r"has no column v.*write\.merge-schema"):
        written(spark.readStream.format("paimon").load(str(here / "a")), here / "b", tmp_path / "refused")
    sql("ALTER TABLE b SET TBLPROPERTIES ('write.merge-schema' = 'true')")
    written(spark.readStream.format("paimon").load(str(here / "a")), here / "b", tmp_path / "cp")
    assert sql("SELECT k, r.x, r.y, v FROM b") == [(1, 1, "é", None)]
    sql("INSERT INTO a VALUES (2, NULL, 'w')")
    written(spark.readStream.format("paimon").load(str(here / "a")), here / "b", tmp_path / "cp")
    assert sql("SELECT k, r.y, v FROM b ORDER BY k") == [(1, "é", None), (2, None, "w")]


def test_a_micro_batch_by_path_is_committed_once(spark: SparkSession, sql: Sql, here: Path, tmp_path: Path) -> None:
    sql("CREATE TABLE a (k INT)")
    sql("CREATE TABLE b (k INT)")
    for k in (1, 2):
        sql(f"INSERT INTO a VALUES ({k})")
        written(spark.readStream.format("paimon").load(str(here / "a")), here / "b", tmp_path / "cp")
    # The stream ended behind the commit, before it could say so in its checkpoint.
    for name in ("1", ".1.crc"):
        (tmp_path / "cp" / "commits" / name).unlink(missing_ok=True)
    written(spark.readStream.format("paimon").load(str(here / "a")), here / "b", tmp_path / "cp")
    assert sorted(sql("SELECT * FROM b")) == [(1,), (2,)]


def test_options_say_where_a_stream_begins_and_how_much_it_takes(
    spark: SparkSession, sql: Sql, here: Path, tmp_path: Path
) -> None:
    sql("CREATE TABLE a (k INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1')")
    sql("CREATE TABLE b (kind STRING, k INT)")
    for k in range(4):
        sql(f"INSERT INTO a VALUES ({k})")
    reader = spark.readStream.format("paimon").option("scan.snapshot-id", "2").option("read.changelog", "true")
    stream = reader.option("read.stream.maxFilesPerTrigger", "1").load(str(here / "a"))
    query = written(stream.withColumnRenamed("rowkind", "kind"), here / "b", tmp_path / "cp")
    assert sorted(sql("SELECT * FROM b")) == [("+I", 1), ("+I", 2), ("+I", 3)]
    assert len(query.recentProgress) >= 3


def test_whole_results_replace_each_other_at_a_path(spark: SparkSession, sql: Sql, here: Path, tmp_path: Path) -> None:
    sql("CREATE TABLE a (k INT)")
    sql("CREATE TABLE b (g INT, n BIGINT)")
    for _ in range(2):
        sql("INSERT INTO a VALUES (1), (2), (3)")
        counts = spark.readStream.format("paimon").load(str(here / "a")).selectExpr("k % 2 AS g").groupBy("g").count()
        written(counts.withColumnRenamed("count", "n"), here / "b", tmp_path / "cp", "complete")
    assert sorted(sql("SELECT * FROM b")) == [(0, 2), (1, 4)]
    with pytest.raises(Exception, match=r"(?i)no Paimon table at .*nowhere"):
        written(counts, tmp_path / "nowhere", tmp_path / "other", "complete")


def test_a_table_of_sparks_own_catalog_stands_at_a_path(spark: SparkSession, sql: Sql, here: Path) -> None:
    sql("CREATE TABLE t AS SELECT 1 AS k")
    sql(f"CREATE TABLE spark_catalog.default.at_a_path USING paimon LOCATION '{here}/t'")
    sql("INSERT INTO spark_catalog.default.at_a_path VALUES (2)")
    assert sorted(sql("SELECT * FROM spark_catalog.default.at_a_path")) == [(1,), (2,)]
    sql("DROP TABLE spark_catalog.default.at_a_path")
    assert sorted(sql("SELECT * FROM t")) == [(1,), (2,)]


def test_the_class_outlives_a_spark_context_and_says_when_python_is_gone(tmp_path: Path) -> None:
    program = f"""
        import paimon_sql

        def start():
            settings = {{"spark.master": "local[1]", "spark.ui.enabled": "false"}}
            return paimon_sql.connect({str(tmp_path / "w")!r}, **settings)

        spark = start()
        spark.range(3).write.format("paimon").save({str(tmp_path / "t")!r})
        spark.stop()
        spark = start()
        spark.range(2).write.format("paimon").mode("append").save({str(tmp_path / "t")!r})
        count = spark.read.format("paimon").load({str(tmp_path / "t")!r}).count()
        server = spark.sparkContext._gateway.java_gateway_server
        server.resetCallbackClient(server.getCallbackClient().getAddress(), 9)
        try:
            spark.read.format("paimon").load({str(tmp_path / "t")!r})
        except Exception as error:
            print(count, error)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, timeout=180, text=True)
    assert run.stdout.startswith("5 "), run.stderr[-2000:]
    assert "'paimon' cannot answer: the Python process" in run.stdout
