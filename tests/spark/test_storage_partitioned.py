"""Joins, groups and windows over fixed buckets need no shuffle, whoever reads, and give the same rows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.selection import in_turns
from tests.spark.bucket_plans import plan_of, plan_of_right_answer, rows_of

Sql = Callable[[str], list[tuple[Any, ...]]]

KINDS = {
    "append": "|'bucket-key' = 'id'",
    "deletion vectors": ", PRIMARY KEY (id) NOT ENFORCED|'deletion-vectors.enabled' = 'true'",
    "marking": ", PRIMARY KEY (id) NOT ENFORCED|'write-only' = 'true'",
    "workers": ", PRIMARY KEY (id) NOT ENFORCED|'write-only' = 'true', 'merge-engine' = 'partial-update'",
    "orc": ", PRIMARY KEY (id) NOT ENFORCED|'file.format' = 'orc'",
}
READERS = ("append", "marking", "workers")
"""A kind for each way to read: Spark's reader, the same without dead rows, Python workers."""
_BUCKETING = "spark.sql.sources.v2.bucketing."
_SHUFFLE = re.compile(r"(?<!Broadcast)(?<!Reused)Exchange ")


pytestmark = pytest.mark.usefixtures("unchanging_plans")


class Settings:
    """Settings of Spark's for a block."""

    def __init__(self, spark: SparkSession, **settings: str) -> None:
        self._spark = spark
        self._settings = {f"{_BUCKETING}{key}.enabled".replace("..", "."): v for key, v in settings.items()}

    def __enter__(self) -> None:
        for key, value in self._settings.items():
            self._spark.conf.set(key, value)

    def __exit__(self, *_: object) -> None:
        for key in self._settings:
            self._spark.conf.unset(key)


def shuffles(spark: SparkSession, query: str) -> int:
    """How many shuffles a query needs, whose rows are those of the same query without any help of the buckets'."""
    return len(_SHUFFLE.findall(plan_of_right_answer(spark, query)))


def table(sql: Sql, name: str, kind: str = "append", count: int = 4, key: str = "INT", more: str = "") -> None:
    columns, _, options = KINDS[kind].partition("|")
    sql(f"CREATE TABLE {name} (id {key}, x INT{columns}) TBLPROPERTIES ('bucket' = '{count}', {options}{more})")


def filled(sql: Sql, name: str, kind: str = "append", count: int = 4, low: int = 0, high: int = 60) -> None:
    """A table with overlapping commits."""
    table(sql, name, kind, count)
    middle = (low + high) // 2
    sql(f"INSERT INTO {name} SELECT id, id FROM range({low}, {middle + 5})")
    sql(f"INSERT INTO {name} SELECT id, id + 1 FROM range({middle - 5}, {high})")


JOIN = "SELECT a.id, a.x, b.x FROM a JOIN b ON a.id = b.id"


@pytest.mark.smoke
@pytest.mark.parametrize("kind", KINDS)
def test_a_join_by_the_bucket_key_needs_no_shuffle(spark: SparkSession, sql: Sql, kind: str) -> None:
    filled(sql, "a", kind)
    filled(sql, "b", low=40, high=100)
    for sort in ("JOIN", "LEFT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "RIGHT JOIN"):
        shown = "a.id, a.x" if "SEMI" in sort or "ANTI" in sort else "a.id, a.x, b.id, b.x"
        assert shuffles(spark, f"SELECT {shown} FROM a {sort} b ON a.id = b.id") == 0
    assert shuffles(spark, "SELECT a.id, b.x FROM a JOIN b ON a.id = b.id AND a.x < b.x WHERE a.x > 3") == 0
    assert shuffles(spark, "SELECT a.id, b.x FROM a JOIN b ON a.id = b.x") == 2
    assert shuffles(spark, "SELECT a.id, b.x FROM a JOIN b ON a.id = b.id + 1") == 2


@pytest.mark.parametrize("most", ["-1", "10MB"])
def test_a_condition_on_what_exists_elsewhere_is_answered(spark: SparkSession, sql: Sql, most: str) -> None:
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", most)
    for name, low in (("a", 0), ("b", 40), ("c", 90)):
        filled(sql, name, "marking", low=low, high=low + 60)
    exists = "EXISTS (SELECT 1 FROM {0} WHERE {0}.id = a.id)"
    for query in (
        f"SELECT a.id, a.x FROM a WHERE {exists.format('b')} OR {exists.format('c')}",
        f"SELECT a.id, {exists.format('b')} AS held FROM a WHERE a.x > 3",
        "SELECT a.id FROM a WHERE a.id NOT IN (SELECT id FROM b) OR a.x IN (SELECT x FROM c)",
    ):
        assert shuffles(spark, query) >= 0


@pytest.mark.parametrize("kind", in_turns(READERS, 0))
def test_adaptive_plans_need_none_either(spark: SparkSession, sql: Sql, kind: str) -> None:
    filled(sql, "a", kind)
    filled(sql, "b", kind, low=40, high=100)
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    assert shuffles(spark, JOIN) == 0
    assert shuffles(spark, "SELECT a.id, count(*), max(b.x) FROM a JOIN b ON a.id = b.id GROUP BY a.id") == 0


def test_several_tables_are_joined_without_a_shuffle(spark: SparkSession, sql: Sql) -> None:
    for name, kind, low in (("a", "append", 0), ("b", "workers", 20), ("c", "marking", 30)):
        filled(sql, name, kind, low=low, high=low + 50)
    sql("CREATE TABLE other (id INT, x INT)")
    sql("INSERT INTO other SELECT id, id FROM range(100)")
    three = "SELECT a.id, b.x, c.x FROM a JOIN b ON a.id = b.id JOIN c ON b.id = c.id"
    assert shuffles(spark, three) == 0
    assert shuffles(spark, f"SELECT t.id, t.y, a.x FROM ({three}) AS t (id, y, z) JOIN a ON a.x = t.y") == 2
    assert shuffles(spark, "SELECT l.id, r.x FROM a l JOIN a r ON l.id = r.id") == 0
    assert shuffles(spark, f"{JOIN} UNION ALL {JOIN}") == 0
    # What is joined with what is in no buckets is shuffled anyway, so that its files had better be packed.
    frame = spark.sql("SELECT a.id, other.x FROM a JOIN other ON a.id = other.id")
    assert "partitioned by" not in plan_of(frame)
    assert shuffles(spark, "SELECT a.id, other.x FROM a JOIN other ON a.id = other.id") == 2


_VALUES = {
    "BOOLEAN": "id % 2 = 0",
    "TINYINT": "CAST(id - 30 AS TINYINT)",
    "SMALLINT": "CAST(id * 1000 - 30000 AS SMALLINT)",
    "INT": "CAST((id - 30) * 70000001 AS INT)",
    "BIGINT": "(id - 30) * 300000000000000001",
    "DATE": "date_add(DATE'1969-12-01', CAST(id * 100 - 900 AS INT))",
    "DECIMAL(9, 2)": "CAST((id - 30) / 4 AS DECIMAL(9, 2))",
    "DECIMAL(30, 10)": "CAST((id - 30) * 1234567890123.25 AS DECIMAL(30, 10))",
    "STRING": "repeat(chr(CAST(id + 60 AS INT)), CAST(id % 11 AS INT))",
    "VARCHAR(40)": "concat('é ', id, repeat(' ', CAST(id % 3 AS INT)))",
    "BINARY": "CAST(concat('b', id) AS BINARY)",
    "TIMESTAMP": "timestamp_micros(id * 1000000000001 - 30000000000000)",
    "TIMESTAMP_NTZ": "CAST(timestamp_micros(id * 1000000000001 - 30000000000000) AS TIMESTAMP_NTZ)",
}


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        *(("default", kind) for kind in _VALUES),
        *(("mod", kind) for kind in ("INT", "BIGINT")),
        *(("hive", kind) for kind in ("INT", "BIGINT", "DATE", "DECIMAL(9, 2)", "VARCHAR(40)", "BINARY")),
    ],
)
def test_equal_values_meet_whatever_their_type(spark: SparkSession, sql: Sql, function: str, kind: str) -> None:
    more = f", 'bucket-function.type' = '{function}'"
    for name, low, high in (("a", 0, 40), ("b", 20, 60)):
        table(sql, name, key=kind, more=more, count=7)
        sql(f"INSERT INTO {name} SELECT {_VALUES[kind]}, id FROM range({low}, {high})")
        sql(f"INSERT INTO {name} VALUES (NULL, 1), (NULL, 2)")
    assert shuffles(spark, "SELECT a.id, a.x, b.id, b.x FROM a FULL JOIN b ON a.id = b.id") == 0
    assert shuffles(spark, "SELECT id, count(*), sum(x) FROM a GROUP BY id") == 0
    assert len(sql("SELECT a.id FROM a JOIN b ON a.id = b.id")) >= 20


@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE", "CHAR(9)"])
def test_equal_values_that_may_be_apart_are_shuffled(spark: SparkSession, sql: Sql, kind: str) -> None:
    values = {
        "FLOAT": ["0.0", "-0.0", "float('NaN')", "1.5"],
        "DOUBLE": ["0.0D", "-0.0D", "double('NaN')", "1.5D"],
        "CHAR(9)": ["'a'", "'a '", "'b'", "''"],
    }[kind]
    for name in ("a", "b"):
        table(sql, name, key=kind, count=5)
        sql(f"INSERT INTO {name} VALUES {', '.join(f'({v}, {i})' for i, v in enumerate(values))}")
    assert shuffles(spark, "SELECT a.x, b.x FROM a JOIN b ON a.id = b.id") == 2
    assert shuffles(spark, "SELECT count(*), sum(x) FROM a GROUP BY id") == 1


def test_buckets_that_are_not_alike_are_shuffled(spark: SparkSession, sql: Sql) -> None:
    filled(sql, "a")
    table(sql, "b", more=", 'bucket-function.type' = 'mod'")
    table(sql, "c", key="BIGINT")
    table(sql, "d", key="DECIMAL(10, 0)")
    sql("CREATE TABLE e (id INT, x INT) TBLPROPERTIES ('bucket' = '4', 'bucket-key' = 'id,x')")
    sql("CREATE TABLE f (id INT NOT NULL, x INT, PRIMARY KEY (id) NOT ENFORCED) TBLPROPERTIES ('bucket' = '-1')")
    for name in "bcdef":
        sql(f"INSERT INTO {name} SELECT id, id FROM range(-20, 40)")
        assert shuffles(spark, JOIN.replace("b ", f"{name} ").replace("b.", f"{name}.")) == 2
    sql("CREATE TABLE g (ts TIMESTAMP(3), x INT) TBLPROPERTIES ('bucket' = '4', 'bucket-key' = 'ts')")
    sql("CREATE TABLE h (ts TIMESTAMP(6), x INT) TBLPROPERTIES ('bucket' = '4', 'bucket-key' = 'ts')")
    for name in "gh":
        sql(f"INSERT INTO {name} SELECT timestamp_millis(id * 1001), id FROM range(30)")
    assert len(sql("SELECT g.x FROM g JOIN h ON g.ts = h.ts")) == 30
    assert shuffles(spark, "SELECT g.x, h.x FROM g JOIN h ON g.ts = h.ts") == 2


@pytest.mark.smoke
@pytest.mark.parametrize(("one", "other"), [(4, 8), (6, 4), (4, 5)])
@pytest.mark.parametrize("function", ["default", "mod", "hive"])
def test_other_numbers_of_buckets_meet_if_spark_may_reduce_them(
    spark: SparkSession, sql: Sql, one: int, other: int, function: str
) -> None:
    for name, count, low in (("a", one, -30), ("b", other, -10)):
        table(sql, name, count=count, more=f", 'bucket-function.type' = '{function}'")
        sql(f"INSERT INTO {name} SELECT id, id FROM range({low}, {low + 60})")
        sql(f"INSERT INTO {name} VALUES (NULL, 0)")
    assert shuffles(spark, JOIN) == 2
    with Settings(spark, allowCompatibleTransforms="true"):
        expected = 2 if (one, other) == (4, 5) else 0
        assert shuffles(spark, JOIN) == expected
        assert shuffles(spark, JOIN.replace("JOIN", "FULL JOIN")) == expected


def test_groups_and_windows_of_a_bucket_need_no_shuffle(spark: SparkSession, sql: Sql) -> None:
    filled(sql, "a", count=3)
    filled(sql, "b", "marking", count=3)
    filled(sql, "c", "workers", count=3)
    for name in "abc":
        assert shuffles(spark, f"SELECT id, count(*), sum(x) FROM {name} WHERE x > 2 GROUP BY id") == 0
        assert shuffles(spark, f"SELECT DISTINCT id FROM {name}") == 0
        assert (
            shuffles(
                spark,
                f"SELECT l.n, r.x FROM (SELECT id, count(*) AS n FROM {name} GROUP BY id) l JOIN a r ON l.id = r.id",
            )
            == 0
        )
        assert shuffles(spark, f"SELECT id, row_number() OVER (PARTITION BY id ORDER BY x) FROM {name}") == 0
        assert shuffles(spark, f"SELECT x, count(*) FROM {name} GROUP BY x") == 1
    assert shuffles(spark, "SELECT id, x, count(*) FROM a GROUP BY id, x") == 0
    assert shuffles(spark, "SELECT id, collect_set(x) FROM a GROUP BY id") == 0
    assert shuffles(spark, "SELECT id, count(DISTINCT x) FROM a GROUP BY id") == 0


def partitioned(sql: Sql, name: str, kind: str = "append", low: int = 0, count: int = 3) -> None:
    columns, _, options = KINDS[kind].replace("(id)", "(p, id)").partition("|")
    sql(
        f"CREATE TABLE {name} (id INT, x INT, p STRING{columns}) PARTITIONED BY (p)"
        f" TBLPROPERTIES ('bucket' = '{count}', {options})"
    )
    for start in (low, low + 20):
        sql(f"INSERT INTO {name} SELECT id % 30, id, concat('é ', id % 4) FROM range({start}, {start + 40})")
    if not columns:
        sql(f"INSERT INTO {name} SELECT id % 30, id, NULL FROM range(10)")


@pytest.mark.parametrize("kind", in_turns(READERS, 1))
def test_partition_columns_are_part_of_the_key_where_they_are_joined_by(
    spark: SparkSession, sql: Sql, kind: str
) -> None:
    partitioned(sql, "a", kind)
    partitioned(sql, "b", low=10)
    whole = "SELECT a.id, a.p, a.x, b.x FROM a JOIN b ON a.id = b.id AND a.p = b.p"
    assert shuffles(spark, whole) == 0
    assert "partitioned by p, bucket(3, id)" in plan_of(spark.sql(whole))
    assert shuffles(spark, whole.replace("JOIN", "FULL JOIN")) == 0
    assert shuffles(spark, f"{whole} WHERE a.p > 'é 1'") == 0
    assert shuffles(spark, "SELECT id, p, max(x) FROM b GROUP BY p, id") == 0
    only = "SELECT a.id, a.x, b.x FROM a JOIN b ON a.id = b.id"
    assert shuffles(spark, only) == 0
    assert "partitioned by bucket(3, id)" in plan_of(spark.sql(only))
    assert shuffles(spark, "SELECT a.x, b.x FROM a JOIN b ON a.p = b.p") == 2
    # The first join has it its way.
    assert shuffles(spark, f"SELECT s.id, s.p, c.x FROM ({whole}) AS s (id, p, x, y) JOIN b c ON s.id = c.id") == 2
    more = f"{whole} AND a.x = b.x"
    assert shuffles(spark, more) == 2
    assert "partitioned by" not in plan_of(spark.sql(more))
    spark.conf.set("spark.sql.requireAllClusterKeysForCoPartition", "false")
    try:
        assert shuffles(spark, more) == 0
    finally:
        spark.conf.unset("spark.sql.requireAllClusterKeysForCoPartition")


def test_partitions_of_other_types_are_told_as_they_are(spark: SparkSession, sql: Sql) -> None:
    kinds = {"d": "DATE", "n": "DECIMAL(9, 2)", "t": "TIMESTAMP", "i": "SMALLINT"}
    columns = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    made = (
        "date_add(DATE'2024-02-28', CAST(id % 2 AS INT)), CAST(id % 3 / 4 AS DECIMAL(9, 2)), timestamp_micros(id), -1"
    )
    for name in "ab":
        sql(
            f"CREATE TABLE {name} (id INT, {columns}) PARTITIONED BY ({', '.join(kinds)})"
            " TBLPROPERTIES ('bucket' = '2', 'bucket-key' = 'id')"
        )
        sql(f"INSERT INTO {name} SELECT id, {made} FROM range(12)")
    query = f"SELECT a.* FROM a JOIN b ON {' AND '.join(f'a.{c} = b.{c}' for c in ('id', *kinds))}"
    assert shuffles(spark, query) == 0
    assert "partitioned by d, n, t, i, bucket(2, id)" in plan_of(spark.sql(query))
    assert len(sql(query)) == 12


def test_a_partition_with_more_buckets_than_others_is_shuffled(spark: SparkSession, sql: Sql) -> None:
    partitioned(sql, "a")
    partitioned(sql, "b")
    sql("ALTER TABLE a SET TBLPROPERTIES ('bucket' = '5')")
    sql("INSERT OVERWRITE a PARTITION (p = 'é 1') SELECT id, id FROM range(30)")
    whole = "SELECT a.id, a.p, a.x, b.x FROM a JOIN b ON a.id = b.id AND a.p = b.p"
    assert shuffles(spark, whole) == 2
    # The others are as they were.
    assert shuffles(spark, f"{whole} WHERE a.p <> 'é 1' AND a.p IS NOT NULL") == 0
    assert shuffles(spark, f"{whole} WHERE a.p = 'é 1'") == 2
    sql("CALL sys.rescale(table => 'b', bucket_num => 5)")
    assert shuffles(spark, f"{whole} WHERE a.p = 'é 1'") == 0


def test_many_files_of_a_bucket_are_spread_if_spark_may(spark: SparkSession, sql: Sql) -> None:
    small = ", 'source.split.target-size' = '1 kb', 'source.split.open-file-cost' = '1 b'"
    for name in "ab":
        table(sql, name, count=2, more=small)
        for i in range(4):
            sql(f"INSERT INTO {name} SELECT id % 7, id FROM range({i * 10}, {i * 10 + 20})")
    with Settings(spark, partiallyClusteredDistribution="true"):
        assert shuffles(spark, JOIN) == 0
        assert shuffles(spark, JOIN.replace("JOIN", "LEFT JOIN")) == 0
        assert shuffles(spark, "SELECT id, count(*) FROM (SELECT a.id FROM a JOIN b ON a.id = b.id) GROUP BY id") <= 1
        assert spark.sql(JOIN).rdd.getNumPartitions() > 2
    assert shuffles(spark, JOIN) == 0
    assert spark.sql(JOIN).rdd.getNumPartitions() == 2


@pytest.mark.parametrize("kind", in_turns(("append", "deletion vectors", "marking", "workers"), 1, 2))
def test_conditions_of_the_other_side_leave_keys_in_their_place(spark: SparkSession, sql: Sql, kind: str) -> None:
    partitioned(sql, "a", kind, count=8)
    partitioned(sql, "b", kind, low=10, count=8)
    sql("CREATE TABLE d (p STRING, id INT, name STRING)")
    sql("INSERT INTO d VALUES ('é 1', 3, 'x'), ('é 2', 4, 'y'), (NULL, 5, 'x'), ('é 7', 9, 'x')")
    spark.conf.set("spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly", "false")
    spark.conf.set("spark.paimon.read.key-pruning.min-size", "0 b")
    try:
        for column in ("p", "id"):
            joined = "a JOIN b ON a.id = b.id AND a.p = b.p"
            query = (
                f"SELECT {{}} a.id, a.p, a.x, b.x FROM {joined} JOIN d ON a.{column} = d.{column} WHERE d.name = 'x'"
            )
            shuffles(spark, query.format(""))
            assert shuffles(spark, query.format("/*+ BROADCAST(d) */")) == 0
            assert "dynamicpruning" in plan_of(spark.sql(query.format("/*+ BROADCAST(d) */")))
    finally:
        spark.conf.unset("spark.paimon.read.key-pruning.min-size")
        spark.conf.unset("spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly")


def test_scans_alone_are_packed_as_ever(spark: SparkSession, sql: Sql) -> None:
    filled(sql, "a", count=8)
    filled(sql, "b", count=8)
    for query in ("SELECT * FROM a", "SELECT count(*) FROM a", "SELECT x, count(*) FROM a GROUP BY x"):
        assert "partitioned by" not in plan_of(spark.sql(query))
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "10MB")
    assert "partitioned by" not in plan_of(spark.sql(JOIN))
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    assert "partitioned by" not in plan_of(spark.sql(JOIN.replace("SELECT", "SELECT /*+ BROADCAST(b) */")))
    assert spark.sql("SELECT * FROM a").rdd.getNumPartitions() < 8


def test_other_names_of_a_key_are_seen_through(spark: SparkSession, sql: Sql) -> None:
    filled(sql, "a", "marking")
    filled(sql, "b", low=30)
    named = "SELECT l.k, r.x FROM (SELECT id AS k, x + 1 AS y FROM a) l JOIN b r ON l.k = r.id"
    assert shuffles(spark, named) == 0
    assert shuffles(spark, "SELECT k, max(x) FROM (SELECT id AS k, x FROM b WHERE x > 2) GROUP BY k") == 0
    grouped = "SELECT id AS k, max(x) AS n FROM b GROUP BY id"
    assert shuffles(spark, f"SELECT l.k, l.n, r.x FROM ({grouped}) l JOIN a r ON l.k = r.id") == 0
    with_itself = spark.sql(JOIN)
    assert rows_of(with_itself.union(with_itself)) == sorted(2 * rows_of(with_itself), key=repr)
    assert "Exchange" not in plan_of(with_itself.union(with_itself))


def test_many_small_buckets_and_few_large_ones_are_shuffled(spark: SparkSession, sql: Sql) -> None:
    for name in "ab":
        table(sql, name, count=100)
        sql(f"INSERT INTO {name} SELECT id, id FROM range(500)")
    assert shuffles(spark, JOIN) == 2
    for name in "cd":
        table(sql, name, count=2, more=", 'source.split.target-size' = '1 kb', 'source.split.open-file-cost' = '1 b'")
        sql(f"INSERT INTO {name} SELECT 5, id FROM range(20)")
        sql(f"INSERT INTO {name} SELECT 5, id FROM range(20)")
    # All of them are in one of the two buckets, which one task alone would read.
    assert shuffles(spark, "SELECT c.x, d.x FROM c JOIN d ON c.id = d.id") == 2


def test_nothing_is_told_where_executors_would_need_the_bucket_function(spark: SparkSession, sql: Sql) -> None:
    filled(sql, "a")
    sql("CREATE TABLE b (id INT, x INT)")
    sql("INSERT INTO b SELECT id, id FROM range(50)")
    with Settings(spark, shuffle="true"):
        assert shuffles(spark, JOIN) == 2
        assert shuffles(spark, "SELECT id, count(*) FROM a GROUP BY id") == 1


@pytest.mark.parametrize("kind", in_turns(READERS, 2))
def test_caches_and_reused_exchanges_hold_the_same_rows(spark: SparkSession, sql: Sql, kind: str) -> None:
    filled(sql, "a", kind)
    filled(sql, "b", kind, low=30)
    expected = rows_of(spark.sql(JOIN))
    grouped = "SELECT id, count(*) AS n FROM a GROUP BY id"
    joined = f"SELECT l.id, l.n, r.x FROM ({grouped}) l JOIN b r ON l.id = r.id"
    expected_groups = rows_of(spark.sql(joined))
    frames = [spark.sql(text).cache() for text in (JOIN, grouped, "SELECT * FROM b")]
    try:
        assert rows_of(spark.sql(JOIN)) == expected
        assert rows_of(frames[0]) == expected
        assert "InMemoryTableScan" in plan_of(spark.sql(joined))
        for _ in range(2):
            assert rows_of(spark.sql(joined)) == expected_groups
            assert rows_of(frames[0].join(frames[1], "id").select("id")) == [
                (i,) for i in sorted((row[0] for row in expected), key=lambda i: repr((i,)))
            ]
        sql("INSERT INTO a VALUES (1000, 1)")
        sql("INSERT INTO b VALUES (1000, 2)")
        assert rows_of(spark.sql(JOIN)) == sorted([*expected, (1000, 1, 2)], key=repr)
    finally:
        for frame in frames:
            frame.unpersist()
    same = f"SELECT * FROM ({JOIN}) AS l (i, y, z) JOIN ({JOIN}) AS r (j, v, w) ON l.y = r.v"
    shuffles(spark, same)


def test_older_states_branches_and_renamed_keys_are_looked_at_for_themselves(spark: SparkSession, sql: Sql) -> None:
    filled(sql, "a")
    filled(sql, "b")
    sql("INSERT INTO a SELECT id, id FROM range(100, 140)")
    assert shuffles(spark, "SELECT a.id, b.x FROM a VERSION AS OF 1 JOIN b ON a.id = b.id") == 0
    sql("ALTER TABLE a ADD COLUMN y STRING")
    sql("ALTER TABLE a ALTER COLUMN x TYPE BIGINT")
    sql("INSERT INTO a VALUES (33, 3, 'y')")
    assert shuffles(spark, "SELECT a.id, a.y, b.x FROM a JOIN b ON a.id = b.id") == 0
    sql("CALL sys.create_branch('a', 'other')")
    sql("INSERT INTO `a$branch_other` VALUES (7, 7, 'b')")
    assert shuffles(spark, "SELECT a.id, b.x FROM `a$branch_other` a JOIN b ON a.id = b.id") in (0, 2)
    sql("ALTER TABLE a SET TBLPROPERTIES ('scan.fallback-branch' = 'other')")
    assert shuffles(spark, JOIN) == 2


def test_keys_that_had_another_type_are_shuffled(spark: SparkSession, sql: Sql) -> None:
    for name in "ab":
        table(sql, name)
        sql(f"INSERT INTO {name} SELECT id, id FROM range(-20, 20)")
    assert shuffles(spark, JOIN) == 0
    # Here nobody may change it so; whoever did would leave rows in the buckets of their old bits.
    (place,) = (row[1] for row in sql("DESCRIBE EXTENDED a") if row[0] == "Location")
    schema = json.loads(Path(f"{place}/schema/schema-0").read_text())
    schema["id"] = 1
    schema["fields"][0]["type"] = "BIGINT"
    Path(f"{place}/schema/schema-1").write_text(json.dumps(schema))
    sql("CREATE TABLE c (id BIGINT, x INT) TBLPROPERTIES ('bucket' = '4', 'bucket-key' = 'id')")
    sql("INSERT INTO c SELECT id, id FROM range(-20, 20)")
    assert len(sql("SELECT a.id FROM a JOIN c ON a.id = c.id")) == 40
    assert shuffles(spark, "SELECT a.id, c.x FROM a JOIN c ON a.id = c.id") == 2


def test_changes_of_rows_join_as_ever(spark: SparkSession, sql: Sql) -> None:
    for kind in ("append", "marking", "deletion vectors"):
        filled(sql, "a", kind)
        filled(sql, "b", low=30, high=90)
        before = dict(rows_of(spark.sql("SELECT id, max(x) FROM b GROUP BY id")))
        sql(
            "MERGE INTO a USING (SELECT id, max(x) AS x FROM b GROUP BY id) s ON a.id = s.id"
            " WHEN MATCHED THEN UPDATE SET x = s.x + 1000 WHEN NOT MATCHED THEN INSERT *"
        )
        assert dict(rows_of(spark.sql("SELECT id, x FROM a WHERE id >= 30"))) == {
            i: x + 1000 if i < 60 else x for i, x in before.items()
        }
        sql("UPDATE a SET x = 0 WHERE id IN (SELECT id FROM b WHERE x > 60)")
        sql("DELETE FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.id = a.id AND b.x < 40)")
        assert shuffles(spark, JOIN) == 0
        sql("CREATE TABLE c AS SELECT a.id, b.x FROM a JOIN b ON a.id = b.id")
        assert sorted(sql("SELECT * FROM c")) == sorted(sql("SELECT a.id, b.x FROM a JOIN b ON a.id = b.id"))
        for name in "abc":
            sql(f"DROP TABLE {name}")
