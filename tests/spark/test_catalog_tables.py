"""The database sys through SQL: its tables, its procedures described, what is recorded of their calls."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from paimon_sql.procedures import procedures
from tests.spark.conftest import Sql


def test_the_procedures_are_a_table(sql: Sql) -> None:
    assert [name for (name,) in sql("SELECT name FROM sys.procedures ORDER BY name")] == list(procedures())
    ((arguments, results),) = sql("SELECT arguments, results FROM paimon.sys.procedures WHERE name = 'fast_forward'")
    assert arguments == "table STRING REQUIRED, branch STRING REQUIRED, dry_run BOOLEAN"
    assert str(results).startswith("result BOOLEAN, previous_snapshot_id BIGINT")


def test_a_procedure_is_described_with_its_arguments_and_answer(sql: Sql) -> None:
    said = "\n".join(str(line) for (line,) in sql("DESCRIBE PROCEDURE sys.fast_forward"))
    assert "branch STRING (required): The branch's name." in said
    assert "added_snapshots BIGINT: number of added snapshots of the branch" in said
    assert "Example: CALL sys.fast_forward(" in said


def test_calls_are_recorded(sql: Sql) -> None:
    sql("CREATE TABLE recorded (k INT)")
    sql("INSERT INTO recorded VALUES (1)")
    sql("CALL sys.create_tag(table => 'recorded', tag => 'one')")
    with pytest.raises(PySparkException):
        sql("CALL sys.create_tag(table => 'recorded', tag => 'one')")
    found = sql(
        "SELECT procedure, arguments['tag'], snapshot_before, counts['record_count'], error IS NULL"
        " FROM sys.maintenance_runs WHERE table_name = 'recorded' ORDER BY started_at"
    )
    assert found == [("create_tag", "one", 1, 1, True), ("create_tag", "one", 1, None, False)]


def test_the_tables_of_sys_are_listed_and_cannot_be_changed(sql: Sql, spark: SparkSession) -> None:
    # Those that only we have are not listed, so that tools find what they find with Paimon's own connector.
    assert {str(row[1]) for row in sql("SHOW TABLES IN sys")} == {"all_table_options", "partitions", "tables"}
    for statement in ("DROP TABLE sys.procedures", "CREATE TABLE sys.mine (k INT)", "SELECT * FROM sys.nothing"):
        with pytest.raises(PySparkException):
            sql(statement)
    assert spark.table("paimon.sys.procedures").count() == len(procedures())


def test_all_tables_are_asked_in_one_query(sql: Sql) -> None:
    database = str(sql("SELECT current_database()")[0][0])
    for name in ("one", "two"):
        sql(f"CREATE TABLE {name} (k INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1')")
    sql("INSERT INTO two VALUES (1)")
    sql("CALL sys.create_tag(table => 'two', tag => 'kept')")
    assert sql(
        "SELECT t.table_name, s.snapshot_id, g.tag_name FROM sys.tables t"
        " LEFT JOIN sys.snapshots s USING (database_name, table_name)"
        " LEFT JOIN sys.tags g USING (database_name, table_name, snapshot_id)"
        f" WHERE t.database_name = '{database}' ORDER BY ALL"
    ) == [("one", None, None), ("two", 1, "kept")]
    assert [row[:2] for row in sql("DESCRIBE sys.consumers")] == [
        ("database_name", "string"),
        ("table_name", "string"),
        ("consumer_id", "string"),
        ("next_snapshot_id", "bigint"),
    ]


def test_a_tables_health_is_one_query(sql: Sql) -> None:
    sql("CREATE TABLE well (k INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1', 'write-only' = 'true')")
    for k in range(5):
        sql(f"INSERT INTO well VALUES ({k})")
    database = sql("SELECT current_database()")[0][0]
    assert sql("SELECT metric, number, advice FROM well$summary WHERE advice IS NOT NULL OR metric = 'files'") == [
        ("files", 5.0, None),
        (
            "max_sorted_runs",
            5.0,
            f"1 bucket has 5 or more sorted runs to merge on read: CALL sys.compact(table => '{database}.well')",
        ),
    ]
    ((call,),) = sql("SELECT split(advice, ': ')[1] FROM well$summary WHERE metric = 'max_sorted_runs'")
    sql(str(call))
    assert sql("SELECT value FROM well$summary WHERE metric = 'levels'") == [("L5: 1",)]
    assert [row[:2] for row in sql("DESCRIBE well$summary")] == [
        ("metric", "string"),
        ("value", "string"),
        ("number", "double"),
        ("advice", "string"),
    ]
