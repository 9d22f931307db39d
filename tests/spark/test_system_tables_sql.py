"""System tables as queries see them: which rows cross to Spark, and how many of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest
from pyspark.sql import Row, SparkSession

from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion import rows as crossing
from paimon_sql.spark.java.catalyst import InternalRow
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.scan.proxies import local, spread
from paimon_sql.spark.tables import system_table
from paimon_sql.system_tables.files import files
from tests.spark.conftest import Sql


@pytest.fixture
def crossed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[pa.Table]]:
    """The rows that system tables handed to Spark."""
    seen: list[pa.Table] = []
    convert = crossing.internal_rows

    def noting(jvm: Jvm, table: pa.Table, fields: Sequence[DataField]) -> Sequence[InternalRow]:
        seen.append(table)
        return convert(jvm, table, fields)

    monkeypatch.setattr(local, "internal_rows", noting)
    yield seen


@pytest.fixture
def many(sql: Sql) -> str:
    """A table of six snapshots and as many files in three partitions; texts beyond ASCII among its values."""
    sql("CREATE TABLE many (id INT, name STRING, dt STRING) PARTITIONED BY (dt)")
    for number in range(6):
        sql(f"INSERT INTO many VALUES ({number}, 'ä{number}', 'd{number % 3}')")
    return "many"


def test_only_rows_that_satisfy_the_condition_cross(spark: SparkSession, many: str, crossed: list[pa.Table]) -> None:
    query = "SELECT file_path FROM `many$files` WHERE partition = '{d1}' AND record_count > 0"
    assert len(spark.sql(query).collect()) == 2
    assert [len(t) for t in crossed] == [2]
    assert "max_value_stats" not in crossed[0].column_names


def test_conditions_on_texts_of_statistics_are_answered(spark: SparkSession, many: str) -> None:
    query = "SELECT min_value_stats FROM `many$files` WHERE max_value_stats LIKE '%ä4%'"
    assert spark.sql(query).collect() == [("{dt=d1, id=4, name=ä4}",)]
    assert spark.sql("SELECT * FROM `many$files` WHERE min_key IS NOT NULL").collect() == []
    assert spark.sql("SELECT snapshot_id FROM `many$snapshots` WHERE watermark = 3 OR snapshot_id >= 6").collect() == [
        (6,)
    ]


def test_a_limit_is_known_where_rows_are_made(spark: SparkSession, many: str, crossed: list[pa.Table]) -> None:
    assert len(spark.sql("SELECT * FROM `many$snapshots` LIMIT 2").collect()) == 2
    assert len(spark.sql("SELECT * FROM `many$files` WHERE bucket = 0 LIMIT 2").collect()) == 2
    assert len(crossed[0]) == 2


def test_counting_needs_no_column(spark: SparkSession, many: str) -> None:
    assert spark.sql("SELECT count(*) FROM `many$files`").collect() == [(6,)]
    assert spark.sql("SELECT 1 FROM `many$files`").collect() == [(1,)] * 6


@pytest.mark.parametrize("threshold", ["1", "48MB"])
def test_rows_cross_in_pieces_of_any_size(
    spark: SparkSession, many: str, threshold: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = spark.sql("SELECT * FROM `many$files` ORDER BY file_path").collect()
    spark.conf.set("spark.sql.execution.arrow.localRelationThreshold", threshold)
    monkeypatch.setattr(crossing, "_PIECE_BYTES", 500)
    monkeypatch.setattr(crossing, "_CALL_BYTES", 100)
    try:
        assert spark.sql("SELECT * FROM `many$files` ORDER BY file_path").collect() == expected
        assert len(expected) == 6
    finally:
        spark.conf.unset("spark.sql.execution.arrow.localRelationThreshold")


@pytest.mark.parametrize("name", ["files", "file_key_ranges"])
def test_very_many_rows_reach_spark_by_tasks(
    spark: SparkSession, sql: Sql, many: str, crossed: list[pa.Table], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    sql("CREATE TABLE none (id INT)")
    queries = [
        f"SELECT * FROM `many${name}`",
        f"SELECT file_path, bucket FROM `many${name}` WHERE partition = '{{d1}}'",
        f"SELECT count(*) FROM `many${name}`",
        f"SELECT * FROM `none${name}`",
    ]
    expected = [sorted(spark.sql(query).collect()) for query in queries]
    crossed.clear()
    monkeypatch.setattr(system_table, "_MAX_LOCAL_ROWS", 0)
    monkeypatch.setattr(spread, "_SLICE_ROWS", 2)
    assert [sorted(spark.sql(query).collect()) for query in queries] == expected
    assert not [t for t in crossed if t.num_columns]
    crossed.clear()
    monkeypatch.setattr(system_table, "_MAX_LOCAL_ROWS", 5)
    assert len(spark.sql(f"SELECT * FROM `many${name}` LIMIT 4").collect()) == 4
    assert len(crossed) == 1


def test_a_snapshot_whose_number_is_used_again_is_read_again(spark: SparkSession, many: str) -> None:
    query = "SELECT snapshot_id, commit_identifier, base_manifest_list FROM `many$snapshots` ORDER BY snapshot_id"
    before = spark.sql(query).collect()
    assert spark.sql(query).collect() == before
    spark.sql("CALL sys.rollback(table => 'many', version => '5')")
    assert spark.sql(query).collect() == before[:5]
    spark.sql("INSERT INTO many VALUES (9, 'z', 'd9')")
    after = spark.sql(query).collect()
    assert after[:5] == before[:5]
    assert after[5][0] == 6
    assert after[5][2] != before[5][2]


def test_remembered_columns_are_those_of_the_state_that_is_asked_for(
    spark: SparkSession, many: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "SELECT * FROM `many$files` ORDER BY file_path"

    def seen_anew() -> list[Row]:
        with monkeypatch.context() as patched:
            patched.setattr(files, "_MANY", 1_000_000)
            found: list[Row] = spark.sql(query).collect()
            return found

    monkeypatch.setattr(files, "_MANY", 1)
    for change in (
        "SELECT 1",
        "INSERT INTO many VALUES (9, 'z', 'd9')",
        "ALTER TABLE many RENAME COLUMN name TO title",
        "CALL sys.rollback(table => 'many', version => '5')",
        "INSERT INTO many VALUES (10, 'y', 'd8')",
        "DELETE FROM many WHERE dt = 'd1'",
    ):
        spark.sql(change).collect()
        rows = seen_anew()
        assert spark.sql(query).collect() == spark.sql(query).collect() == rows
        found = spark.sql("SELECT file_path FROM `many$files` WHERE partition = '{d2}' ORDER BY file_path").collect()
        assert found == [(row.file_path,) for row in rows if row.partition == "{d2}"]
    spark.sql("DROP TABLE many")
    spark.sql("CREATE TABLE many (id INT, dt STRING)")
    spark.sql("INSERT INTO many VALUES (1, 'x')")
    assert spark.sql(query).collect() == seen_anew()


def test_metrics_are_rows(spark: SparkSession, many: str) -> None:
    spark.sql("SELECT * FROM many WHERE dt = 'd1'").collect()
    database = spark.catalog.currentDatabase()
    found = spark.sql(
        f"SELECT metric, last, total, count FROM sys.metrics WHERE database_name = '{database}' AND table_name = 'many'"
    ).collect()
    metrics = {name: tuple(values) for name, *values in found}
    assert metrics["tableFilesAdded"] == (1, 6, 6)
    assert metrics["committedSnapshotId"][0] == 6
    assert metrics["scanResultedTableFiles"][0] == 2


def test_a_misspelt_system_table_has_a_suggestion(sql: Sql) -> None:
    sql("CREATE TABLE misspelt (id INT)")
    with pytest.raises(Exception, match=r"no system table .*misspelt\$snapshts\. Did you mean misspelt\$snapshots\?"):
        sql("SELECT * FROM `misspelt$snapshts`")
    sql("DROP TABLE IF EXISTS `misspelt$snapshts`")
