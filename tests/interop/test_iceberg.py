"""Iceberg's readers see the rows of a table behind each change of it, whoever made it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import paimon_sql
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.iceberg.store import MetadataStore

from .iceberg_side import JavaIceberg, PyIceberg, in_order
from .test_java import rows_of

ON = "'metadata.iceberg.storage' = 'table-location'"


class Seen:
    """A table as the readers see it, which must be as the connector does."""

    def __init__(self, spark: SparkSession, warehouse: Path, readers: tuple[PyIceberg, JavaIceberg], name: str) -> None:
        self.spark, self.name = spark, name
        self.folder = warehouse / "default.db" / name
        self.pyiceberg, self.iceberg = readers

    def run(self, *statements: str, of: str = "") -> None:
        """Run statements on the table ``{t}``, behind each of which the readers must see its rows.

        Args:
            statements: the statements.
            of: the view of the table that they must see, such as ``$ro``.
        """
        for statement in statements:
            self.spark.sql(statement.format(t=f"default.{self.name}"))
            self.check(of)

    def check(self, of: str = "") -> None:
        expected = in_order(rows_of(self.spark, f"default.`{self.name}{of}`"))
        assert self.iceberg.read(self.folder) == expected
        if not self.has_vectors:  # pyiceberg wants whole Puffin files
            assert self.pyiceberg.read(self.folder / "metadata") == expected

    @property
    def metadata(self) -> dict[str, object]:
        folder = self.folder / "metadata"
        version = (folder / "version-hint.text").read_text()
        found: dict[str, object] = json.loads((folder / f"v{version}.metadata.json").read_text())
        return found

    @property
    def has_vectors(self) -> bool:
        snapshots = self.metadata["snapshots"]
        assert isinstance(snapshots, list)
        return bool(int(snapshots[-1]["summary"]["total-delete-files"]))


Look = Callable[[str], Seen]
"""Makes a `Seen` of a table's name."""


@pytest.fixture
def seen(spark: SparkSession, warehouse: Path, pyiceberg: PyIceberg, iceberg: JavaIceberg) -> Look:
    return lambda name: Seen(spark, warehouse, (pyiceberg, iceberg), name)


def test_an_append_table_is_seen_behind_each_statement(seen: Look, spark: SparkSession) -> None:
    table = seen("ice_append")
    spark.sql(
        f"CREATE TABLE default.ice_append (id INT NOT NULL, v STRING, n BIGINT, p STRING) PARTITIONED BY (p)"
        f" TBLPROPERTIES ({ON})"
    )
    table.run(
        "INSERT INTO {t} VALUES (1, 'a', 1, 'x'), (2, NULL, NULL, NULL), (3, '', 0, '')",
        "INSERT INTO {t} SELECT id, 'ä😀', id * 10, 'y' FROM range(10, 14)",
        "DELETE FROM {t} WHERE id = 1",
        "UPDATE {t} SET v = 'changed' WHERE id = 11",
        "INSERT OVERWRITE {t} PARTITION (p = 'y') VALUES (50, 'over', 1)",
        "ALTER TABLE {t} DROP PARTITION (p = 'y')",
        "ALTER TABLE {t} ADD COLUMN z DOUBLE",
        "INSERT INTO {t} VALUES (4, 'd', 4, 'x', 1.5)",
        "ALTER TABLE {t} RENAME COLUMN v TO w",
        "ALTER TABLE {t} DROP COLUMN n",
        "INSERT INTO {t} VALUES (5, 'e', 'x', 2.5)",
        "CALL sys.compact(table => '{t}')",
        "TRUNCATE TABLE {t}",
        "INSERT INTO {t} VALUES (6, 'f', 'x', 3.5)",
    )


def test_a_keyed_table_is_seen_as_of_its_last_full_compaction(seen: Look, spark: SparkSession) -> None:
    table = seen("ice_keyed")
    spark.sql(
        "CREATE TABLE default.ice_keyed (k INT NOT NULL, v STRING, p INT NOT NULL) PARTITIONED BY (p) TBLPROPERTIES"
        f" ('primary-key' = 'k,p', 'bucket' = '2', 'num-sorted-run.compaction-trigger' = '3', {ON})"
    )
    compact = "CALL sys.compact(table => '{t}')"
    table.run(
        "INSERT INTO {t} VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2)",
        compact,
        "INSERT INTO {t} VALUES (1, 'a2', 1), (4, 'd', 2)",
        "DELETE FROM {t} WHERE k = 2",
        "INSERT INTO {t} VALUES (5, 'e', 1)",
        "INSERT INTO {t} VALUES (6, 'f', 1)",
        compact,
        "INSERT OVERWRITE {t} PARTITION (p = 2) VALUES (9, 'over')",
        compact,
        "ALTER TABLE {t} ADD COLUMN n INT FIRST",
        "UPDATE {t} SET n = 7 WHERE k = 1",
        compact,
        of="$ro",
    )


@pytest.mark.parametrize("keyed", [True, False])
def test_deletion_vectors_are_seen_at_once(keyed: bool, seen: Look, spark: SparkSession) -> None:
    name = f"ice_vectors_{'keyed' if keyed else 'append'}"
    table = seen(name)
    key = "'primary-key' = 'k,p', 'bucket' = '2'," if keyed else ""
    spark.sql(
        f"CREATE TABLE default.{name} (k INT NOT NULL, v STRING, p INT NOT NULL) PARTITIONED BY (p) TBLPROPERTIES"
        f" ({key} 'deletion-vectors.enabled' = 'true', 'deletion-vectors.bitmap64' = 'true',"
        f" 'metadata.iceberg.format-version' = '3', {ON})"
    )
    table.run(
        "INSERT INTO {t} VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2), (4, 'd', 2), (5, 'e', 2)",
        "DELETE FROM {t} WHERE k = 2",
        "UPDATE {t} SET v = 'changed' WHERE k = 3",
        "INSERT INTO {t} SELECT id, 'new', 1 FROM range(10, 20)",
        "DELETE FROM {t} WHERE k IN (4, 11, 12)",
        "MERGE INTO {t} AS t USING (SELECT 13 AS k, 1 AS p) AS s ON t.k = s.k AND t.p = s.p WHEN MATCHED THEN DELETE",
        "CALL sys.compact(table => '{t}')",
        "DELETE FROM {t} WHERE k = 1",
    )
    rows = table.metadata["next-row-id"]
    assert isinstance(rows, int) and rows >= 15


def test_all_types_that_iceberg_has_are_seen_with_their_bounds(seen: Look, spark: SparkSession) -> None:
    table = seen("ice_types")
    columns = {
        "b": ("BOOLEAN", "true"), "t": ("TINYINT", "-7"), "s": ("SMALLINT", "300"), "i": ("INT", "-70000"),
        "l": ("BIGINT", "5000000000"), "f": ("FLOAT", "-0.5"), "d": ("DOUBLE", "'NaN'"),
        "e9": ("DECIMAL(9, 2)", "-1.25"),
        "e18": ("DECIMAL(18, 0)", "123456789012345678"), "e38": ("DECIMAL(38, 10)", "-1234567890123456789.5"),
        "c": ("CHAR(3)", "'ab'"), "vc": ("VARCHAR(9)", "'ä😀'"), "x": ("STRING", "'" + "z" * 40 + "'"),
        "y": ("BINARY", "X'00FF'"), "dt": ("DATE", "DATE'1969-12-30'"),
        "z": ("TIMESTAMP", "TIMESTAMP'1969-12-31 23:59:59.000001'"),
        "n": ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ'2024-02-29 12:00:00.123456'"),
        "a": ("ARRAY<ARRAY<INT>>", "array(array(1, NULL), array())"),
        "m": ("MAP<STRING, STRUCT<p: INT, q: ARRAY<STRING>>>", "map('k', named_struct('p', 1, 'q', array('w')))"),
        "r": ("STRUCT<p: INT, q: MAP<INT, STRING>>", "named_struct('p', NULL, 'q', map(1, 'one'))"),
    }  # fmt: skip
    declared = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
    values = ", ".join(f"CAST({value} AS {kind})" for kind, value in columns.values())
    spark.sql(f"CREATE TABLE default.ice_types ({declared}) TBLPROPERTIES ({ON})")
    spark.sql(f"INSERT INTO default.ice_types SELECT {values}")
    spark.sql(f"INSERT INTO default.ice_types SELECT {', '.join('NULL' for _ in columns)}")
    expected = in_order(table.iceberg.read(table.folder))
    assert len(expected) == 2
    assert expected[1] == [None] * len(columns) or expected[0] == [None] * len(columns)
    everything = table.pyiceberg.read(table.folder / "metadata")
    for condition in (
        "b = true", "t = -7", "s = 300", "i = -70000", "l = 5000000000", "f = -0.5", "e9 = -1.25",
        "x = '" + "z" * 40 + "'",
        "e18 = 123456789012345678", "e38 < 0", "c IS NOT NULL", "vc = 'ä😀'", "dt = '1969-12-30'",
        "z = '1969-12-31T23:59:59.000001+00:00'", "n = '2024-02-29T12:00:00.123456'",
    ):  # fmt: skip
        found = table.pyiceberg.read(table.folder / "metadata", where=condition)
        assert len(found) == 1 and found[0] in everything, condition
        excluded = condition.replace(" = ", " != ").replace("< 0", ">= 0").replace("IS NOT NULL", "IS NULL")
        assert all(row not in found for row in table.pyiceberg.read(table.folder / "metadata", where=excluded))


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("INT", ["1", "-300", "NULL"]), ("BIGINT", ["1", "-5000000000"]), ("STRING", ["'a'", "''", "'ä/=😀'", "NULL"]),
        ("DATE", ["DATE'1960-01-01'", "DATE'2024-01-01'"]), ("BOOLEAN", ["true", "false"]),
        ("DECIMAL(10, 2)", ["-1.25", "99.99"]), ("TIMESTAMP", ["TIMESTAMP'2024-01-01 00:00:00.123'"]),
        ("DOUBLE", ["1.5", "-2.5"]),
    ],
)  # fmt: skip
def test_partitions_of_any_type_are_seen(kind: str, values: list[str], seen: Look, spark: SparkSession) -> None:
    name = f"ice_by_{kind.split('(')[0].lower()}"
    table = seen(name)
    spark.sql(f"CREATE TABLE default.{name} (k INT, p {kind}) PARTITIONED BY (p) TBLPROPERTIES ({ON})")
    rows = ", ".join(f"({i}, CAST({value} AS {kind}))" for i, value in enumerate(values))
    spark.sql(f"INSERT INTO default.{name} VALUES {rows}")
    spark.sql(f"DELETE FROM default.{name} WHERE k = 0")
    left = table.iceberg.read(table.folder)
    assert [row[0] for row in left] == list(range(1, len(values)))
    assert [row[0] for row in table.pyiceberg.read(table.folder / "metadata")] == list(range(1, len(values)))


def test_rollbacks_expiry_and_tags_are_followed(seen: Look, spark: SparkSession) -> None:
    table = seen("ice_history")
    spark.sql(f"CREATE TABLE default.ice_history (k INT, v STRING) TBLPROPERTIES ({ON})")
    for i in range(1, 6):
        table.run(f"INSERT INTO {{t}} VALUES ({i}, 'v{i}')")
    call = "CALL sys.{}(table => 'default.ice_history', {})"
    spark.sql(call.format("create_tag", "tag => 'first', snapshot => 1"))
    spark.sql(call.format("create_tag", "tag => 'last', snapshot => 5"))
    assert table.iceberg.read(table.folder, "first") == table.pyiceberg.read(table.folder / "metadata", "first")
    assert table.iceberg.read(table.folder, "first") == [[1, "v1"]]
    assert len(table.iceberg.read(table.folder, 3)) == 3
    spark.sql(call.format("rollback", "version => '4'"))
    table.check()
    assert table.metadata["refs"] == {"first": {"snapshot-id": 1, "type": "tag"}}
    table.run("INSERT INTO {t} VALUES (50, 'again')", "INSERT INTO {t} VALUES (60, 'more')")
    spark.sql(call.format("expire_snapshots", "retain_max => 2, retain_min => 1"))
    table.check()
    snapshots = table.metadata["snapshots"]
    assert isinstance(snapshots, list)
    assert [s["snapshot-id"] for s in snapshots] == [1, 5, 6]
    assert table.iceberg.read(table.folder, "first") == [[1, "v1"]]
    spark.sql(call.format("delete_tag", "tag => 'first'"))
    table.check()
    assert table.metadata["refs"] == {}
    needed = {"version-hint.text", "v6.metadata.json"}
    assert len(files_of(table)) - len(needed) == 2 + manifests_of(table)


def files_of(table: Seen) -> set[str]:
    return {p.name for p in (table.folder / "metadata").iterdir()}


def manifests_of(table: Seen) -> int:
    """How many manifests the retained snapshots have."""
    store = MetadataStore(LocalFileIO(), str(table.folder / "metadata"))
    snapshots = table.metadata["snapshots"]
    assert isinstance(snapshots, list)
    return len({m.manifest_path for s in snapshots for m in store.read_list(s["manifest-list"])})


def test_small_manifests_are_put_together_and_old_versions_kept_as_asked(seen: Look, spark: SparkSession) -> None:
    table = seen("ice_compacted")
    spark.sql(
        "CREATE TABLE default.ice_compacted (k INT) TBLPROPERTIES ('metadata.iceberg.compaction.min.file-num' = '2',"
        f" 'metadata.iceberg.compaction.max.file-num' = '4', 'metadata.iceberg.previous-versions-max' = '2',"
        " 'metadata.iceberg.manifest-legacy-version' = 'true', 'metadata.iceberg.manifest-compression' = 'zstd',"
        f" 'metadata.iceberg.table-properties.owner' = 'me', {ON})"
    )
    for i in range(1, 8):
        spark.sql(f"INSERT INTO default.ice_compacted VALUES ({i})")
    table.check()
    store = MetadataStore(LocalFileIO(), str(table.folder / "metadata"))
    assert store.versions() == [5, 6, 7]
    snapshots = table.metadata["snapshots"]
    assert isinstance(snapshots, list)
    assert [len(store.read_list(s["manifest-list"])) for s in snapshots] == [1, 2, 3, 1, 2, 3, 1]
    assert table.metadata["properties"] == {"owner": "me"}
    for i in range(1, 8):
        assert table.iceberg.read(table.folder, i) == [[k] for k in range(1, i + 1)]


def test_a_folder_of_its_own_is_the_warehouse_of_a_hadoop_catalog(
    seen: Look, spark: SparkSession, warehouse: Path, iceberg: JavaIceberg
) -> None:
    spark.sql("CREATE TABLE default.ice_apart (k INT) TBLPROPERTIES ('metadata.iceberg.storage' = 'hadoop-catalog')")
    spark.sql("INSERT INTO default.ice_apart VALUES (1), (2)")
    assert iceberg.read_catalog(warehouse / "iceberg", "default.ice_apart") == [[1], [2]]
    spark.sql("DROP TABLE default.ice_apart")
    assert not (warehouse / "iceberg" / "default" / "ice_apart").exists()
    spark.sql("CREATE TABLE default.ice_apart (s STRING) TBLPROPERTIES ('metadata.iceberg.storage' = 'hadoop-catalog')")
    spark.sql("INSERT INTO default.ice_apart VALUES ('other')")
    assert iceberg.read_catalog(warehouse / "iceberg", "default.ice_apart") == [["other"]]


@pytest.mark.parametrize("catalog", ["paimon", "spark_catalog"])
def test_a_database_that_is_dropped_leaves_nothing_to_readers(
    catalog: str, spark: SparkSession, warehouse: Path, iceberg: JavaIceberg
) -> None:
    place, session = "", spark
    if catalog == "spark_catalog":
        place = f" LOCATION '{warehouse}/ice_gone.db'"
        session = paimon_sql.install(spark.newSession(), {catalog: {"warehouse": str(warehouse)}})
    database, on = f"{catalog}.ice_gone", "TBLPROPERTIES ('metadata.iceberg.storage' = 'hadoop-catalog')"
    session.sql(f"CREATE DATABASE {database}{place}")
    session.sql(f"CREATE TABLE {database}.t (k INT) USING paimon {on}")
    session.sql(f"CREATE TABLE {database}.u (k INT) USING paimon")
    session.sql(f"CREATE MATERIALIZED TABLE {database}.m {on} REFRESH_MODE = FULL AS SELECT 1 AS k")
    for name in "tu":
        session.sql(f"INSERT INTO {database}.{name} VALUES (1), (2)")
    shown = warehouse / "iceberg" / "ice_gone"
    assert {folder.name for folder in shown.iterdir()} == {"t", "m"}
    session.sql(f"DROP MATERIALIZED TABLE {database}.m")
    assert {folder.name for folder in shown.iterdir()} == {"t"}
    session.sql(f"CACHE TABLE {database}.t")
    session.sql(f"DROP DATABASE {database} CASCADE")
    assert not shown.exists()
    session.sql(f"CREATE DATABASE {database}{place}")
    session.sql(f"CREATE TABLE {database}.t (k INT) USING paimon {on}")
    assert session.table(f"{database}.t").count() == 0
    session.sql(f"INSERT INTO {database}.t VALUES (3)")
    assert iceberg.read_catalog(warehouse / "iceberg", "ice_gone.t") == [[3]]
    session.sql(f"DROP DATABASE {database} CASCADE")


def test_a_table_made_visible_later_and_upgraded_is_told_of_anew(seen: Look, spark: SparkSession) -> None:
    table = seen("ice_later")
    spark.sql("CREATE TABLE default.ice_later (k INT, v INT)")
    spark.sql("INSERT INTO default.ice_later VALUES (1, 1), (2, 2)")
    table.run(f"ALTER TABLE {{t}} SET TBLPROPERTIES ({ON})")
    first = table.metadata
    table.run(
        "INSERT INTO {t} VALUES (3, 3)", "ALTER TABLE {t} SET TBLPROPERTIES ('metadata.iceberg.format-version' = '3')"
    )
    assert (first["format-version"], table.metadata["format-version"]) == (2, 3)
    assert first["table-uuid"] == table.metadata["table-uuid"]
    table.run(
        "INSERT INTO {t} VALUES (4, 4)", "ALTER TABLE {t} ALTER COLUMN v TYPE BIGINT", "INSERT INTO {t} VALUES (5, 5)"
    )
    spark.sql("ALTER TABLE default.ice_later RENAME TO default.ice_renamed")
    seen("ice_renamed").check()


def test_what_readers_would_read_wrongly_is_not_shown_to_them(
    seen: Look, spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    table = seen("ice_odd")
    spark.sql(f"CREATE TABLE default.ice_odd (k INT, v INT) TBLPROPERTIES ({ON})")
    table.run("INSERT INTO {t} VALUES (1, 1)")
    spark.sql("ALTER TABLE default.ice_odd ALTER COLUMN v TYPE STRING")
    with pytest.raises(Exception, match="type"):
        spark.sql("CALL sys.publish_iceberg(table => 'default.ice_odd')").collect()
    assert table.iceberg.read(table.folder) == [[1, 1]]
    spark.sql("INSERT OVERWRITE default.ice_odd VALUES (2, 'two')")
    table.check()


def test_replaced_tables_streams_and_merges_are_seen(seen: Look, spark: SparkSession, tmp_path: Path) -> None:
    table = seen("ice_replaced")
    table.run(
        f"CREATE TABLE {{t}} TBLPROPERTIES ({ON}) AS SELECT id AS k, 'a' AS v FROM range(3)",
        "MERGE INTO {t} AS t USING (SELECT 2L AS k UNION ALL SELECT 9L) AS s ON t.k = s.k"
        " WHEN MATCHED THEN UPDATE SET v = 'merged' WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, 'new')",
        f"CREATE OR REPLACE TABLE {{t}} TBLPROPERTIES ({ON}) AS SELECT 'x' AS p, 1.5D AS d",
        "INSERT INTO {t} VALUES ('y', 2.5)",
    )
    rows = spark.readStream.table("default.ice_replaced").selectExpr("concat(p, '!') AS p", "d * 2 AS d")
    spark.sql(f"CREATE TABLE default.ice_streamed (p STRING, d DOUBLE) TBLPROPERTIES ({ON})")
    query = rows.writeStream.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
    query.toTable("default.ice_streamed").awaitTermination()
    seen("ice_streamed").check()
