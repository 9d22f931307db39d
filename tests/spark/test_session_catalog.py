"""Spark's own catalog replaced: Paimon's tables and ordinary ones under one name."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import paimon_sql
from paimon_sql.spark.jvm.compat import HAS_VIEWS
from tests.spark.conftest import Sql

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of both kinds of tables."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def session(spark: SparkSession, warehouse: Path) -> SparkSession:
    """A session whose ``spark_catalog`` holds Paimon's tables too."""
    return paimon_sql.install(spark.newSession(), {"spark_catalog": {"warehouse": str(warehouse)}})


@pytest.fixture
def database(session: SparkSession, warehouse: Path) -> Iterator[str]:
    """A database, whose tables of both kinds stand in one folder, as they do unless somebody says otherwise."""
    name = f"shared{next(_NUMBERS)}"
    session.sql(f"CREATE DATABASE spark_catalog.{name} COMMENT 'of both' LOCATION '{warehouse}/{name}.db'")
    session.sql(f"USE spark_catalog.{name}")
    yield name
    session.sql("USE spark_catalog.default")
    session.sql(f"DROP DATABASE IF EXISTS {name} CASCADE")


@pytest.fixture
def sql(session: SparkSession, database: str) -> Sql:
    """Runs statements in that database, where ``p`` is a table of Paimon's and ``o`` an ordinary one."""

    def run(text: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in session.sql(text).collect()]

    run("CREATE TABLE p (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) USING paimon TBLPROPERTIES ('bucket' = '1')")
    run("CREATE TABLE o (id INT, w STRING, pt INT) USING parquet PARTITIONED BY (pt)")
    run("INSERT INTO p VALUES (1, 'a'), (2, NULL)")
    run("INSERT INTO o VALUES (1, 'A', 0), (3, 'ü', 1), (NULL, 'N', 1)")
    return run


def tables(sql: Sql) -> list[object]:
    """The names that SHOW TABLES lists."""
    return [row[1] for row in sql("SHOW TABLES")]


@pytest.mark.smoke
def test_a_statement_takes_tables_of_both_kinds(sql: Sql, database: str) -> None:
    assert sql("SELECT id, v, w FROM p JOIN o USING (id)") == [(1, "a", "A")]
    sql("MERGE INTO p USING o ON p.id = o.id WHEN MATCHED THEN UPDATE SET v = w"
        " WHEN NOT MATCHED AND o.id IS NOT NULL THEN INSERT (id, v) VALUES (id, w)")  # fmt: skip
    sql(f"DELETE FROM SPARK_CATALOG.{database}.p WHERE id IN (SELECT max(id) FROM o WHERE pt = 0)")
    assert sql("SELECT * FROM p ORDER BY id") == [(2, None), (3, "ü")]
    sql(f"INSERT INTO o SELECT id, v, 2 FROM spark_catalog.{database}.p")
    sql("INSERT OVERWRITE o PARTITION (pt = 1) SELECT id, v FROM p")
    assert sql("SELECT pt, count(*) FROM o GROUP BY pt ORDER BY pt") == [(0, 1), (1, 2), (2, 2)]
    sql("CREATE TABLE paimon.default.elsewhere AS SELECT id FROM o WHERE pt = 1")
    found = sql(f"SELECT count(*) FROM paimon.default.elsewhere JOIN p USING (id) JOIN {database}.o USING (id)")
    assert found == [(4,)]
    sql("DROP TABLE paimon.default.elsewhere")


@pytest.mark.smoke
def test_what_a_table_is_made_of_is_said_by_using(sql: Sql, session: SparkSession) -> None:
    sql("CREATE TABLE made (id INT)")
    sql("CREATE TABLE made_of_csv USING csv AS SELECT 1 AS id")
    sql("CREATE TABLE made_of_rows USING paimon AS SELECT 1 AS id")
    sql("CREATE OR REPLACE TABLE made_of_rows USING paimon AS SELECT 2 AS other")
    sql("CREATE TABLE like_p LIKE p")
    sql("CREATE TABLE like_o LIKE o")
    session.conf.set("spark.sql.sources.default", "paimon")
    try:
        sql("CREATE TABLE by_default (id INT PRIMARY KEY NOT ENFORCED)")
    finally:
        session.conf.unset("spark.sql.sources.default")
    assert tables(sql) == [
        *("by_default", "like_o", "like_p", "made", "made_of_csv", "made_of_rows", "o", "p"),
    ]  # fmt: skip
    providers = {
        name: re.search(r"USING (\w+)", str(sql(f"SHOW CREATE TABLE {name}")[0][0]))[1]  # type: ignore[index]
        for name in tables(sql)
    }
    assert {n for n, p in providers.items() if p == "paimon"} == {"by_default", "like_p", "made_of_rows", "p"}
    assert {providers[n] for n in ("made", "made_of_csv", "like_o")} == {"parquet", "csv"}
    assert sql("SELECT * FROM made_of_rows") == [(2,)]


@pytest.mark.smoke
def test_each_command_reaches_the_table_that_it_names(sql: Sql, database: str) -> None:
    sql("ALTER TABLE p ADD COLUMN n INT")
    sql("ALTER TABLE p SET TBLPROPERTIES ('snapshot.time-retained' = '2 h')")
    sql("ALTER TABLE o ADD COLUMNS (n INT)")
    sql("ALTER TABLE o DROP PARTITION (pt = 0)")
    assert sql("SHOW PARTITIONS o") == [("pt=1",)]
    for name in ("o", "p"):
        sql(f"ANALYZE TABLE {name} COMPUTE STATISTICS FOR ALL COLUMNS")
        sql(f"REFRESH TABLE {name}")
        assert "n" in [row[0] for row in sql(f"DESCRIBE {name}")]
        assert sql(f"SHOW COLUMNS IN {name}")
    assert ("Provider", "parquet", "") in sql("DESCRIBE EXTENDED o")
    assert ("Provider", "paimon", "") in sql("DESCRIBE EXTENDED p")
    sql("ALTER TABLE p CREATE TAG kept")
    for name in ("o", "p"):
        sql(f"TRUNCATE TABLE {name}")
        assert sql(f"SELECT count(*) FROM {name}") == [(0,)]
    assert sql("SELECT id FROM p VERSION AS OF 'kept' ORDER BY id") == [(1,), (2,)]
    assert sql("SELECT count(*) FROM p /*+ OPTIONS('scan.snapshot-id' = '1') */") == [(2,)]
    assert ("OVERWRITE",) in sql("SELECT commit_kind FROM p$snapshots")
    assert sql("SHOW TAGS p") == [("kept",)]
    assert sql(f"CALL sys.compact('{database}.p')")[0][0] is True
    assert sql("CALL spark_catalog.sys.delete_tag('p', 'kept')")[0][0] is True
    with pytest.raises(PySparkException, match="TIME_TRAVEL"):
        sql("SELECT * FROM o VERSION AS OF 1")
    sql("ALTER TABLE p RENAME TO p2")
    sql("ALTER TABLE o RENAME TO o2")
    assert tables(sql) == ["o2", "p2"]
    sql("DROP TABLE p2")
    sql("DROP TABLE o2")
    assert tables(sql) == []
    with pytest.raises(PySparkException, match="TABLE_OR_VIEW_NOT_FOUND"):
        sql("SELECT * FROM p2")


@pytest.mark.smoke
def test_show_table_extended_describes_tables_of_both_kinds(sql: Sql, database: str) -> None:
    sql("CREATE TABLE `größe` (id INT) USING paimon COMMENT 'ours'")
    sql("CREATE TEMPORARY VIEW o_view AS SELECT 1 AS a")
    try:
        found = sql(f"SHOW TABLE EXTENDED IN {database} LIKE '*'")
    finally:
        sql("DROP VIEW o_view")
    assert [row[:3] for row in found] == [
        *((database, name, False) for name in ("größe", "o", "p")),
        ("", "o_view", True),
    ]
    ours, ordinary, keyed, view = (str(row[3]) for row in found)
    assert "Provider: paimon" in ours and "Comment: ours" in ours
    assert "Provider: parquet" in ordinary and "Type: VIEW" in view
    assert "Table Properties: [" in keyed and "id: integer (nullable = false)" in keyed
    assert [row[1] for row in sql("SHOW TABLE EXTENDED LIKE 'p|o'")] == ["o", "p"]
    assert sql("SHOW TABLE EXTENDED LIKE 'none'") == []
    assert [row[1:3] for row in sql("SHOW TABLE EXTENDED LIKE 'o' PARTITION (pt = 1)")] == [("o", False)]


REFUSED = (
    *("CREATE TABLE p (x INT) USING parquet", "CREATE TABLE P (x INT) USING csv"),
    *("CREATE TABLE p USING parquet AS SELECT 1 AS x", "CREATE TABLE p LIKE o"),
    *("CREATE VIEW p AS SELECT 1 AS x", "CREATE OR REPLACE VIEW p AS SELECT 1 AS x"),
    *("ALTER TABLE o RENAME TO p", "ALTER TABLE p RENAME TO o"),
    *("CREATE TABLE o (x INT) USING paimon", "CREATE TABLE O USING paimon AS SELECT 1 AS x"),
    *("CREATE TABLE o LIKE p", "REPLACE TABLE o (x INT) USING paimon"),
    *("CREATE OR REPLACE TABLE o USING paimon AS SELECT 1 AS x", "CREATE MATERIALIZED TABLE o AS SELECT 1 AS x"),
    *("CALL sys.copy('p', 'o')", "CALL sys.migrate_table('hive', '{database}.o')"),
)
TOLERANT = (
    *("TABLE IF NOT EXISTS p (x INT) USING csv", "TABLE IF NOT EXISTS p USING csv AS SELECT 1 AS x"),
    *("TABLE IF NOT EXISTS p LIKE o", "VIEW IF NOT EXISTS p AS SELECT 1 AS x"),
    *("TABLE IF NOT EXISTS o (x INT) USING paimon", "TABLE IF NOT EXISTS o USING paimon AS SELECT 1 AS x"),
    "TABLE IF NOT EXISTS o LIKE p",
)


@pytest.mark.smoke
def test_a_name_is_had_once(sql: Sql, database: str) -> None:
    for statement in REFUSED:
        with pytest.raises(PySparkException, match=r"ALREADY_EXISTS|already|no table of Paimon's|ordinary"):
            sql(statement.format(database=database))
    for made in TOLERANT:
        sql(f"CREATE {made}")
    assert tables(sql) == ["o", "p"]
    assert (sql("SELECT max(v) FROM p"), sql("SELECT max(w) FROM o")) == ([("a",)], [("ü",)])


def test_dataframes_make_tables_with_options_and_overwrite_their_rows(sql: Sql, session: SparkSession) -> None:
    frame = session.sql("SELECT 7 AS id, 'x' AS v")
    frame.write.format("paimon").mode("overwrite").saveAsTable("p")
    assert sql("SELECT * FROM p") == [(7, "x")]
    frame.write.format("paimon").option("primary-key", "id").option("bucket", "2").saveAsTable("made")
    for table, bucket in (("p", "1"), ("made", "2")):
        assert ("primary-key", "id") in sql(f"SHOW TBLPROPERTIES {table}")
        assert ("bucket", bucket) in sql(f"SHOW TBLPROPERTIES {table}")


def test_dataframes_write_both_kinds(sql: Sql, session: SparkSession) -> None:
    frame = session.sql("SELECT 7 AS id, 'x' AS v")
    frame.write.format("paimon").saveAsTable("saved")
    frame.write.saveAsTable("saved_plain")
    frame.write.format("paimon").mode("append").saveAsTable("p")
    frame.write.insertInto("p")
    frame.writeTo("p").append()
    frame.writeTo("created").using("paimon").create()
    frame.write.mode("ignore").saveAsTable("p")
    for mode in ("append", "overwrite", "error"):
        with pytest.raises(PySparkException, match=r"table of Paimon's|ALREADY_EXISTS"):
            frame.write.mode(mode).saveAsTable("p")
        with pytest.raises(PySparkException):
            frame.write.format("paimon").mode(mode).saveAsTable("o")
    assert sql("SELECT * FROM p ORDER BY id") == [(1, "a"), (2, None), (7, "x")]
    assert sql("SELECT count(*) FROM o") == [(3,)]
    kinds = {t.name: t.catalog for t in session.catalog.listTables()}
    assert kinds == dict.fromkeys(("created", "o", "p", "saved", "saved_plain"), "spark_catalog")
    assert session.catalog.tableExists("p") and session.catalog.tableExists("o")
    assert session.table("saved").count() == session.table("saved_plain").count() == 1
    for name, rows in (("o", "(8, 'y', 0)"), ("p", "(8, 'y')")):
        before = session.table(name).count()
        session.catalog.cacheTable(name)
        assert session.table(name).count() == before
        sql(f"INSERT INTO {name} VALUES {rows}")
        assert session.table(name).count() == before + 1
        session.catalog.uncacheTable(name)


def test_streams_read_and_write_both_kinds(sql: Sql, session: SparkSession, tmp_path: Path) -> None:
    sql("CREATE TABLE log USING paimon AS SELECT id, w FROM o")
    sql("CREATE TABLE to_paimon (id INT, w STRING) USING paimon")
    sql("CREATE TABLE to_plain (id INT, w STRING) USING parquet")
    for target in ("to_paimon", "to_plain"):
        writer = session.readStream.table("log").writeStream.option("checkpointLocation", str(tmp_path / target))
        writer.trigger(availableNow=True).toTable(target).awaitTermination()
        assert sql(f"SELECT count(*) FROM {target}") == [(3,)]


def test_views_and_functions_are_sparks_own(sql: Sql, database: str, session: SparkSession) -> None:
    sql("CREATE VIEW seen AS SELECT p.id, w FROM p LEFT JOIN o USING (id)")
    sql("CREATE TEMPORARY VIEW passing AS SELECT count(*) AS n FROM p")
    sql("INSERT INTO p VALUES (3, 'c')")
    assert sorted(sql("SELECT * FROM seen"), key=str) == [(1, "A"), (2, None), (3, "ü")]
    assert sql("SELECT n FROM passing") == [(3,)]
    assert tables(sql) == ["o", "p", "seen", "passing"]
    sql("DROP VIEW seen")
    sql("DROP VIEW passing")
    sql("CREATE FUNCTION twice(x INT) RETURNS INT RETURN x * 2")
    assert sql(f"SELECT twice(id), {database}.twice(id) FROM p WHERE id = 2") == [(4, 4)]
    sql("DROP FUNCTION twice")
    assert sql("SELECT sys.bucket(8, id) = sys.mod_bucket(8, id) IS NOT NULL FROM p WHERE id = 1") == [(True,)]
    if HAS_VIEWS:
        assert sql("SELECT sys.bucket(8, 10)") == [(0,)]


@pytest.mark.smoke
def test_databases_belong_to_both(sql: Sql, database: str, session: SparkSession, warehouse: Path) -> None:
    assert {(database,), ("default",)} <= set(sql("SHOW DATABASES"))
    assert ("Comment", "of both") in sql(f"DESCRIBE DATABASE {database}")
    sql(f"ALTER DATABASE {database} SET DBPROPERTIES ('team' = 'blue')")
    assert "(team,blue)" in str(sql(f"DESCRIBE DATABASE EXTENDED {database}"))
    sql(f"CREATE DATABASE IF NOT EXISTS {database}")
    with pytest.raises(PySparkException, match="SCHEMA_ALREADY_EXISTS"):
        sql(f"CREATE DATABASE {database}")
    for left in ("p", "o"):  # a table of either kind keeps it
        with pytest.raises(PySparkException, match="SCHEMA_NOT_EMPTY"):
            sql(f"DROP DATABASE {database}")
        sql(f"DROP TABLE {left}")
        sql("CREATE TABLE again (id INT) USING paimon") if left == "p" else None
        sql("DROP TABLE IF EXISTS again")
    sql(f"DROP DATABASE {database}")
    assert (database,) not in sql("SHOW DATABASES") and not (warehouse / f"{database}.db").exists()
    with pytest.raises(PySparkException, match="DROP_DATABASE"):
        sql("DROP DATABASE default CASCADE")
    assert (warehouse / "default.db").exists()


def test_a_database_of_the_warehouse_is_one_for_ordinary_tables_too(sql: Sql, warehouse: Path) -> None:
    (warehouse / "late.db").mkdir()
    try:
        sql("USE late")
        sql("CREATE TABLE late.o (id INT) USING parquet")
        sql("CREATE TABLE late.p (id INT) USING paimon")
        assert tables(sql) == ["o", "p"]
        sql("SET spark.sql.legacy.useV1Command = true")
        with pytest.raises(PySparkException, match="holds tables of Paimon's"):
            sql("DROP DATABASE late CASCADE")
    finally:
        sql("RESET spark.sql.legacy.useV1Command")
        sql("DROP DATABASE late CASCADE")
    assert ("late",) not in sql("SHOW DATABASES") and not (warehouse / "late.db").exists()


def test_a_database_that_spark_alone_has_takes_tables_of_paimons(
    spark: SparkSession, sql: Sql, session: SparkSession, tmp_path: Path
) -> None:
    spark.sql(f"CREATE DATABASE spark_catalog.sparks LOCATION '{tmp_path}/sparks'")
    try:
        sql("CREATE TABLE sparks.p USING paimon AS SELECT 1 AS id")
        assert sql("SELECT * FROM sparks.p") == [(1,)]
    finally:
        sql("DROP DATABASE sparks CASCADE")


def test_an_ordinary_table_becomes_one_of_paimons(sql: Sql, database: str) -> None:
    sql(f"CALL sys.migrate_table('hive', '{database}.o', target_table => 'moved')")
    assert tables(sql) == ["moved", "p"]
    sql("ALTER TABLE moved RENAME TO o")
    assert sql("SELECT * FROM o WHERE pt = 0") == [(1, "A", 0)]
    assert sql("SELECT count(*) FROM `o$files`") == [(2,)]


@pytest.mark.smoke
def test_new_sessions_have_it_and_others_keep_sparks(spark: SparkSession, sql: Sql, session: SparkSession) -> None:
    database = session.catalog.currentDatabase()
    child = session.newSession()
    assert child.table(f"spark_catalog.{database}.p").count() == 2
    with pytest.raises(PySparkException, match="ALREADY_EXISTS"):
        child.sql(f"CREATE TABLE spark_catalog.{database}.p (x INT) USING csv")
    with pytest.raises(PySparkException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"SELECT * FROM spark_catalog.{database}.p")
    assert spark.table(f"spark_catalog.{database}.o").count() == 3


def test_it_is_made_by_sql_too_and_stays(spark: SparkSession, tmp_path: Path) -> None:
    other = spark.newSession()
    other.sql(f"CREATE CATALOG spark_catalog WITH ('type' = 'paimon', 'warehouse' = '{tmp_path}')")
    other.sql("CREATE TABLE spark_catalog.default.by_sql USING paimon AS SELECT 1 AS id")
    assert other.table("spark_catalog.default.by_sql").count() == 1
    assert (tmp_path / "default.db" / "by_sql").exists()
    with pytest.raises(PySparkException, match="cannot be dropped"):
        other.sql("DROP CATALOG spark_catalog")
    with suppress(PySparkException):
        other.sql("DROP TABLE spark_catalog.default.by_sql")
