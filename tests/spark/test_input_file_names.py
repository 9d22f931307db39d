"""``input_file_name()`` over our tables, whoever reads their rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import input_file_name

Sql = Callable[[str], list[tuple[Any, ...]]]

FORMATS = ["parquet", "orc", "avro"]
BUCKETS = "'bucket-key' = 'id', 'bucket' = '3'"


def names(rows: list[tuple[Any, ...]]) -> set[str]:
    return {Path(name).name for (name,) in rows}


def files(sql: Sql, where: str = "true") -> set[str]:
    return names(sql(f"SELECT file_path FROM t$files WHERE {where}"))


@pytest.mark.parametrize("kind", ["'bucket' = '-1'", BUCKETS])
@pytest.mark.parametrize("file_format", FORMATS)
def test_each_row_tells_its_data_file(sql: Sql, file_format: str, kind: str) -> None:
    sql(f"CREATE TABLE t (id INT, name STRING) WITH ('file.format' = '{file_format}', {kind})")
    sql("INSERT INTO t VALUES (1, 'x1'), (3, 'x3')")
    sql("INSERT INTO t VALUES (2, 'x2'), (4, NULL), (6, 'x6')")
    rows = sql("SELECT id, input_file_name() FROM t")
    assert all(name.startswith("file:///") and name.endswith(f".{file_format}") for _, name in rows)
    assert names(sql("SELECT input_file_name() FROM t")) == files(sql)
    one = next(name for i, name in rows if i == 4)
    found = sql(f"SELECT id FROM t WHERE input_file_name() = '{one}' AND id > 3 ORDER BY id")
    assert (4,) in found and (3,) not in found


def test_rows_that_workers_merge_have_no_one_file(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, v INT) WITH ('primary-key' = 'id', 'bucket' = '1', 'write-only' = 'true')")
    sql("INSERT INTO t VALUES (1, 1)")
    old = files(sql)
    sql("INSERT INTO t VALUES (1, 2)")
    assert names(sql("SELECT input_file_name() FROM t")) == files(sql) - old
    sql("CREATE TABLE u (id INT, v INT) WITH ('primary-key' = 'id', 'bucket' = '1', 'file.format' = 'orc')")
    sql("INSERT INTO u VALUES (1, 1)")
    assert sql("SELECT input_file_name(), v FROM u") == [("", 1)]


def test_deleted_rows_are_left_out(sql: Sql) -> None:
    options = "'primary-key' = 'id', 'bucket' = '1', 'deletion-vectors.enabled' = 'true'"
    sql(f"CREATE TABLE t (id INT, v INT) WITH ({options})")
    sql("INSERT INTO t VALUES (1, 1), (2, 2)")
    sql("INSERT INTO t VALUES (1, 3)")
    rows = sql("SELECT id, v, input_file_name() FROM t ORDER BY id")
    assert [row[:2] for row in rows] == [(1, 3), (2, 2)]
    assert {Path(name).name for *_, name in rows} <= files(sql)


def test_partitions_are_left_out_as_ever(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, pt STRING) PARTITIONED BY (pt) WITH ('file.format' = 'orc')")
    sql("INSERT INTO t VALUES (1, 'ä b'), (2, 'c')")
    assert names(sql("SELECT input_file_name() FROM t WHERE pt = 'c'")) == files(sql, "partition = '{c}'")
    assert len(sql("SELECT input_file_name() FROM t")) == 2


@pytest.mark.smoke
def test_it_can_be_grouped_ordered_and_nested(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT, v INT) WITH ('file.format' = 'avro')")
    sql("INSERT INTO t VALUES (1, 1), (2, 1)")
    sql("INSERT INTO t VALUES (3, 1)")
    grouped = sql("SELECT input_file_name() f, count(*), sum(id) FROM t GROUP BY input_file_name() ORDER BY 2")
    assert [row[1:] for row in grouped] == [(1, 3), (2, 3)]
    assert [i for (i,) in sql("SELECT id FROM (SELECT id FROM t) q ORDER BY length(input_file_name()), id")] == [
        1,
        2,
        3,
    ]
    inner = sql("SELECT DISTINCT substring_index(f, '.', -1) FROM (SELECT input_file_name() AS f FROM t) q")
    assert inner == [("avro",)]
    assert sql("SELECT input_file_name() = '' FROM (SELECT max(id) FROM t) q") == [(True,)]


def test_its_name_and_type_stay_sparks(sql: Sql, spark: SparkSession) -> None:
    sql("CREATE TABLE t (id INT) WITH ('file.format' = 'orc')")
    (field,) = spark.table("t").select(input_file_name()).schema.fields
    assert (field.name, field.dataType.simpleString(), field.nullable) == ("input_file_name()", "string", False)
    assert spark.table("t").select("*", input_file_name()).columns == ["id", "input_file_name()"]


def test_other_tables_are_read_as_ever(sql: Sql, spark: SparkSession, tmp_path: Path) -> None:
    spark.range(2).write.parquet(str(tmp_path / "p"))
    rows = spark.read.parquet(str(tmp_path / "p")).select(input_file_name()).collect()
    assert all(name.endswith(".parquet") for (name,) in rows)
    assert spark.range(1).select(input_file_name()).collect() == [("",)]
