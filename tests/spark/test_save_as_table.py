"""``saveAsTable`` and ``writeTo``: new tables get their writer's options, tables that exist keep their definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

Sql = Callable[[str], list[tuple[Any, ...]]]
Rows = Callable[..., DataFrame]


@pytest.fixture
def rows(spark: SparkSession) -> Rows:
    """A frame of ``VALUES``, with its columns' names."""
    return lambda values, columns: spark.sql(f"SELECT * FROM VALUES {values} AS t({columns})")


def definition(sql: Sql, table: str) -> str:
    """The statement that would make a table, on one line."""
    ((text,),) = sql(f"SHOW CREATE TABLE {table}")
    return " ".join(str(text).replace(" COLLATE UTF8_BINARY", "").split())


@pytest.mark.smoke
def test_overwriting_keeps_the_definition(sql: Sql, rows: Rows) -> None:
    sql(
        "CREATE TABLE t (a INT, b STRING DEFAULT 'none' COMMENT 'what', c CHAR(3), p STRING) PARTITIONED BY (p)"
        " COMMENT 'kept' TBLPROPERTIES ('primary-key' = 'a,p', 'bucket' = '2', 'file.format' = 'orc')"
    )
    sql("INSERT INTO t VALUES (1, 'x', 'c', 'one'), (2, 'y', 'c', 'two')")
    sql("CALL sys.create_tag(table => 't', tag => 'before')")
    before = definition(sql, "t")
    rows("('three', 3, 'd')", "p, a, c").write.format("paimon").mode("overwrite").saveAsTable("t")
    assert sql("SELECT * FROM t") == [(3, "none", "d  ", "three")]
    assert definition(sql, "t") == before
    assert sorted(sql("SELECT a FROM t VERSION AS OF 'before'")) == [(1,), (2,)]
    assert sql("SELECT DISTINCT schema_id FROM t$snapshots") == [(0,)]


def test_overwriting_replaces_the_partitions_that_occur_where_the_session_says_so(
    spark: SparkSession, sql: Sql, rows: Rows
) -> None:
    sql("CREATE TABLE t (a INT, p STRING) PARTITIONED BY (p)")
    sql("INSERT INTO t VALUES (1, 'one'), (2, 'two')")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        rows("(10, 'one')", "a, p").write.format("paimon").mode("overwrite").saveAsTable("t")
        assert sorted(sql("SELECT * FROM t")) == [(2, "two"), (10, "one")]
        sql("CREATE TABLE plain (a INT)")
        rows("(1)", "a").write.format("paimon").mode("overwrite").saveAsTable("plain")
        rows("(2)", "a").write.format("paimon").mode("overwrite").saveAsTable("plain")
        assert sql("SELECT * FROM plain") == [(2,)]
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    rows("(20, 'two')", "a, p").write.format("paimon").mode("overwrite").saveAsTable("t")
    assert sql("SELECT * FROM t") == [(20, "two")]


def test_the_columns_of_a_frame_are_matched_by_name_and_none_is_added(sql: Sql, rows: Rows) -> None:
    sql("CREATE TABLE t (a INT NOT NULL, b STRING)")
    sql("INSERT INTO t VALUES (1, 'kept')")
    for frame in (rows("(1, 'x', 2)", "a, b, more"), rows("('x')", "b"), rows("('text', 'x')", "a, b")):
        with pytest.raises(AnalysisException):
            frame.write.format("paimon").mode("overwrite").saveAsTable("t")
    assert sql("SELECT * FROM t") == [(1, "kept")]
    rows("(2)", "a").write.mode("overwrite").saveAsTable("t")
    assert sql("SELECT * FROM t") == [(2, None)]


def test_a_table_may_be_overwritten_by_what_is_read_of_it(spark: SparkSession, sql: Sql) -> None:
    sql("CREATE TABLE t (a INT, b STRING) TBLPROPERTIES ('primary-key' = 'a', 'bucket' = '1')")
    sql("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    spark.sql("SELECT a + 10 AS a, b FROM t").write.format("paimon").mode("overwrite").saveAsTable("t")
    assert sorted(sql("SELECT * FROM t")) == [(11, "x"), (12, "y")]
    assert "PRIMARY KEY (a) NOT ENFORCED" in definition(sql, "t")


def test_a_branch_is_overwritten_by_its_name(sql: Sql, rows: Rows) -> None:
    sql("CREATE TABLE t (a INT) TBLPROPERTIES ('primary-key' = 'a', 'bucket' = '1')")
    sql("INSERT INTO t VALUES (1)")
    sql("CALL sys.create_branch(table => 't', branch => 'b')")
    rows("(2)", "a").write.format("paimon").mode("overwrite").saveAsTable("t$branch_b")
    rows("(3)", "a").write.format("paimon").mode("append").option("branch", "b").saveAsTable("t")
    assert (sql("SELECT * FROM t"), sorted(sql("SELECT * FROM `t$branch_b`"))) == ([(1,)], [(2,), (3,)])
    rows("(4)", "a").write.format("paimon").mode("overwrite").option("branch", "b").saveAsTable("t")
    assert (sql("SELECT * FROM t"), sql("SELECT * FROM `t$branch_b`")) == ([(1,)], [(4,)])


@pytest.mark.smoke
@pytest.mark.parametrize("mode", ["errorifexists", "append", "ignore", "overwrite"])
def test_a_new_table_gets_the_options_of_its_writer(sql: Sql, rows: Rows, mode: str) -> None:
    writer = rows("(1, 'x', 'p')", "a, b, p").write.format("paimon").mode(mode)
    given = {"primary-key": "a,p", "bucket": "2", "file.format": "avro", "fields.b.stats-mode": "none"}
    of_write = {"write.merge-schema": "true", "mergeSchema": "true", "header": "true"}
    writer.options(**given, **of_write).partitionBy("p").saveAsTable("t")
    assert sql("SELECT * FROM t") == [(1, "x", "p")]
    text = definition(sql, "t")
    assert "PARTITIONED BY (p)" in text
    assert "PRIMARY KEY (a, p) NOT ENFORCED" in text
    assert text.endswith("TBLPROPERTIES ( 'bucket' = '2', 'fields.b.stats-mode' = 'none', 'file.format' = 'avro')")
    assert {str(path)[-5:] for (path,) in sql("SELECT file_path FROM t$files")} == {".avro"}


def test_partition_columns_may_be_an_option_too(sql: Sql, rows: Rows) -> None:
    frame = rows("(1, 'x')", "a, p")
    frame.write.format("paimon").option("partition", "p").option("primary-key", "a,p").saveAsTable("t")
    assert "PARTITIONED BY (p)" in definition(sql, "t")


def test_a_table_that_is_there_is_not_asked_for_what_makes_tables(sql: Sql, rows: Rows) -> None:
    options: dict[str, Any] = {"primary-key": "a", "bucket": "2"}
    for number, mode in enumerate(("errorifexists", "append", "overwrite", "ignore")):
        rows(f"({number})", "a").write.format("paimon").mode(mode).options(**options).saveAsTable("t")
    assert sql("SELECT * FROM t") == [(2,)]
    with pytest.raises(AnalysisException, match="already exists"):
        rows("(9)", "a").write.format("paimon").options(**options).saveAsTable("t")
    with pytest.raises(Exception, match="bucket"):
        rows("(9)", "a").write.format("paimon").mode("overwrite").option("bucket", "x").saveAsTable("new")
    assert sql("SHOW TABLES LIKE 'new'") == []


@pytest.mark.smoke
def test_the_second_writer_takes_properties_and_options(sql: Sql, rows: Rows) -> None:
    writer = rows("(1, 'x')", "a, b").writeTo("t").using("paimon").tableProperty("primary-key", "a")
    writer.option("bucket", "3").option("file.format", "avro").create()
    key = "PRIMARY KEY (a) NOT ENFORCED) USING paimon TBLPROPERTIES"
    assert definition(sql, "t").endswith(f"{key} ( 'bucket' = '3', 'file.format' = 'avro')")
    # Whoever replaces a table asks for another definition.
    rows("(2, 'y')", "a, b").writeTo("t").tableProperty("primary-key", "a").option("bucket", "4").createOrReplace()
    assert definition(sql, "t").endswith(f"{key} ( 'bucket' = '4')")
    rows("(3, 'z')", "a, b").writeTo("t").replace()
    assert definition(sql, "t").endswith("(a INT, b STRING) USING paimon".replace("(a", "( a"))
    assert sql("SELECT * FROM t") == [(3, "z")]


def test_a_statement_replaces_the_definition(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT) TBLPROPERTIES ('primary-key' = 'a', 'bucket' = '1')")
    sql("CREATE OR REPLACE TABLE t AS SELECT 'x' AS other")
    assert sql("SELECT * FROM t") == [("x",)]
    assert "PRIMARY KEY" not in definition(sql, "t")


def test_folders_of_plain_files_are_overwritten(sql: Sql, rows: Rows) -> None:
    sql("CREATE TABLE f (a INT, b STRING) USING csv TBLPROPERTIES ('csv.field-delimiter' = ';')")
    sql("INSERT INTO f VALUES (1, 'x')")
    before = definition(sql, "f")
    rows("('y', 2)", "b, a").write.format("csv").mode("overwrite").saveAsTable("f")
    assert (sql("SELECT * FROM f"), definition(sql, "f")) == ([(2, "y")], before)


@pytest.mark.parametrize("keys", ["", ", 'primary-key' = 'a,p'", ", 'primary-key' = 'a'"])
def test_an_overwrite_takes_no_rows_outside_of_what_it_replaces(sql: Sql, rows: Rows, keys: str) -> None:
    sql(f"CREATE TABLE t (a INT, p STRING) PARTITIONED BY (p) TBLPROPERTIES ('bucket' = '-1'{keys})")
    sql("INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')")
    writer = rows("(10, 'x'), (2, 'x')", "a, p").writeTo("t")
    with pytest.raises(Exception, match="partition p=x"):
        writer.overwrite(col("p") == "y")
    with pytest.raises(Exception, match="partition p=x"):
        sql("INSERT INTO t REPLACE WHERE p > 'x' SELECT 10 AS a, 'x' AS p")
    assert sorted(sql("SELECT * FROM t")) == [(1, "x"), (2, "y"), (3, "z")]
    writer.overwrite(col("p") < "y")
    kept = [(3, "z")] if keys.endswith("'a'") else [(2, "y"), (3, "z")]
    assert sorted(sql("SELECT * FROM t")) == sorted([(2, "x"), (10, "x"), *kept])
