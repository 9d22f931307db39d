"""Branches through SQL and DataFrames: named, by options, read, written and maintained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def branched(sql: Sql) -> Sql:
    """A keyed table with the row 1, and its branch dev with the rows 1 and 2."""
    sql("CREATE TABLE t (id INT NOT NULL, v STRING) TBLPROPERTIES ('primary-key'='id', 'bucket'='1')")
    sql("INSERT INTO t VALUES (1, 'main')")
    sql("ALTER TABLE t CREATE TAG base")
    sql("ALTER TABLE t CREATE BRANCH dev AS OF TAG base")
    sql("INSERT INTO t$branch_dev VALUES (2, 'dev')")
    return sql


def test_ddl_makes_shows_renames_and_drops_branches(branched: Sql) -> None:
    branched("ALTER TABLE t CREATE BRANCH IF NOT EXISTS dev")
    branched("ALTER TABLE t CREATE BRANCH one AS OF VERSION 1")
    branched("ALTER TABLE t CREATE BRANCH tagged AS OF VERSION 'base'")
    branched("ALTER TABLE t RENAME BRANCH tagged TO `x-y`")
    assert branched("SHOW BRANCHES t") == [("dev",), ("one",), ("x-y",)]
    assert branched("SELECT count(*) FROM `t$branch_x-y`") == [(1,)]
    branched("ALTER TABLE t DROP BRANCH `one,x-y`")
    branched("ALTER TABLE t DELETE BRANCH IF EXISTS one")
    assert branched("SHOW BRANCHES t$branch_dev") == [("dev",)]
    for wrong in ("DROP BRANCH one", "CREATE BRANCH dev", "CREATE BRANCH main", "RENAME BRANCH main TO x"):
        with pytest.raises(Exception, match=wrong.split()[2]):
            branched(f"ALTER TABLE t {wrong}")


def test_every_statement_changes_the_branch_alone(branched: Sql) -> None:
    branched("UPDATE t$branch_dev SET v = 'new' WHERE id = 1")
    branched("MERGE INTO t$branch_dev d USING (SELECT 3 id, 'm' v) s ON d.id = s.id WHEN NOT MATCHED THEN INSERT *")
    branched("DELETE FROM t$branch_dev WHERE id = 2")
    assert branched("SELECT * FROM t$branch_dev ORDER BY id") == [(1, "new"), (3, "m")]
    branched("ALTER TABLE t$branch_dev ADD COLUMN n INT")
    branched("INSERT OVERWRITE t$branch_dev VALUES (4, 'o', 4)")
    assert branched("SELECT * FROM t$branch_dev") == [(4, "o", 4)]
    assert branched("SELECT max(schema_id) FROM t$branch_dev$schemas") == [(1,)]
    assert branched("SELECT * FROM t") == [(1, "main")]
    assert branched("SELECT count(*) FROM t$schemas") == [(1,)]


def test_procedures_work_on_a_branch(branched: Sql) -> None:
    branched("INSERT INTO t$branch_dev VALUES (3, 'dev')")
    assert branched("CALL sys.compact('t$branch_dev')")[0][5] == 4
    branched("CALL sys.create_tag('`t$branch_dev`', 'four')")
    branched("INSERT INTO t$branch_dev VALUES (4, 'dev')")
    assert branched("CALL sys.rollback('t$branch_dev', 'four')")[0][:2] == (5, 4)
    assert branched("CALL sys.expire_snapshots('t$branch_dev', 1, 1)")[0][0] == 3
    assert branched("SELECT id FROM t$branch_dev ORDER BY id") == [(1,), (2,), (3,)]
    assert branched("SELECT snapshot_id FROM t$snapshots") == [(1,)]


def test_the_option_branch_names_a_branch(branched: Sql, spark: SparkSession) -> None:
    assert branched("SELECT count(*) FROM t /*+ OPTIONS('branch'='dev') */") == [(2,)]
    branched("INSERT INTO t /*+ OPTIONS('branch'='dev') */ VALUES (3, 'hint')")
    frame = spark.createDataFrame([(4, "frame")], "id INT, v STRING")
    frame.writeTo("t").option("branch", "dev").append()
    frame.selectExpr("id + 1 AS id", "v").write.option("branch", "dev").insertInto("t")
    assert spark.read.option("branch", "dev").table("t").count() == 5
    database = spark.catalog.currentDatabase()
    spark.conf.set(f"spark.paimon.paimon.{database}.t.branch", "dev")
    try:
        branched("UPDATE t SET v = 'session' WHERE id = 5")
        assert branched("SELECT id, v FROM t WHERE id > 2 ORDER BY id") == [(3, "hint"), (4, "frame"), (5, "session")]
    finally:
        spark.conf.unset(f"spark.paimon.paimon.{database}.t.branch")
    assert branched("SELECT * FROM t") == [(1, "main")]
    with pytest.raises(Exception, match="Branch 'gone' does not exist"):
        branched("SELECT * FROM t /*+ OPTIONS('branch'='gone') */")


def test_a_table_can_say_on_which_branch_it_is(branched: Sql) -> None:
    with pytest.raises(Exception, match="no such branch"):
        branched("ALTER TABLE t SET ('branch' = 'gone')")
    branched("ALTER TABLE t SET ('branch' = 'dev')")
    assert branched("SELECT count(*) FROM t") == [(2,)]
    branched("INSERT INTO t VALUES (9, 'there')")
    branched("ALTER TABLE t RESET ('branch')")
    assert branched("SELECT count(*) FROM t") == [(1,)]
    assert branched("SELECT count(*) FROM t$branch_dev") == [(3,)]


def test_a_hint_reads_the_columns_of_the_branch(branched: Sql) -> None:
    branched("ALTER TABLE t$branch_dev ADD COLUMN n INT")
    branched("INSERT INTO t$branch_dev VALUES (3, 'dev', 7)")
    assert branched("SELECT n FROM t$branch_dev WHERE id = 3") == [(7,)]
    assert branched("SELECT max(id) FROM t /*+ OPTIONS('branch'='dev') */") == [(3,)]


def test_partitions_that_main_lacks_are_read_from_the_fallback_branch(sql: Sql) -> None:
    sql("CREATE TABLE t (dt STRING NOT NULL, name STRING NOT NULL, amount BIGINT) PARTITIONED BY (dt)")
    sql("CALL sys.create_branch('t', 'live')")
    sql("ALTER TABLE t$branch_live SET ('primary-key'='dt,name', 'bucket'='2', 'changelog-producer'='lookup')")
    with pytest.raises(Exception, match="gone"):
        sql("ALTER TABLE t SET ('scan.fallback-branch'='gone')")
    sql("ALTER TABLE t SET ('scan.fallback-branch'='live')")
    sql("INSERT INTO t$branch_live VALUES ('25', 'apple', 4), ('25', 'peach', 10)")
    sql("INSERT INTO t$branch_live VALUES ('26', 'cherry', 3), ('26', 'pear', 6)")
    sql("INSERT INTO t VALUES ('25', 'apple', 5), ('25', 'banana', 7)")
    both = [("25", "apple", 5), ("25", "banana", 7), ("26", "cherry", 3), ("26", "pear", 6)]
    assert sql("SELECT * FROM t ORDER BY dt, name") == both
    assert sql("SELECT count(*) FROM t") == [(4,)]
    assert sql("SELECT `partition`, total_buckets FROM t$partitions") == [("dt=25", -1), ("dt=26", 2)]
    assert sql("SHOW PARTITIONS t") == [("dt=25",), ("dt=26",)]
    assert sql("SELECT name FROM t WHERE dt = '25' AND amount = 4") == []
    sql("DELETE FROM t WHERE amount > 4")
    sql("UPDATE t SET amount = 0")
    assert sql("SELECT count(*), sum(amount) FROM t$branch_live") == [(4, 23)]
    with pytest.raises(Exception, match=r"scan\.fallback-branch"):
        sql("CALL sys.delete_branch('t', 'live')")
    sql("ALTER TABLE t RESET ('scan.fallback-branch')")
    sql("CALL sys.delete_branch('t', 'live')")
    assert sql("SELECT count(*) FROM t") == [(0,)]


def test_merged_branches_only_grow(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT) TBLPROPERTIES ('branch-merge.enabled'='true')")
    sql("INSERT INTO t VALUES (1)")
    sql("ALTER TABLE t CREATE BRANCH side AS OF VERSION 1")
    sql("INSERT INTO t$branch_side VALUES (2)")
    assert sql("CALL sys.merge_branch(table => 't', source_branch => 'side', dry_run => true)")[0][1:3] == (1, 1)
    assert sql("CALL sys.merge_branch(`table` => 't', source_branch => 'side')")[0][4] == 2
    assert sql("SELECT * FROM t ORDER BY id") == [(1,), (2,)]
    for refused in ("INSERT OVERWRITE t VALUES (5)", "DELETE FROM t WHERE id = 1", "CALL sys.compact('t')"):
        with pytest.raises(Exception, match=r"branch-merge\.enabled"):
            sql(refused)
    assert sql("SELECT * FROM t ORDER BY id") == [(1,), (2,)]
