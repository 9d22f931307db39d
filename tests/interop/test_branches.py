"""Branches that both sides read and write."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from .java import JavaPaimon
from .test_java import rows_of

DEV = ("--branch", "dev")


def test_java_reads_and_writes_branches_that_we_made(spark: SparkSession, java: JavaPaimon, warehouse: Path) -> None:
    name, branch = "default.branched", "default.`branched$branch_dev`"
    spark.sql(f"CREATE TABLE {name} (k INT NOT NULL, v STRING) TBLPROPERTIES ('primary-key'='k', 'bucket'='1')")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')")
    spark.sql(f"CALL sys.create_tag('{name}', 'base')")
    spark.sql(f"INSERT INTO {name} VALUES (3, 'main')")
    spark.sql(f"ALTER TABLE {name} CREATE BRANCH dev AS OF TAG base")
    spark.sql(f"ALTER TABLE {name} CREATE BRANCH bare")
    spark.sql(f"INSERT INTO {branch} VALUES (2, 'dev')")
    assert java.read(warehouse, name, *DEV) == rows_of(spark, branch) == [[1, "a"], [2, "dev"]]
    assert java.read(warehouse, name, "--branch", "bare") == []

    java.write(warehouse, name, [[4, "java"]], *DEV)
    assert java.read(warehouse, name, *DEV) == rows_of(spark, branch) == [[1, "a"], [2, "dev"], [4, "java"]]
    assert java.read(warehouse, name) == [[1, "a"], [2, "b"], [3, "main"]]

    spark.sql(f"ALTER TABLE {branch} ADD COLUMN n INT")
    spark.sql(f"INSERT INTO {branch} VALUES (5, 'five', 5)")
    spark.sql(f"CALL sys.fast_forward('{name}', 'dev')")
    forward = [[1, "a", None], [2, "dev", None], [4, "java", None], [5, "five", 5]]
    assert java.read(warehouse, name) == rows_of(spark, name) == forward
    java.write(warehouse, name, [[6, "java", 6]])
    assert java.read(warehouse, name) == rows_of(spark, name) == [*forward, [6, "java", 6]]

    spark.sql(f"ALTER TABLE {name} RENAME BRANCH dev TO kept")
    spark.sql(f"CALL sys.expire_snapshots('{name}', 1, 1)")
    assert java.read(warehouse, name, "--branch", "kept") == forward
    assert java.read(warehouse, name, "--tag", "base") == [[1, "a"], [2, "b"]]


def test_java_reads_rows_that_a_merge_brought(spark: SparkSession, java: JavaPaimon, warehouse: Path) -> None:
    name = "default.merged"
    spark.sql(f"CREATE TABLE {name} (k INT) TBLPROPERTIES ('branch-merge.enabled'='true')")
    java.write(warehouse, name, [[1]])
    spark.sql(f"ALTER TABLE {name} CREATE BRANCH dev AS OF VERSION 1")
    java.write(warehouse, name, [[2], [3]], *DEV)
    spark.sql(f"CALL sys.merge_branch('{name}', 'dev')")
    assert java.read(warehouse, name) == rows_of(spark, name) == [[1], [2], [3]]


def test_both_read_partitions_of_the_fallback_branch(spark: SparkSession, java: JavaPaimon, warehouse: Path) -> None:
    name, branch = "default.fallback", "default.`fallback$branch_live`"
    spark.sql(f"CREATE TABLE {name} (p STRING NOT NULL, k INT NOT NULL, v STRING) PARTITIONED BY (p)")
    spark.sql(f"ALTER TABLE {name} CREATE BRANCH live")
    spark.sql(f"ALTER TABLE {branch} SET TBLPROPERTIES ('primary-key'='p,k', 'bucket'='1')")
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('scan.fallback-branch'='live')")
    spark.sql(f"INSERT INTO {branch} VALUES ('a', 1, 'live'), ('b', 2, 'live')")
    spark.sql(f"INSERT INTO {name} VALUES ('a', 1, 'main')")
    assert java.read(warehouse, name) == rows_of(spark, name) == [["a", 1, "main"], ["b", 2, "live"]]
    java.write(warehouse, name, [["b", 2, "java"]], "--branch", "live")
    assert java.read(warehouse, name) == rows_of(spark, name) == [["a", 1, "main"], ["b", 2, "java"]]
