"""Tags that one side makes by itself, as the other side reads and goes on making them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from .java import JavaPaimon
from .test_java import rows_of

OPTIONS = """
    'tag.automatic-creation' = 'process-time', 'tag.creation-period' = '{period}',
    'tag.period-formatter' = '{formatter}', 'tag.num-retained-max' = '5',
    'tag.default-time-retained' = '30 d', 'tag.create-success-file' = 'true'
"""
PERIODS = [("daily", "with_dashes"), ("daily", "without_dashes"), ("two-hours", "with_dashes")]


def tags_of(spark: SparkSession, table: str) -> list[tuple[str, int, str | None]]:
    rows = spark.sql(f"SELECT tag_name, snapshot_id, time_retained FROM {table}$tags").collect()
    return [(row[0], row[1], row[2]) for row in rows]


@pytest.mark.parametrize("first", ["ours", "java"])
@pytest.mark.parametrize(("period", "formatter"), PERIODS)
def test_both_sides_make_one_tag_of_a_period(
    first: str, period: str, formatter: str, spark: SparkSession, java: JavaPaimon, warehouse: Path
) -> None:
    name = f"default.auto_{period.replace('-', '_')}_{formatter}_{first}"
    spark.sql(
        f"CREATE TABLE {name} (k INT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1',"
        f" {OPTIONS.format(period=period, formatter=formatter)})"
    )
    sides: list[Callable[[], object]] = [
        lambda: spark.sql(f"INSERT INTO {name} VALUES (1, 'ours')"),
        lambda: java.write(warehouse, name, [[2, "j"]]),
    ]
    for write in sides if first == "ours" else reversed(sides):
        write()
        made = tags_of(spark, name)
        assert [(snapshot, life) for _, snapshot, life in made] == [(1, "PT720H")]
    (tag,) = [tag for tag, *_ in made]
    kept = [[1, "ours"]] if first == "ours" else [[2, "j"]]
    assert java.read(warehouse, name, "--tag", tag) == kept
    assert rows_of(spark, name) == [[1, "ours"], [2, "j"]]
    assert [list(row) for row in spark.sql(f"SELECT * FROM {name} VERSION AS OF '{tag}'").collect()] == kept
    folder = warehouse / "default.db" / name.removeprefix("default.") / "tag" / "tag-success-file"
    assert [p.name for p in folder.iterdir()] == [f"{tag}_SUCCESS"]


def test_java_reads_what_partitions_are_left(spark: SparkSession, java: JavaPaimon, warehouse: Path) -> None:
    name = "default.expired_partitions"
    spark.sql(
        f"CREATE TABLE {name} (k INT, dt DATE) PARTITIONED BY (dt) TBLPROPERTIES"
        " ('partition.expiration-time' = '7 d', 'end-input.check-partition-expire' = 'true')"
    )
    spark.sql(f"INSERT INTO {name} VALUES (1, DATE '2020-01-01'), (2, DATE '2999-01-01')")
    assert java.read(warehouse, name) == rows_of(spark, name) == [[2, "2999-01-01"]]
    java.write(warehouse, name, [[3, "2999-01-02"]])
    assert java.read(warehouse, name) == rows_of(spark, name) == [[2, "2999-01-01"], [3, "2999-01-02"]]


def test_java_reads_the_changelogs_of_expired_snapshots(spark: SparkSession, java: JavaPaimon, warehouse: Path) -> None:
    name = "default.long_lived_changelogs"
    spark.sql(
        f"CREATE TABLE {name} (k INT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1',"
        " 'changelog-producer' = 'input', 'snapshot.num-retained.min' = '1', 'snapshot.num-retained.max' = '2',"
        " 'changelog.num-retained.min' = '1', 'changelog.num-retained.max' = '50',"
        " 'num-sorted-run.compaction-trigger' = '99')"
    )
    for i in range(5):
        spark.sql(f"INSERT INTO {name} VALUES ({i % 2}, 'v{i}')")
    assert [row[0] for row in spark.sql(f"SELECT snapshot_id FROM {name}$snapshots").collect()] == [4, 5]
    ours = spark.sql(f"SELECT k, v FROM {name} /*+ OPTIONS('incremental-between' = '1,3') */ ORDER BY v").collect()
    assert [list(row) for row in ours] == [[1, "v1"], [0, "v2"]]
    assert spark.sql(f"CALL sys.expire_changelogs(table => '{name}', retain_max => 3, retain_min => 1)").first()[0] == 2
    assert java.read(warehouse, name) == rows_of(spark, name) == [[0, "v4"], [1, "v3"]]
    java.write(warehouse, name, [[7, "java"]])
    assert java.read(warehouse, name) == rows_of(spark, name)
