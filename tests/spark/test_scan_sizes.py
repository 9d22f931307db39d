"""What Spark takes a scan for, by which it chooses how to join: as large as the columns that are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.scan.reporting.statistics import row_width

Sql = Callable[[str], list[tuple[Any, ...]]]

NESTED = "STRUCT<x: INT, y: ARRAY<STRUCT<z: BIGINT, w: STRING>>>"
COLUMNS = f"a INT, b BIGINT, c STRING, d DECIMAL(12, 2), e DECIMAL(30, 2), f DATE, g TIMESTAMP, h {NESTED}, i BINARY"
COLUMNS += ", j MAP<STRING, DOUBLE>, k TINYINT, l SMALLINT, m BOOLEAN, n FLOAT"


def _scan_size(frame: DataFrame) -> int:
    (leaf,) = [
        leaf
        for leaf in _leaves(frame._jdf.queryExecution().optimizedPlan())
        if leaf.getClass().getSimpleName() == "DataSourceV2ScanRelation"
    ]
    return int(str(leaf.stats().sizeInBytes()))


def _leaves(plan: Any) -> list[Any]:
    leaves = plan.collectLeaves()
    return [leaves.apply(i) for i in range(leaves.size())]


def test_a_row_is_as_wide_as_spark_reckons(spark: SparkSession, sql: Sql, tmp_path: Path) -> None:
    sql(f"CREATE TABLE t ({COLUMNS})")
    struct = spark.table("t")._jdf.schema()
    names = [field.name() for field in struct.fields()]
    kinds = {
        "a": t.IntType(),
        "b": t.BigIntType(),
        "c": t.VarCharType(),
        "d": t.DecimalType(precision=12, scale=2),
        "e": t.DecimalType(precision=30, scale=2),
        "f": t.DateType(),
        "g": t.LocalZonedTimestampType(),
        "h": t.RowType(
            fields=(
                DataField(0, "x", t.IntType()),
                DataField(
                    1,
                    "y",
                    t.ArrayType(
                        element=t.RowType(
                            fields=(DataField(2, "z", t.BigIntType()), DataField(3, "w", t.VarCharType()))
                        )
                    ),
                ),
            )
        ),
        "i": t.VarBinaryType(),
        "j": t.MapType(key=t.VarCharType(), value=t.DoubleType()),
        "k": t.TinyIntType(),
        "l": t.SmallIntType(),
        "m": t.BooleanType(),
        "n": t.FloatType(),
    }
    for position, name in enumerate(names):
        assert row_width([DataField(0, name, kinds[name])]) == 8 + struct.apply(position).dataType().defaultSize(), name


@pytest.mark.parametrize("kind", ["", "'primary-key' = 'k', 'bucket' = '1'"])
def test_fewer_columns_make_a_smaller_scan(spark: SparkSession, sql: Sql, kind: str) -> None:
    sql(f"CREATE TABLE t (k BIGINT, a STRING, b STRING, c STRING){f' TBLPROPERTIES ({kind})' if kind else ''}")
    for number in (1, 2):
        sql(f"INSERT INTO t SELECT id, uuid(), uuid(), 'c{number}' FROM range(2000)")
    whole, some = _scan_size(spark.table("t")), _scan_size(spark.sql("SELECT k FROM t"))
    (files,) = sql("SELECT sum(file_size_in_bytes) FROM `t$files`")[0]
    assert whole == files
    assert some == pytest.approx(files * (8 + 8) / (8 + 8 + 3 * 20), abs=1)


def test_a_join_broadcasts_what_it_would_of_parquet(spark: SparkSession, sql: Sql, tmp_path: Path) -> None:
    sql("CREATE TABLE t (k BIGINT, a STRING, b STRING, c STRING)")
    sql("CREATE TABLE u (k BIGINT, v STRING)")
    sql("INSERT INTO t SELECT id, uuid(), uuid(), uuid() FROM range(5000)")
    sql("INSERT INTO u SELECT id, uuid() FROM range(20000)")
    for name in ("t", "u"):
        spark.table(name).coalesce(1).write.parquet(str(tmp_path / name))
        spark.read.parquet(str(tmp_path / name)).createOrReplaceTempView(f"parquet_{name}")
    query = "SELECT count(u.v) FROM {u} u JOIN {t} t ON t.k = u.k"
    plain = spark.sql(query.format(u="parquet_u", t="parquet_t"))
    ours = spark.sql(query.format(u="u", t="t"))
    before = spark.conf.get("spark.sql.autoBroadcastJoinThreshold")
    # Between a quarter of the wide table's files, which its key counts for, and the whole of them.
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", str(_scan_size(spark.table("t")) // 2))
    try:
        for frame in (plain, ours):
            assert "BroadcastHashJoin" in frame._jdf.queryExecution().executedPlan().toString()
    finally:
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", before)
    assert ours.collect() == plain.collect()
