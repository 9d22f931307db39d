"""Iceberg's own runtime for Spark, in a Spark of its own, sees the rows of tables that we and Java write.

Its newest is for Spark 4.1: these tests run where the oldest PySpark that is supported is tested.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

from .iceberg_side import IcebergSpark, Rows, in_order
from .iceberg_spark_program import plain
from .java import JavaPaimon

pytestmark = [
    pytest.mark.smoke,
    pytest.mark.skipif(not pyspark.__version__.startswith("4.1."), reason="Iceberg's runtime is for Spark 4.1"),
]

PLACE, APART = "table-location", "hadoop-catalog"
VECTORS = (
    "'deletion-vectors.enabled' = 'true', 'deletion-vectors.bitmap64' = 'true', 'metadata.iceberg.format-version' = '3'"
)


class Beside:
    """A table here and there.

    Args:
        spark: our session.
        iceberg: the other one.
        name: the table's name.
        storage: where its metadata stand.
    """

    def __init__(self, spark: SparkSession, iceberg: IcebergSpark, name: str, storage: str = PLACE) -> None:
        self.spark, self.iceberg, self.here = spark, iceberg, f"default.{name}"
        self.there = f"place.`default.db`.{name}" if storage == PLACE else f"apart.default.{name}"
        self.on = f"'metadata.iceberg.storage' = '{storage}'"

    def run(self, *statements: str, of: str = "") -> None:
        """Run statements on the table ``{t}``, behind each of which the rows must be the same.

        Args:
            statements: the statements.
            of: the view of the table that must be seen, such as ``$ro``.
        """
        for statement in statements:
            self.spark.sql(statement.format(t=self.here, on=self.on))
            self.check(of)

    def check(self, of: str = "") -> None:
        """The rows must be the same, however they are asked for."""
        self.agree("SELECT * FROM {t}", of)
        self.agree("SELECT count(*), min(k), max(k) FROM {t}", of)

    def agree(self, query: str, of: str = "") -> None:
        """Both must answer a query alike."""
        assert self.iceberg(query.format(t=self.there)) == self.answer(query, of), query

    def answer(self, query: str, of: str = "") -> Rows:
        """Our answer to a query."""
        database, name = self.here.split(".")
        rows = self.spark.sql(query.format(t=f"{database}.`{name}{of}`")).collect()
        return in_order([plain(row) for row in rows])

    def column(self, query: str) -> list[Any]:
        """The only column of the other's answer."""
        return [value for (value,) in self.iceberg(query.format(t=self.there))]


def test_an_append_table_is_the_same_behind_each_statement(spark: SparkSession, iceberg_spark: IcebergSpark) -> None:
    table = Beside(spark, iceberg_spark, "ice_spark_append")
    spark.sql(
        f"CREATE TABLE {table.here} (k INT NOT NULL, v STRING, n BIGINT, p STRING) PARTITIONED BY (p)"
        f" TBLPROPERTIES ({table.on})"
    )
    table.run(
        "INSERT INTO {t} VALUES (1, 'a', 1, 'x'), (2, NULL, NULL, NULL), (3, '', 0, '')",
        "INSERT INTO {t} SELECT id, 'ä😀', id * 10, 'y' FROM range(10, 14)",
        "DELETE FROM {t} WHERE k = 1",
        "UPDATE {t} SET v = 'changed' WHERE k = 11",
        "ALTER TABLE {t} ADD COLUMN s STRUCT<a: INT, b: STRING>",
        "INSERT INTO {t} VALUES (4, 'd', 4, 'x', named_struct('a', 1, 'b', 'z'))",
        "ALTER TABLE {t} RENAME COLUMN v TO w",
        "ALTER TABLE {t} DROP COLUMN n",
        "ALTER TABLE {t} ADD COLUMN s.c DOUBLE AFTER a",
        "ALTER TABLE {t} ALTER COLUMN k TYPE BIGINT",
        "INSERT INTO {t} VALUES (5000000000, 'e', 'y', named_struct('a', 2, 'c', 2.5, 'b', 'zz'))",
    )
    table.agree("SELECT w, s.b FROM {t} WHERE p = 'y' AND s.c IS NULL")
    table.agree("SELECT k FROM {t} WHERE k > 2 AND k <= 11")
    table.agree("SELECT p, count(*), sum(k) FROM {t} GROUP BY p")
    for snapshot in (1, 2, 4, 5):
        table.agree(f"SELECT * FROM {{t}} VERSION AS OF {snapshot}")
    table.run("CALL sys.compact(table => '{t}')", "INSERT OVERWRITE {t} PARTITION (p = 'y') VALUES (9, 'o', NULL)")
    partitions = table.column("SELECT partition.p FROM {t}.partitions")
    assert sorted(partitions, key=str) == sorted((p for (p,) in table.answer("SELECT DISTINCT p FROM {t}")), key=str)
    table.run("TRUNCATE TABLE {t}", "INSERT INTO {t} VALUES (6, 'f', 'x', NULL)")


def test_a_keyed_table_is_seen_as_of_its_compactions(spark: SparkSession, iceberg_spark: IcebergSpark) -> None:
    table = Beside(spark, iceberg_spark, "ice_spark_keyed", APART)
    spark.sql(
        f"CREATE TABLE {table.here} (k INT NOT NULL, v STRING, p INT NOT NULL) PARTITIONED BY (p) TBLPROPERTIES"
        f" ('primary-key' = 'k,p', 'bucket' = '2', {table.on})"
    )
    compact = "CALL sys.compact(table => '{t}')"
    table.run(
        "INSERT INTO {t} SELECT id, 'a', id % 2 FROM range(12)",
        compact,
        "INSERT INTO {t} VALUES (1, 'upserted', 1), (40, 'new', 2)",
        "DELETE FROM {t} WHERE k = 2",
        compact,
        "ALTER TABLE {t} ADD COLUMN n INT FIRST",
        "UPDATE {t} SET n = 7 WHERE k = 1",
        compact,
        of="$ro",
    )
    snapshots = table.answer("SELECT snapshot_id FROM {t}", of="$snapshots")
    assert table.iceberg(f"SELECT snapshot_id FROM {table.there}.snapshots") == snapshots


@pytest.mark.parametrize("keyed", [True, False])
def test_deletion_vectors_are_heeded(keyed: bool, spark: SparkSession, iceberg_spark: IcebergSpark) -> None:
    table = Beside(spark, iceberg_spark, f"ice_spark_vectors_{'keyed' if keyed else 'append'}")
    key = "'primary-key' = 'k,p', 'bucket' = '2'," if keyed else ""
    spark.sql(
        f"CREATE TABLE {table.here} (k INT NOT NULL, v STRING, p INT NOT NULL) PARTITIONED BY (p)"
        f" TBLPROPERTIES ({key} {VECTORS}, {table.on})"
    )
    table.run(
        "INSERT INTO {t} VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2), (4, 'd', 2), (5, 'e', 2)",
        "DELETE FROM {t} WHERE k = 2",
        "UPDATE {t} SET v = 'changed' WHERE k = 3",
        "INSERT INTO {t} SELECT id, 'new', 1 FROM range(10, 5000)",
        "DELETE FROM {t} WHERE k % 7 = 0 OR k = 5",
        "ALTER TABLE {t} ADD COLUMN n INT",
        "DELETE FROM {t} WHERE k = 11",
        "CALL sys.compact(table => '{t}')",
        "DELETE FROM {t} WHERE k = 1",
    )
    table.agree("SELECT v, count(*), sum(k) FROM {t} GROUP BY v")
    table.agree("SELECT k FROM {t} WHERE k > 2 AND k <= 21")
    assert sorted(table.column("SELECT _row_id IS NULL FROM {t} LIMIT 1")) == [False]
    ids = table.column("SELECT _row_id FROM {t}")
    assert len(set(ids)) == len(ids)


def test_history_is_followed_by_rollback_tags_and_expiry(spark: SparkSession, iceberg_spark: IcebergSpark) -> None:
    table = Beside(spark, iceberg_spark, "ice_spark_history")
    spark.sql(f"CREATE TABLE {table.here} (k INT, v STRING) TBLPROPERTIES ({table.on}, {VECTORS})")
    for i in range(1, 6):
        spark.sql(f"INSERT INTO {table.here} VALUES ({i}, 'v{i}'), ({i + 10}, 'w{i}')")
    call = f"CALL sys.{{}}(table => '{table.here}', {{}})"
    spark.sql(call.format("create_tag", "tag => 'first', snapshot => 1"))
    table.agree("SELECT * FROM {t} VERSION AS OF 'first'")
    table.agree("SELECT * FROM {t} VERSION AS OF 3")
    spark.sql(call.format("rollback", "version => '3'"))
    table.check()
    table.run("DELETE FROM {t} WHERE k = 2", "INSERT INTO {t} VALUES (7, 'again')")
    assert table.column("SELECT snapshot_id FROM {t}.history WHERE is_current_ancestor") == [1, 2, 3, 4, 5]
    for snapshot in range(1, 6):
        table.agree(f"SELECT * FROM {{t}} VERSION AS OF {snapshot}")
    spark.sql(call.format("expire_snapshots", "retain_max => 2, retain_min => 1"))
    table.check()
    assert sorted(table.column("SELECT snapshot_id FROM {t}.snapshots")) == [1, 4, 5]
    assert table.column("SELECT name FROM {t}.refs WHERE type = 'TAG'") == ["first"]
    table.agree("SELECT * FROM {t} VERSION AS OF 'first'")
    spark.sql(call.format("delete_tag", "tag => 'first'"))
    spark.sql(call.format("expire_snapshots", "retain_max => 1, retain_min => 1"))
    table.check()
    table.run("CALL sys.compact(table => '{t}')")


def test_changes_between_snapshots_are_those_of_the_commits(spark: SparkSession, iceberg_spark: IcebergSpark) -> None:
    table = Beside(spark, iceberg_spark, "ice_spark_changes")
    spark.sql(f"CREATE TABLE {table.here} (k INT, v STRING, p INT) PARTITIONED BY (p) TBLPROPERTIES ({table.on})")
    table.run(
        "INSERT INTO {t} VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2)",
        "INSERT INTO {t} VALUES (4, 'd', 2)",
        "UPDATE {t} SET v = 'changed' WHERE k = 2",
        "DELETE FROM {t} WHERE k = 3",
        "INSERT OVERWRITE {t} PARTITION (p = 1) VALUES (9, 'over')",
    )
    spark.sql(f"CALL sys.compact(table => '{table.here}', compact_strategy => 'full')")
    assert table.column("SELECT operation FROM {t}.snapshots WHERE snapshot_id < 6") == sorted(
        ["append", "append", "overwrite", "overwrite", "overwrite"]
    )
    table.iceberg(
        "CALL place.system.create_changelog_view(table => '`default.db`.ice_spark_changes',"
        " changelog_view => 'told', options => map('start-snapshot-id', '1'))"
    )
    assert table.iceberg("SELECT _commit_snapshot_id, _change_type, k, v FROM told") == in_order([
        [2, "INSERT", 4, "d"],
        [3, "DELETE", 2, "b"],
        [3, "INSERT", 2, "changed"],
        [4, "DELETE", 3, "c"],
        [5, "DELETE", 1, "a"],
        [5, "DELETE", 2, "changed"],
        [5, "INSERT", 9, "over"],
    ])  # fmt: skip


def test_values_of_all_types_are_the_same_and_found(spark: SparkSession, iceberg_spark: IcebergSpark) -> None:
    columns = {
        "b": ("BOOLEAN", "true"), "t": ("TINYINT", "-7"), "s": ("SMALLINT", "300"), "l": ("BIGINT", "5000000000"),
        "f": ("FLOAT", "-0.5"), "d": ("DOUBLE", "2.5"), "e9": ("DECIMAL(9, 2)", "-1.25"),
        "e38": ("DECIMAL(38, 10)", "-1234567890123456789.5"), "x": ("STRING", "'ä😀" + "z" * 40 + "'"),
        "dt": ("DATE", "DATE'1969-12-30'"), "z": ("TIMESTAMP", "TIMESTAMP'1969-12-31 23:59:59.000001'"),
        "n": ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ'2024-02-29 12:00:00.123456'"),
        "a": ("ARRAY<ARRAY<INT>>", "array(array(1, NULL), array())"),
    }  # fmt: skip
    table = Beside(spark, iceberg_spark, "ice_spark_types")
    declared = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
    values = ", ".join(f"CAST({value} AS {kind})" for kind, value in columns.values())
    spark.sql(f"CREATE TABLE {table.here} (k INT, {declared}) TBLPROPERTIES ({table.on})")
    spark.sql(f"INSERT INTO {table.here} SELECT 1, {values}")
    spark.sql(f"INSERT INTO {table.here} SELECT 2, {', '.join('NULL' for _ in columns)}")
    table.check()
    for name, (kind, value) in columns.items():
        table.agree(f"SELECT k FROM {{t}} WHERE {name} = CAST({value} AS {kind})")
        table.agree(f"SELECT k FROM {{t}} WHERE {name} IS NULL")
        if kind != "ARRAY<ARRAY<INT>>":
            table.agree(f"SELECT count({name}), min({name}), max({name}) FROM {{t}}")


KEYED = "'primary-key' = 'k', 'bucket' = '2'"
TURNS = {
    "append": (APART, "'compaction.min.file-num' = '50'", ""),
    "keyed": (PLACE, KEYED, "$ro"),
    "vectors": (APART, f"{KEYED}, {VECTORS}", ""),
}


@pytest.mark.parametrize("kind", TURNS)
def test_tables_that_java_and_we_write_in_turns_are_the_same(
    kind: str, spark: SparkSession, java: JavaPaimon, warehouse: Path, iceberg_spark: IcebergSpark
) -> None:
    storage, options, of = TURNS[kind]
    table = Beside(spark, iceberg_spark, f"ice_spark_turns_{kind}", storage)
    spark.sql(f"CREATE TABLE {table.here} (k INT NOT NULL, v STRING) TBLPROPERTIES ({options}, {table.on})")

    def theirs(*rows: list[Any]) -> None:
        java.write(warehouse, table.here, rows)
        java.compact(warehouse, table.here)
        if kind != "vectors":  # Java numbers no rows, which format 3 wants; our next commit does
            table.check(of)

    for turn in range(2):
        theirs([turn * 10 + 2, "j"], [turn * 10 + 3, "java"])
        table.run(
            f"INSERT INTO {{t}} VALUES ({turn * 10}, 'o'), ({turn * 10 + 1}, 'ours')",
            f"DELETE FROM {{t}} WHERE k IN ({turn * 10}, {turn * 10 + 2})",
            f"UPDATE {{t}} SET v = 'changed' WHERE k = {turn * 10 + 3}",
            of=of,
        )
    theirs([90, "last"])
    table.run("CALL sys.publish_iceberg(table => '{t}')", "CALL sys.compact(table => '{t}')", of=of)
