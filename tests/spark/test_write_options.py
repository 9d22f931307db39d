"""What a statement says of its own write, and partitions dropped by some of their columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def parts(sql: Sql) -> Sql:
    """Statements with a table of two partition columns."""
    sql("CREATE TABLE p (a INT, x INT, y STRING) PARTITIONED BY (x, y)")
    sql("INSERT INTO p VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 2, 'a')")
    return sql


def test_a_hint_makes_an_overwrite_dynamic_or_static(parts: Sql, spark: SparkSession) -> None:
    parts("INSERT OVERWRITE p /*+ OPTIONS('dynamic-partition-overwrite' = 'true') */ VALUES (9, 1, 'a')")
    assert parts("SELECT a FROM p ORDER BY a") == [(2,), (3,), (9,)]
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        parts("INSERT OVERWRITE p VALUES (10, 1, 'b')")
        assert parts("SELECT a FROM p ORDER BY a") == [(3,), (9,), (10,)]
        parts("INSERT OVERWRITE p /*+ OPTIONS('dynamic-partition-overwrite' = 'false') */ VALUES (11, 5, 'b')")
        assert parts("SELECT a FROM p") == [(11,)]
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")


def test_options_of_a_write_hold_for_it_alone(sql: Sql, spark: SparkSession) -> None:
    sql("CREATE TABLE t (a INT)")
    sql("INSERT INTO t /*+ OPTIONS('file.format' = 'orc') */ VALUES (1)")
    spark.createDataFrame([(2,)], "a INT").write.option("file.format", "avro").option("other", "x").insertInto("t")
    sql("INSERT INTO t VALUES (3)")
    assert sql("SELECT file_format FROM `t$files` ORDER BY 1") == [("avro",), ("orc",), ("parquet",)]
    with pytest.raises(Exception, match="bucket"):
        sql("INSERT INTO t /*+ OPTIONS('bucket' = '4') */ VALUES (1)")
    with pytest.raises(Exception, match=r"file\.format"):
        sql("INSERT INTO t /*+ OPTIONS('file.format' = 'docx') */ VALUES (1)")


def test_partitions_are_dropped_by_some_of_their_columns(parts: Sql) -> None:
    parts("ALTER TABLE p DROP PARTITION (y = 'b')")
    assert parts("SELECT a FROM p ORDER BY a") == [(1,), (3,)]
    parts("ALTER TABLE p DROP IF EXISTS PARTITION (x = 1) PURGE;")
    assert parts("SELECT a FROM p") == [(3,)]
    parts("ALTER TABLE p DROP PARTITION (x = 2, y = 'a')")
    assert parts("SELECT count(*) FROM p") == [(0,)]
    parts("ALTER TABLE p DROP PARTITION (x = 1), PARTITION (x = 2)")


def test_what_show_create_table_shows_makes_the_table_again(sql: Sql) -> None:
    sql(
        "CREATE TABLE t (k INT NOT NULL COMMENT 'it''s', c CHAR(3), d VARCHAR(9) DEFAULT 'x',"
        " s STRUCT<a: INT, b: STRING>, p DATE) PARTITIONED BY (p) COMMENT 'a table'"
        " TBLPROPERTIES ('primary-key' = 'k,p', 'bucket' = '2')"
    )
    ((shown,),) = sql("SHOW CREATE TABLE t")
    described = sql("DESCRIBE t")
    assert "LOCATION" not in str(shown) and "'path'" not in str(shown)
    sql("DROP TABLE t")
    sql(str(shown))
    assert sql("SHOW CREATE TABLE t") == [(shown,)]
    assert sql("DESCRIBE t") == described


def test_default_values_come_back_from_show_create_table(sql: Sql) -> None:
    defaults = {
        "TIMESTAMP_LTZ": "TIMESTAMP '2024-01-01 10:00:00'",
        "ARRAY<INT>": "array(1, -2, NULL)",
        "STRUCT<x: BIGINT, y: VARCHAR(3)>": "named_struct('x', 1, 'y', 'b')",
        "MAP<STRING, DECIMAL(10,2)>": "map('a', 1.5, 'b', NULL)",
        "ARRAY<TINYINT>": "array(1Y)",
        "ARRAY<DOUBLE>": "array()",
        "STRUCT<a: ARRAY<TIMESTAMP_LTZ>, b: DATE>": "struct(array(TIMESTAMP '2024-01-01 10:00:00'), DATE '2024-01-01')",
        "BINARY": "X'0102'",
        "ARRAY<BINARY>": "array(X'6162', NULL)",
        "ARRAY<FLOAT>": "array(1.5F)",
        "TIMESTAMP": "TIMESTAMP '2024-01-01'",
        "ARRAY<BOOLEAN>": "array(true)",
        "MAP<INT, ARRAY<STRING>>": "map(1, array('it\\'s', ''))",
    }
    columns = ", ".join(f"c{i} {kind} DEFAULT {value}" for i, (kind, value) in enumerate(defaults.items()))
    sql(f"CREATE TABLE t (id INT, {columns})")
    sql("INSERT INTO t (id) VALUES (1)")
    ((shown,),), rows = sql("SHOW CREATE TABLE t"), sql("SELECT * FROM t")
    assert None not in rows[0]
    sql("DROP TABLE t")
    sql(str(shown))
    assert sql("SHOW CREATE TABLE t") == [(shown,)]
    sql("INSERT INTO t (id) VALUES (1)")
    assert sql("SELECT * FROM t") == rows


def test_the_database_of_system_tables_is_there_but_not_listed(sql: Sql) -> None:
    assert ("sys",) not in sql("SHOW DATABASES")
    sql("DESCRIBE DATABASE sys")


def test_a_collation_that_cannot_be_kept_is_refused(sql: Sql) -> None:
    for kind in ("STRING COLLATE UNICODE_CI", "ARRAY<STRING COLLATE UTF8_LCASE>"):
        with pytest.raises(Exception, match="Column 'a' has a collation"):
            sql(f"CREATE TABLE t (a {kind})")
    sql("CREATE TABLE t (id INT)")
    for column in ("c STRING COLLATE UTF8_LCASE", "c STRUCT<a: STRING COLLATE UTF8_LCASE>"):
        with pytest.raises(Exception, match="has a collation, which Paimon does not keep"):
            sql(f"ALTER TABLE t ADD COLUMN {column}")


@pytest.mark.parametrize(
    "statement", ["ALTER DATABASE {} SET DBPROPERTIES ('a' = 'b')", "COMMENT ON DATABASE {} IS 'x'"]
)
def test_a_database_keeps_no_properties(sql: Sql, spark: SparkSession, statement: str) -> None:
    with pytest.raises(Exception, match=r"cannot take (a|comment): .*Give comments and properties to the tables"):
        sql(statement.format(spark.catalog.currentDatabase()))
    with pytest.raises(Exception, match="SCHEMA_NOT_FOUND"):
        sql(statement.format("nosuch"))


def test_options_of_a_session_may_be_for_many_tables(sql: Sql, spark: SparkSession) -> None:
    for table in ("t", "u"):
        sql(f"CREATE TABLE {table} (a INT)")
        sql(f"INSERT INTO {table} VALUES (1)")
        sql(f"INSERT INTO {table} VALUES (2)")
    count = "SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM u)"
    database = spark.catalog.currentDatabase()
    settings = {f"spark.paimon.*.{database}.*.scan.snapshot-id": 1, "spark.paimon.paimon.*.u.scan.snapshot-id": 2}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        assert sql(count) == [(1, 2)]
    finally:
        for key in settings:
            spark.conf.unset(key)
    assert sql(count) == [(2, 2)]


def test_rows_are_merged_as_their_compactions_meant_them(sql: Sql) -> None:
    sql(
        "CREATE TABLE sums (id INT, n INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1',"
        " 'merge-engine' = 'aggregation', 'fields.n.aggregate-function' = 'sum', 'changelog-producer' = 'lookup')"
    )
    sql("INSERT INTO sums SELECT id, 1 FROM range(400)")
    sql("CALL sys.compact(table => 'sums')")
    sql("INSERT INTO sums VALUES (1, 10)")
    for statement in (
        "ALTER TABLE sums SET ('changelog-producer' = 'none')",
        "ALTER TABLE sums RESET ('changelog-producer')",
        "SELECT * FROM sums /*+ OPTIONS('changelog-producer' = 'none') */",
        "INSERT INTO sums /*+ OPTIONS('changelog-producer' = 'none') */ VALUES (1, 10)",
    ):
        with pytest.raises(Exception, match="'changelog-producer' of a table with data cannot change so"):
            sql(statement)
    assert sql("SELECT * FROM sums WHERE id < 3 ORDER BY id") == [(0, 1), (1, 11), (2, 1)]


@pytest.mark.parametrize(
    ("key", "value"), [("bucket", "1"), ("merge-engine", "first-row"), ("deletion-vectors.enabled", "true")]
)
@pytest.mark.parametrize("of", ["", "*.*.t."])
def test_a_session_changes_nothing_that_is_fixed_for_a_table(
    sql: Sql, spark: SparkSession, key: str, value: str, of: str
) -> None:
    sql("CREATE TABLE t (id INT, v INT) TBLPROPERTIES ('primary-key' = 'id')")
    sql("INSERT INTO t VALUES (1, 1)")
    spark.conf.set(f"spark.paimon.{of}{key}", value)
    try:
        for statement in ("SELECT * FROM t", "INSERT INTO t VALUES (1, 2)", "DELETE FROM t"):
            with pytest.raises(Exception, match=key):
                sql(statement)
        sql(f"CREATE TABLE other (id INT, v INT) TBLPROPERTIES ('primary-key' = 'id', '{key}' = '{value}')")
        assert sql("SELECT * FROM other") == []
    finally:
        spark.conf.unset(f"spark.paimon.{of}{key}")
    assert sql("SELECT * FROM t") == [(1, 1)]
