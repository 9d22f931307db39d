"""Chain tables that both sides read and write."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from .java import JavaPaimon
from .test_java import rows_of

WHOLE, CHANGED = ("--branch", "whole"), ("--branch", "changed")
OPTIONS = {
    "chain-table.enabled": "true",
    "primary-key": "region,dt,k",
    "sequence.field": "n",
    "bucket-key": "k",
    "bucket": "2",
    "partition.timestamp-pattern": "$dt",
    "partition.timestamp-formatter": "yyyyMMdd",
    "chain-table.chain-partition-keys": "dt",
}


def make_chain(spark: SparkSession, name: str) -> tuple[str, str]:
    """A chain table of rows ``(k, n, v, region, dt)``; the names of its branches."""
    options = ", ".join(f"'{key}'='{value}'" for key, value in OPTIONS.items())
    columns = "k BIGINT NOT NULL, n BIGINT, v STRING, region STRING NOT NULL, dt STRING NOT NULL"
    spark.sql(f"CREATE TABLE default.{name} ({columns}) PARTITIONED BY (region, dt) TBLPROPERTIES ({options})")
    named = "'scan.fallback-snapshot-branch'='whole', 'scan.fallback-delta-branch'='changed'"
    spark.sql(f"CALL sys.create_branch('default.{name}', 'whole')")
    spark.sql(f"CALL sys.create_branch('default.{name}', 'changed')")
    branches = f"default.`{name}$branch_whole`", f"default.`{name}$branch_changed`"
    for table in (f"default.{name}", *branches):
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({named})")
    return branches


def test_both_read_chains_alike(spark: SparkSession, java: JavaPaimon, warehouse: Path) -> None:
    name = "default.chained"
    whole, changed = make_chain(spark, "chained")
    spark.sql(f"INSERT INTO {whole} VALUES (1, 1, 'w', 'CN', '20250101'), (2, 1, 'w', 'CN', '20250101')")
    java.write(warehouse, name, [[7, 1, "java", "US", "20250130"], [8, 1, "java", "US", "20250130"]], *WHOLE)
    java.write(warehouse, name, [[1, 2, "java", "CN", "20250102"], [3, 1, "java", "CN", "20250102"]], *CHANGED)
    spark.sql(f"INSERT INTO {changed} VALUES (3, 2, 'c', 'CN', '20250104'), (9, 1, 'c', 'US', '20250201')")
    spark.sql(f"INSERT INTO {changed} VALUES (2, 5, 'gone', 'CN', '20250103'), (5, 1, 'c', 'FR', '20250101')")
    spark.sql(f"DELETE FROM {changed} WHERE k = 2")
    rows = rows_of(spark, name)
    assert java.read(warehouse, name) == rows
    assert [r for r in rows if r[3:] == ["CN", "20250104"]] == [
        [1, 2, "java", "CN", "20250104"],
        [3, 2, "c", "CN", "20250104"],
    ]
    spark.sql(f"CALL sys.compact('{changed}')")
    assert java.read(warehouse, name) == rows_of(spark, name) == rows

    spark.sql(f"""CALL sys.compact_chain_table('{name}', 'region="CN",dt="20250104"')""")
    assert java.read(warehouse, name, *WHOLE) == rows_of(spark, whole)
    assert java.read(warehouse, name) == rows_of(spark, name) == rows
    java.write(warehouse, name, [[3, 3, "own", "CN", "20250103"]])
    assert java.read(warehouse, name) == rows_of(spark, name) != rows


def test_overwritten_changes_take_the_whole_partition_with_them(
    spark: SparkSession, java: JavaPaimon, warehouse: Path
) -> None:
    name = "default.overtaken"
    whole, changed = make_chain(spark, "overtaken")
    for day in ("01", "02", "03"):
        spark.sql(f"INSERT INTO {whole} VALUES (1, 1, 'w', 'CN', '202501{day}')")
    java.write(warehouse, name, [[4, 1, "java", "CN", "20250102"]], *CHANGED, "--overwrite")
    spark.sql(f"INSERT OVERWRITE {changed} PARTITION (region = 'CN', dt = '20250103') VALUES (5, 1, 'c')")
    assert {row[4] for row in java.read(warehouse, name, *WHOLE)} == {"20250101"}
    assert java.read(warehouse, name) == rows_of(spark, name)
    assert [row[0] for row in rows_of(spark, name)] == [1, 1, 1, 4, 4, 5]
