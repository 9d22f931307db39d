"""Tables of plain files that become Paimon's: of Spark's own catalog and folders, moved or copied, whole or not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from paimon_sql import procedures
from paimon_sql.errors import UnsupportedError
from tests.spark.conftest import Sql


@pytest.fixture
def plain(sql: Sql, spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """A database of Spark's own catalog, named as the Paimon database of the test."""
    name = spark.catalog.currentDatabase()
    sql(f"CREATE DATABASE spark_catalog.{name} LOCATION '{tmp_path}/plain'")
    yield name
    sql(f"DROP DATABASE spark_catalog.{name} CASCADE")


def details(sql: Sql, call: str) -> dict[str, object]:
    (row,) = sql(f"CALL {call}")
    procedure = procedures.find_procedure(call.partition("(")[0])
    return dict(zip((c.name for c in procedure.columns), row, strict=True))


def files(folder: Path) -> set[str]:
    return {p.name for p in folder.rglob("*") if p.is_file() and not p.name.startswith((".", "_"))}


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_a_partitioned_table_becomes_paimons(sql: Sql, plain: str, tmp_path: Path, kind: str) -> None:
    source = f"spark_catalog.{plain}.t"
    sql(
        f"CREATE TABLE {source} (id INT COMMENT 'key', c CHAR(3), at TIMESTAMP, m MAP<STRING, INT>, dt STRING, n INT)"
        f" USING {kind} PARTITIONED BY (dt, n) COMMENT 'plain'"
    )
    sql(f"INSERT INTO {source} VALUES (1, 'a', timestamp'2020-01-01 10:00:00', map('k', 1), 'x y', 1)")
    sql(f"INSERT INTO {source} VALUES (2, 'b', NULL, NULL, NULL, 2), (3, 'abc', NULL, NULL, 'x y', 1)")
    before = sql(f"SELECT * FROM {source} ORDER BY id")
    planned = details(sql, f"sys.migrate_table('hive', '{plain}.t', dry_run => true)")
    assert sql(f"SELECT * FROM {source} ORDER BY id") == before
    done = details(sql, f"sys.migrate_table(source_type => 'hive', table => '{plain}.t')")
    same = ("target", "migrated_files", "migrated_bytes", "migrated_records", "partitions")
    assert [planned[n] for n in same] == [done[n] for n in same]
    assert (done["migrated_files"], done["migrated_records"], done["partitions"]) == (3, 3, 2)
    assert sql("SELECT * FROM t ORDER BY id") == before
    assert sql("SELECT id FROM t WHERE dt IS NULL") == [(2,)]
    assert sql("SELECT dt, n FROM t WHERE n = 1 AND id > 1") == [("x y", 1)]
    assert sql("SELECT count(*), max(dt) FROM t") == [(3, "x y")]
    assert not files(tmp_path / "plain")
    with pytest.raises(PySparkException):
        sql(f"SELECT * FROM {source}")
    assert ("id", "int", "key") in sql("DESCRIBE t")
    sql("INSERT INTO t VALUES (4, 'd', NULL, NULL, 'x y', 1)")
    sql("DELETE FROM t WHERE id = 1")
    sql("CALL sys.compact(table => 't', options => 'compaction.min.file-num=2')")
    assert sql("SELECT id, dt, n FROM t ORDER BY id") == [(2, None, 2), (3, "x y", 1), (4, "x y", 1)]


def test_statistics_of_migrated_files_leave_files_out(sql: Sql, plain: str) -> None:
    sql(f"CREATE TABLE spark_catalog.{plain}.t (id INT) USING parquet")
    for i in range(3):
        sql(f"INSERT INTO spark_catalog.{plain}.t VALUES ({i})")
    details(sql, f"sys.migrate_table('hive', 'spark_catalog.{plain}.t', 'file.format=orc,write-only=true')")
    ((plan,),) = sql("EXPLAIN SELECT * FROM t WHERE id = 1")
    assert "files 1 of 3" in str(plan)
    assert sql("SELECT value FROM `t$options` WHERE key = 'file.format'") == [("orc",)]
    assert sql("SELECT * FROM t WHERE id = 1") == [(1,)]


def test_a_source_that_is_kept_keeps_its_files(sql: Sql, plain: str, tmp_path: Path) -> None:
    sql(f"CREATE TABLE spark_catalog.{plain}.t (id INT) USING parquet")
    sql(f"INSERT INTO spark_catalog.{plain}.t VALUES (1)")
    call = f"sys.migrate_table('hive', '{plain}.t', target_table => 'taken', delete_origin => false)"
    assert details(sql, call)["note"] == f"spark_catalog.{plain}.t keeps its files"
    assert sql("SELECT * FROM taken") == sql(f"SELECT * FROM spark_catalog.{plain}.t") == [(1,)]
    details(sql, call)  # into a table that exists: its rows come once more
    assert sql("SELECT * FROM taken") == [(1,), (1,)]
    assert files(tmp_path / "plain")


def test_a_folder_becomes_a_table(sql: Sql, spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    spark.range(4).selectExpr("id", "id % 2 AS p").write.partitionBy("p").parquet(str(folder))
    done = details(sql, f"sys.migrate_table('parquet', '{folder}', target_table => 'f')")
    assert (done["migrated_files"], done["migrated_records"]) == (4, 4)
    assert sql("SELECT id, p FROM f ORDER BY id") == [(0, 0), (1, 1), (2, 0), (3, 1)]
    assert not folder.exists()


def test_a_folder_of_avro_files_needs_a_table_to_tell_its_columns(
    sql: Sql, tmp_path: Path, spark: SparkSession
) -> None:
    sql("CREATE TABLE made (id INT, v STRING) TBLPROPERTIES ('file.format' = 'avro')")
    sql("INSERT INTO made VALUES (1, 'a'), (2, NULL)")
    ((path,),) = sql("SELECT file_path FROM `made$files`")
    folder = tmp_path / "avro"
    folder.mkdir()
    (folder / "one.avro").write_bytes(Path(str(path)).read_bytes())
    with pytest.raises(PySparkException, match="target_table"):
        sql(f"CALL sys.migrate_table('avro', '{folder}', target_table => 'other')")
    sql("CREATE TABLE taken (id INT, v STRING)")
    details(sql, f"sys.migrate_table('avro', '{folder}', target_table => 'taken')")
    assert sql("SELECT * FROM taken ORDER BY id") == [(1, "a"), (2, None)]


def test_a_database_becomes_paimons_table_by_table(sql: Sql, plain: str) -> None:
    for name in ("a", "b"):
        sql(f"CREATE TABLE spark_catalog.{plain}.{name} (id INT) USING orc")
        sql(f"INSERT INTO spark_catalog.{plain}.{name} VALUES (1)")
    sql(f"CREATE TABLE spark_catalog.{plain}.texts (v STRING) USING csv")
    sql(f"CREATE VIEW spark_catalog.{plain}.seen AS SELECT 1 AS one")
    sql("CREATE TEMPORARY VIEW one_row AS SELECT 1 AS one")
    done = details(sql, f"sys.migrate_database(source_type => 'hive', database => '{plain}')")
    assert done["result"] == "migrate database is finished, success cnt: 2 , failed cnt: 1"
    assert str(done["tables"]).splitlines()[:2] == [f"{plain}.{n}: 1 files, 1 records" for n in ("a", "b")]
    assert "of csv" in str(done["tables"])
    assert sql("SELECT a.id + b.id FROM a, b") == [(2,)]
    sql("DROP VIEW one_row")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("sys.migrate_table('hive', '{0}.absent')", "has no table {0}.absent"),
        ("sys.migrate_table('hive', '{0}.texts')", "not a table of Parquet, ORC or Avro files, but of csv"),
        ("sys.migrate_table('iceberg', '{0}.t')", "source_type cannot be 'iceberg'"),
        ("sys.migrate_table('hive', '{0}.t', 'bucket=2,bucket-key=id')", "cannot have buckets"),
        ("sys.migrate_table('hive', '{0}.t', 'primary-key=id')", "cannot have a primary key"),
        ("sys.migrate_table('hive', '{0}.t', 'nosuch=1')", "nosuch"),
        ("sys.migrate_table('hive', '{0}.t', target_table => 'keyed')", "has a primary key or buckets"),
        ("sys.migrate_table('hive', '{0}.t', target_table => 'other')", "has other columns"),
        ("sys.migrate_table('hive', '{0}.t', parallelism => 0)", "parallelism cannot be 0"),
        ("sys.migrate_table('parquet', '/no/such/folder', target_table => 'x')", "no directory"),
        ("sys.migrate_table('parquet', '/no/such/folder')", "has no name"),
        ("sys.migrate_database('hive', 'nowhere')", "has no database nowhere"),
        ("sys.migrate_database('orc', '{0}')", "cannot be a directory"),
    ],
)
def test_what_cannot_be_migrated_is_refused_and_stays(sql: Sql, plain: str, call: str, said: str) -> None:
    sql(f"CREATE TABLE spark_catalog.{plain}.t (id INT) USING parquet")
    sql(f"INSERT INTO spark_catalog.{plain}.t VALUES (1)")
    sql(f"CREATE TABLE spark_catalog.{plain}.texts (v STRING) USING csv")
    sql("CREATE TABLE keyed (id INT) TBLPROPERTIES ('primary-key' = 'id')")
    sql("CREATE TABLE other (x INT)")
    with pytest.raises(PySparkException) as error:
        sql("CALL " + call.format(plain))
    assert said.format(plain) in str(error.value)
    assert sql(f"SELECT * FROM spark_catalog.{plain}.t") == [(1,)]
    assert ("t",) not in [(row[1],) for row in sql("SHOW TABLES")]


def test_a_file_that_cannot_be_read_stops_it_before_anything_changes(sql: Sql, plain: str, tmp_path: Path) -> None:
    sql(f"CREATE TABLE spark_catalog.{plain}.t (id INT) USING parquet")
    sql(f"INSERT INTO spark_catalog.{plain}.t VALUES (1)")
    broken = tmp_path / "plain" / "t" / "broken.parquet"
    broken.write_bytes(b"no parquet")
    before = files(tmp_path / "plain")
    with pytest.raises(PySparkException, match=r"broken\.parquet cannot be migrated"):
        sql(f"CALL sys.migrate_table('hive', '{plain}.t')")
    assert files(tmp_path / "plain") == before
    assert ("t",) not in [(row[1],) for row in sql("SHOW TABLES")]


def test_a_migration_that_ended_halfway_is_put_back_and_done_anew(
    sql: Sql, plain: str, tmp_path: Path, spark: SparkSession
) -> None:
    sql(f"CREATE TABLE spark_catalog.{plain}.t (id INT) USING parquet")
    for i in range(2):
        sql(f"INSERT INTO spark_catalog.{plain}.t VALUES ({i})")
    sql("CREATE TABLE t (id INT)")
    table = Path(str(spark.conf.get("spark.sql.catalog.paimon.warehouse"))) / f"{plain}.db" / "t"
    origins = sorted(p for p in (tmp_path / "plain" / "t").glob("part-*"))
    pairs = [(str(p), str(table / "bucket-0" / f"migrated-{i}.parquet")) for i, p in enumerate(origins)]
    journal = {"moved": pairs, "commit_user": "x", "before": 0}
    (table / "_migration.json").write_text(json.dumps(journal))
    (table / "bucket-0").mkdir()
    origins[0].rename(pairs[0][1])
    done = details(sql, f"sys.migrate_table('hive', '{plain}.t')")
    assert done["migrated_files"] == 2
    assert sql("SELECT * FROM t ORDER BY id") == [(0,), (1,)]
    assert not (table / "_migration.json").exists()


def test_files_of_partitions_that_the_table_does_not_know_stop_it(sql: Sql, plain: str, tmp_path: Path) -> None:
    sql(f"CREATE TABLE spark_catalog.{plain}.t (id INT, p INT) USING parquet PARTITIONED BY (p)")
    sql(f"INSERT INTO spark_catalog.{plain}.t VALUES (1, 1)")
    (known,) = (tmp_path / "plain" / "t" / "p=1").glob("part-*")
    other = tmp_path / "plain" / "t" / "p=2"
    other.mkdir()
    (other / "more.parquet").write_bytes(known.read_bytes())
    with pytest.raises(PySparkException, match="MSCK REPAIR TABLE"):
        sql(f"CALL sys.migrate_table('hive', '{plain}.t')")
    sql(f"MSCK REPAIR TABLE spark_catalog.{plain}.t")
    details(sql, f"sys.migrate_table('hive', '{plain}.t')")
    assert sql("SELECT p, id FROM t ORDER BY p") == [(1, 1), (2, 1)]


def test_without_a_session_it_is_refused(spark: SparkSession) -> None:
    with pytest.raises(UnsupportedError, match="Spark session"):
        procedures.call(spark.conf.get("spark.sql.catalog.paimon.warehouse"), "migrate_table", "hive", "db.t")
