"""Format tables in SQL: folders of plain files that Spark's own sources read and write."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, udf

from tests.spark.conftest import Sql

Folder = Callable[[str], Path]


@pytest.fixture
def folder(sql: Sql) -> Folder:
    """Where a table's files stand."""

    def find(table: str) -> Path:
        (place,) = [row[1] for row in sql(f"DESCRIBE EXTENDED {table}") if row[0] == "Location"]
        return Path(place.removeprefix("file:"))

    return find


def files(folder: Path) -> list[str]:
    """The folders of all files that are no definition, below a table's."""
    found = [p.relative_to(folder) for p in folder.rglob("*") if p.is_file() and "schema" not in p.parts]
    return sorted(str(p.parent) for p in found if not p.name.startswith("."))


@pytest.mark.smoke
def test_rows_come_back_from_files_of_each_format(sql: Sql) -> None:
    moment = dt.datetime(2024, 1, 1, 10, 0, 0, 123456)
    for kind in ("csv", "json", "orc", "parquet"):
        sql(
            f"CREATE TABLE {kind} (a INT, s STRING, d DATE, t TIMESTAMP, n TIMESTAMP_NTZ, x DECIMAL(5, 2), c CHAR(3))"
            f" USING {kind}"
        )
        sql(
            f"INSERT INTO {kind} VALUES (1, 'a,\"b', DATE'2024-01-01', TIMESTAMP'2024-01-01 10:00:00.123456',"
            " TIMESTAMP_NTZ'2024-01-01 10:00:00.123456', 1.5, 'u'), (2, NULL, NULL, NULL, NULL, NULL, NULL)"
        )
        first, second = sql(f"SELECT a, d, t, n, CAST(x AS STRING), c FROM {kind} ORDER BY a")
        assert first == (1, dt.date(2024, 1, 1), moment, moment, "1.50", "u  "), kind
        assert second == (2, None, None, None, None, None), kind
        assert sql(f"SELECT s FROM {kind} WHERE a = 1") == [('a,"b',)], kind
    sql("CREATE TABLE txt (v STRING) USING text")
    sql("INSERT INTO txt VALUES ('x'), ('y')")
    assert sql("SELECT * FROM txt ORDER BY v") == [("x",), ("y",)]


def test_the_options_of_paimon_and_of_spark_tell_how_csv_is_written(sql: Sql, folder: Folder) -> None:
    ours = "'csv.field-delimiter'=';', 'csv.quote-character'='%', 'csv.include-header'='true', 'csv.null-literal'='nil'"
    sparks = "'sep'=';', 'quote'='%', 'header'='true', 'nullvalue'='nil'"
    for name, options in (("ours", ours), ("sparks", sparks)):
        sql(f"CREATE TABLE {name} (id INT, v STRING) USING csv TBLPROPERTIES ({options})")
        sql(f"INSERT INTO {name} VALUES (1, 'a;b'), (2, NULL)")
        text = "".join(sorted(p.read_text() for p in folder(name).glob("part-*")))
        assert "id;v\n" in text and "1;%a;b%\n" in text and "2;nil\n" in text, name
        assert sql(f"SELECT * FROM {name} ORDER BY id") == [(1, "a;b"), (2, None)]
    sql("CREATE TABLE flink (a INT, b STRING) WITH ('type'='format-table','file.format'='csv','field-delimiter'='|')")
    (folder("flink") / "plain.csv").write_text("1|x\nno number|y\n")
    assert sql("SELECT * FROM flink ORDER BY b") == [(1, "x"), (None, "y")]
    with pytest.raises(Exception, match="MALFORMED"):
        sql("SELECT * FROM flink /*+ OPTIONS('csv.mode'='failfast') */")
    sql("CREATE TABLE packed (a INT) USING json TBLPROPERTIES ('file.compression'='gzip')")
    sql("INSERT INTO packed VALUES (1)")
    assert [p.suffix for p in folder("packed").glob("part-*")] == [".gz"]
    assert sql("SELECT * FROM packed") == [(1,)]


@pytest.mark.smoke
def test_partitions_are_written_pruned_and_overwritten(sql: Sql, folder: Folder) -> None:
    sql("CREATE TABLE p (a INT, h INT, d DATE) USING parquet PARTITIONED BY (d, h)")
    sql("INSERT INTO p VALUES (1, 7, DATE'2024-01-01'), (2, 8, DATE'2024-01-02'), (3, NULL, NULL)")
    assert files(folder("p")) == [
        "d=2024-01-01/h=7",
        "d=2024-01-02/h=8",
        "d=__DEFAULT_PARTITION__/h=__DEFAULT_PARTITION__",
    ]
    assert sql("SELECT a FROM p WHERE d = DATE'2024-01-02' AND h > 1") == [(2,)]
    assert sql("SELECT a, h FROM p WHERE d IS NULL") == [(3, None)]
    plan = sql("EXPLAIN SELECT a FROM p WHERE d = DATE'2024-01-02'")[0][0]
    assert "ParquetScan" in plan and "(1 paths)" in plan
    sql("INSERT OVERWRITE p PARTITION (d = '2024-01-01', h = 7) VALUES (10)")
    assert sql("SELECT a FROM p ORDER BY a") == [(2,), (3,), (10,)]
    sql("SET spark.sql.sources.partitionOverwriteMode=dynamic")
    try:
        sql("INSERT OVERWRITE p VALUES (20, 8, DATE'2024-01-02')")
    finally:
        sql("RESET spark.sql.sources.partitionOverwriteMode")
    assert sql("SELECT a FROM p ORDER BY a") == [(3,), (10,), (20,)]
    sql("INSERT OVERWRITE p SELECT 30, 9, DATE'2024-01-03'")
    assert sql("SELECT * FROM p") == [(30, 9, dt.date(2024, 1, 3))]
    assert not list(folder("p").rglob(".paimon*"))


def test_partitions_are_made_emptied_and_dropped(sql: Sql) -> None:
    sql("CREATE TABLE p (a INT, x INT, y STRING) USING csv PARTITIONED BY (x, y)")
    sql("INSERT INTO p VALUES (1, 1, 'u'), (2, 2, 'u'), (3, 2, 'v/w')")
    sql("ALTER TABLE p ADD PARTITION (x = 3, y = 'u')")
    assert sql("SHOW PARTITIONS p") == [("x=1/y=u",), ("x=2/y=u",), ("x=2/y=v%2Fw",), ("x=3/y=u",)]
    sql("TRUNCATE TABLE p PARTITION (x = 2)")
    assert sql("SELECT a FROM p") == [(1,)]
    with pytest.raises(Exception, match="PARTITIONS_NOT_FOUND"):
        sql("TRUNCATE TABLE p PARTITION (x = 9, y = 'u')")
    sql("ALTER TABLE p DROP PARTITION (x = 2, y = 'u')")
    assert sql("SHOW PARTITIONS p PARTITION (x = 2)") == [("x=2/y=v%2Fw",)]
    sql("TRUNCATE TABLE p")
    assert sql("SELECT count(*) FROM p") == [(0,)]
    assert len(sql("SHOW PARTITIONS p")) == 3
    with pytest.raises(Exception, match="LOCATION"):
        sql("ALTER TABLE p ADD PARTITION (x = 4, y = 'u') LOCATION '/tmp/x'")


def test_a_write_that_fails_leaves_nothing_to_be_seen(sql: Sql, folder: Folder) -> None:
    sql("CREATE TABLE t (a INT NOT NULL, b STRING) USING parquet")
    sql("INSERT INTO t VALUES (1, 'x')")
    with pytest.raises(Exception, match="not true"):
        sql("INSERT OVERWRITE t SELECT id, assert_true(id < 5) || 'x' FROM range(0, 10, 1, 2)")
    with pytest.raises(Exception, match="NOT_NULL"):
        sql("INSERT INTO t SELECT CAST(NULL AS INT), 'x'")
    assert sql("SELECT * FROM t") == [(1, "x")]
    assert sorted(p.name for p in folder("t").iterdir() if p.name.startswith(".paimon")) == []
    with pytest.raises(Exception, match="not true"):
        sql("CREATE TABLE u USING csv AS SELECT id, assert_true(id < 5) || 'x' AS v FROM range(10)")
    assert ("u",) not in [row[1:2] for row in sql("SHOW TABLES")]
    sql("CREATE TABLE u USING csv PARTITIONED BY (p) AS SELECT 1 AS a, 2 AS p")
    assert sql("SELECT * FROM u") == [(1, 2)]


def test_files_of_others_are_found_and_outlive_the_table(sql: Sql, spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "plain files"
    spark.range(4).selectExpr("id AS a", "id % 2 AS p").write.partitionBy("p").parquet(str(place))
    sql(f"CREATE TABLE e (a BIGINT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{place}'")
    assert sql("SELECT * FROM e ORDER BY a") == [(0, 0), (1, 1), (2, 0), (3, 1)]
    sql("INSERT INTO e VALUES (4, 2)")
    assert (4, 2) in [tuple(row) for row in spark.read.parquet(str(place)).select("a", "p").collect()]
    assert f"LOCATION 'file:{place}'" in sql("SHOW CREATE TABLE e")[0][0]
    sql("ALTER TABLE e RENAME TO f")
    sql("DROP TABLE f")
    assert spark.read.parquet(str(place)).count() == 5


def test_what_only_snapshots_can_do_is_refused_in_one_sentence(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT, b STRING) USING csv")
    for statement in (
        "UPDATE t SET a = 1",
        "DELETE FROM t WHERE a = 1",
        "MERGE INTO t USING (SELECT 1 AS a) s ON t.a = s.a WHEN MATCHED THEN DELETE",
        "SELECT * FROM t VERSION AS OF 1",
        "SELECT * FROM t /*+ OPTIONS('scan.snapshot-id'='1') */",
        "SELECT * FROM `t$snapshots`",
        "SELECT * FROM `t$branch_b`",
        "CALL sys.compact(table => 't')",
        "CALL sys.create_tag(table => 't', tag => 'x')",
    ):
        with pytest.raises(Exception, match=r"paimon\S*t\S* is a format table|t\$branch_b. cannot be found"):
            sql(statement)
    for statement, why in (
        ("CREATE TABLE k (a INT, PRIMARY KEY (a) NOT ENFORCED) WITH ('type'='format-table')", "no primary key"),
        ("ANALYZE TABLE t COMPUTE STATISTICS", "format table whose partitions no catalog registers"),
        ("ALTER TABLE t DROP COLUMN a", "what its files hold"),
        ("ALTER TABLE t SET TBLPROPERTIES ('file.format'='json')", "fixed when it is created"),
    ):
        with pytest.raises(Exception, match=why):
            sql(statement)


def test_the_definition_of_a_format_table_is_told_and_changed(sql: Sql, spark: SparkSession) -> None:
    sql("CREATE TABLE t (a INT COMMENT 'x', b STRING) USING csv TBLPROPERTIES ('csv.field-delimiter'=';') COMMENT 'c'")
    sql("INSERT INTO t VALUES (1, 'u')")
    sql("ALTER TABLE t ADD COLUMN z INT")
    sql("ALTER TABLE t SET TBLPROPERTIES ('csv.mode'='dropmalformed')")
    sql("ALTER TABLE t ALTER COLUMN a COMMENT 'y'")
    sql("INSERT INTO t VALUES (2, 'v', 3)")
    assert sql("SELECT * FROM t WHERE z = 3") == [(2, "v", 3)]
    told = sql("SHOW CREATE TABLE t")[0][0]
    assert "USING csv" in told and "'csv.field-delimiter' = ';'" in told
    sql("CREATE TABLE l LIKE t")
    assert [row[:2] for row in sql("DESCRIBE l")] == [("a", "int"), ("b", "string"), ("z", "int")]
    sql("INSERT INTO l SELECT * FROM t WHERE z IS NOT NULL")
    assert sql("SELECT table_name, table_type FROM sys.tables WHERE table_name IN ('t', 'l') ORDER BY 1") == [
        ("l", "format-table"),
        ("t", "format-table"),
    ]
    assert ("format-table",) in sql("SELECT value FROM sys.all_table_options WHERE table_name = 't' AND key = 'type'")
    spark.sql("SELECT 5 AS a, 'w' AS b, 6 AS z").write.mode("append").saveAsTable("l")
    spark.sql("SELECT 7 AS a, 'w' AS b").write.format("orc").saveAsTable("w")
    assert sql("SELECT a FROM l ORDER BY a") == [(2,), (5,)]
    assert "USING orc" in sql("SHOW CREATE TABLE w")[0][0]


def test_a_format_table_is_replaced_with_its_definition_and_its_files(sql: Sql, folder: Folder) -> None:
    sql("CREATE TABLE t (a INT, p INT, q STRING) USING csv PARTITIONED BY (p, q)")
    sql("INSERT INTO t VALUES (1, 1, 'x'), (2, 2, 'y')")
    # The table is read while it is replaced.
    sql("CREATE OR REPLACE TABLE t USING json PARTITIONED BY (q) AS SELECT q, a + 10 AS b FROM t")
    assert sql("SELECT b, q FROM t ORDER BY b") == [(11, "x"), (12, "y")]
    assert sorted(p.name for p in folder("t").iterdir()) == ["q=x", "q=y", "schema"]
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        sql("REPLACE TABLE t USING json AS SELECT 1 / (id - id) AS x FROM range(3)")
    assert sql("SELECT b, q FROM t ORDER BY b") == [(11, "x"), (12, "y")]
    assert sorted(p.name for p in folder("t").iterdir()) == ["q=x", "q=y", "schema"]
    values = "'format-table.partition-path-only-value'='true'"
    sql(f"CREATE OR REPLACE TABLE t (a INT, p INT) USING csv PARTITIONED BY (p) TBLPROPERTIES ({values})")
    assert sql("SELECT * FROM t") == [] == sql("SHOW PARTITIONS t")
    sql("INSERT INTO t VALUES (1, 5)")
    sql("CREATE OR REPLACE TABLE t (v STRING) USING text")
    assert sql("SELECT * FROM t") == []
    sql("CREATE OR REPLACE TABLE fresh USING orc AS SELECT 1 AS a")
    assert sql("SELECT * FROM fresh") == [(1,)]


def test_a_write_that_fails_waits_for_its_other_tasks_before_it_cleans_up(
    spark: SparkSession, sql: Sql, folder: Folder, tmp_path: Path
) -> None:
    ended = tmp_path / "ended"

    def slow(n: int) -> int:
        if n < 2:
            raise ValueError("no such number")
        time.sleep(1)
        ended.touch()
        return n

    sql("CREATE TABLE t (n INT, p INT) USING json PARTITIONED BY (p)")
    slowly = udf(slow, "int", useArrow=False)
    rows = spark.range(0, 4, 1, 2).select(slowly("id").alias("n"), col("id").cast("int").alias("p"))
    rows.createOrReplaceTempView("some_rows")
    for statement in (
        "INSERT INTO t SELECT n, p FROM some_rows",
        "REPLACE TABLE t USING json AS SELECT * FROM some_rows",
    ):
        with pytest.raises(Exception, match="no such number"):
            sql(statement)
        assert ended.exists() and [p.name for p in folder("t").iterdir()] == ["schema"]
        ended.unlink()


def test_files_elsewhere_stay_when_their_table_is_replaced(sql: Sql, tmp_path: Path) -> None:
    sql(f"CREATE TABLE e (a INT) USING csv LOCATION '{tmp_path}/x'")
    sql("INSERT INTO e VALUES (1)")
    sql(f"CREATE OR REPLACE TABLE e (a INT) USING csv LOCATION '{tmp_path}/y'")
    assert sql("SELECT * FROM e") == []
    sql(f"CREATE OR REPLACE TABLE e (a INT) USING csv LOCATION '{tmp_path}/x'")
    assert sql("SELECT * FROM e") == [(1,)]
    sql(f"CREATE OR REPLACE TABLE e USING csv LOCATION '{tmp_path}/x' AS SELECT a + 1 AS a FROM e")
    assert sql("SELECT * FROM e") == [(2,)]


def test_partitions_go_by_some_of_their_columns(sql: Sql, folder: Folder) -> None:
    sql("CREATE TABLE t (a INT, d DATE, h INT, q STRING) USING csv PARTITIONED BY (d, h, q)")
    sql(
        "INSERT INTO t VALUES (1, DATE'2024-01-01', 7, 'x'), (2, DATE'2024-01-01', 8, 'y'), (3, DATE'2024-01-02', 7,"
        " 'x'), (4, NULL, 7, NULL)"
    )
    (folder("t") / "d=2024-01-01" / "h=07" / "q=x").mkdir(parents=True)
    sql("ALTER TABLE t DROP IF EXISTS PARTITION (d = '2024-01-01', h = 7)")
    assert sql("SELECT a FROM t ORDER BY a") == [(2,), (3,), (4,)]
    assert sorted(p.name for p in (folder("t") / "d=2024-01-01").iterdir()) == ["h=8"]
    sql("ALTER TABLE t DROP PARTITION (q = NULL) PURGE")
    assert sql("SELECT a FROM t ORDER BY a") == [(2,), (3,)]
    sql("ALTER TABLE t DROP PARTITION (d = DATE'2024-01-01')")
    assert sql("SHOW PARTITIONS t") == [("d=2024-01-02/h=7/q=x",)]
    assert sorted(p.name for p in folder("t").iterdir()) == ["d=2024-01-02", "schema"]
    sql("ALTER TABLE t DROP PARTITION (h = 9)")
    with pytest.raises(Exception, match="z"):
        sql("ALTER TABLE t DROP PARTITION (z = 1)")
    assert sql("SELECT a FROM t") == [(3,)]
    sql("ALTER TABLE t DROP PARTITION (h = 7), PARTITION (h = 8)")
    assert sql("SELECT a FROM t") == []


def test_files_in_folders_below_are_rows_too(sql: Sql, folder: Folder) -> None:
    sql("CREATE TABLE t (a INT, p INT) USING csv PARTITIONED BY (p)")
    sql("CREATE TABLE u (a INT) USING csv")
    for place in (folder("t") / "p=1", folder("u")):
        for below, text in (("", "1"), ("sub", "2"), ("sub/deep=7", "3"), ("_hidden", "4"), ("sub/.too", "5")):
            (place / below).mkdir(parents=True, exist_ok=True)
            (place / below / "f.csv").write_text(f"{text}\n")
    assert sql("SELECT * FROM t ORDER BY a") == [(1, 1), (2, 1), (3, 1)]
    assert sql("SELECT * FROM u ORDER BY a") == [(1,), (2,), (3,)]
    assert sql("SHOW PARTITIONS t") == [("p=1",)]
    sql("INSERT OVERWRITE t PARTITION (p = 1) VALUES (9)")
    assert sql("SELECT * FROM t") == [(9, 1)]
    sql("CREATE OR REPLACE TABLE u (b INT) USING csv")
    assert sorted(p.name for p in folder("u").iterdir()) == ["_hidden", "schema"]


def test_json_may_have_its_numbers_in_quotes(sql: Sql, folder: Folder) -> None:
    sql(
        "CREATE TABLE t (a TINYINT, b BIGINT, c DOUBLE, d DECIMAL(20, 3), e BOOLEAN, f DATE, g ARRAY<INT>,"
        " h STRUCT<x: INT, y: STRING>, m MAP<STRING, FLOAT>, k MAP<INT, BIGINT>, v STRING, p INT)"
        " USING json PARTITIONED BY (p)"
    )
    sql(
        "INSERT INTO t VALUES (1, 9223372036854775807, DOUBLE('NaN'), 1.5, true, DATE'2024-01-01', ARRAY(1, NULL),"
        " STRUCT(1, 'x'), MAP('q', 0.5F), MAP(7, 8L), '1', 3), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,"
        " NULL, NULL, NULL)"
    )
    # As Java's connector writes it.
    (folder("t") / "p=4").mkdir()
    (folder("t") / "p=4" / "java.json").write_text(
        '{"a":"2","b":"-9223372036854775808","c":"Infinity","d":"2.500","e":"false","f":"2024-01-02","g":["1",null],'
        '"h":{"x":"2","y":"z"},"m":{"q":"0.25"},"k":{"7":"8"},"v":"2"}\n'
    )
    columns = "a, b, CAST(c AS STRING), CAST(d AS STRING), e, CAST(f AS STRING), g, h.x, h.y, m['q'], k[7], v, p"
    written = (1, 2**63 - 1, "NaN", "1.500", True, "2024-01-01", [1, None], 1, "x", 0.5, 8, "1", 3)
    by_java = (2, -(2**63), "Infinity", "2.500", False, "2024-01-02", [1, None], 2, "z", 0.25, 8, "2", 4)
    assert sql(f"SELECT {columns} FROM t WHERE p IS NOT NULL ORDER BY p") == [written, by_java]
    assert sql("SELECT a FROM t WHERE p IS NULL") == [(None,)]
    assert sql("SELECT b FROM t WHERE a = 2 AND NOT e") == [(-(2**63),)]
    assert sql("SELECT p, a FROM t WHERE h.x > 1 AND p > 3") == [(4, 2)]
    assert sql("SELECT count(*), sum(a) FROM t") == [(3, 3)]
    assert sql("SELECT x.a, y.b FROM t x JOIN t y ON x.a = y.a WHERE x.p = 4") == [(2, -(2**63))]
    sql("CREATE TABLE u USING json AS SELECT a, e FROM t")
    assert sql("SELECT a, e FROM u WHERE a IS NOT NULL ORDER BY a") == [(1, True), (2, False)]


def test_bad_values_in_json_are_what_the_mode_says(sql: Sql, folder: Folder) -> None:
    sql("CREATE TABLE t (a INT, v STRING) USING json")
    (folder("t") / "f.json").write_text('{"a":"no","v":"x"}\n{"a":"1","v":"y"}\n{"a":1.5,"v":"z"}\n')
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        sql("SELECT a FROM t WHERE v <> 'y'")
    assert sql("SELECT a FROM t WHERE v = 'y'") == [(1,)]
    lenient = "/*+ OPTIONS('json.ignore-parse-errors'='true') */"
    assert sql(f"SELECT a, v FROM t {lenient} ORDER BY v") == [(None, "x"), (1, "y"), (None, "z")]


@pytest.mark.parametrize("clause", ["TBLPROPERTIES ('compression' = 'gzip')", "OPTIONS ('compression' = 'gzip')"])
def test_files_are_compressed_as_sparks_own_option_says(sql: Sql, folder: Folder, clause: str) -> None:
    for kind in ("csv", "json", "parquet"):
        sql(f"CREATE TABLE {kind}_t (a INT, b STRING) USING {kind} {clause}")
        sql(f"INSERT INTO {kind}_t VALUES (1, 'x'), (2, NULL)")
        assert {".gz" in file.name for file in folder(f"{kind}_t").glob("part-*")} == {True}
        assert sql(f"SELECT * FROM {kind}_t ORDER BY a") == [(1, "x"), (2, None)]


def test_values_may_be_parted_by_several_signs(sql: Sql, folder: Folder) -> None:
    sql("CREATE TABLE t (a INT, b STRING) USING csv TBLPROPERTIES ('csv.field-delimiter' = '|#')")
    sql("INSERT INTO t VALUES (1, 'x|y'), (2, 'z|#'), (3, NULL)")
    lines = {line for file in folder("t").glob("part-*") for line in file.read_text().splitlines()}
    assert "1|#x|y" in lines and len(lines) == 3
    assert sql("SELECT * FROM t ORDER BY a") == [(1, "x|y"), (2, "z|#"), (3, None)]
