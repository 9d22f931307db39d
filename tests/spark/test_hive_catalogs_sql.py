"""Hive catalogs through SQL: their statements are those of any catalog, and their names stand in Hive's metastore."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pymetastore.hive_metastore.ttypes import FieldSchema

from paimon_sql.catalog.hive.layout.tables import new_entry
from paimon_sql.spark.jvm.compat import HAS_VIEWS
from tests.servers import Metastore

Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def lake(sql: Sql, hive: dict[str, str]) -> Iterator[Sql]:
    """Statements in a session with a catalog ``lake`` and its database ``d``."""
    options = ", ".join(f"'{k}' = '{v}'" for k, v in hive.items())
    sql(f"CREATE CATALOG lake WITH ('type' = 'paimon', {options}, 'lock.enabled' = 'true')")
    sql("CREATE DATABASE lake.d")
    yield sql
    sql("DROP CATALOG lake")


def test_databases_are_made_described_changed_and_dropped(lake: Sql, tmp_path: Path) -> None:
    lake(f"CREATE DATABASE lake.e COMMENT 'a comment' LOCATION '{tmp_path}/far' WITH DBPROPERTIES ('k' = 'v')")
    lake("ALTER DATABASE lake.e SET DBPROPERTIES ('k' = 'w', 'l' = 'x')")
    told: dict[str, str] = dict(lake("DESCRIBE DATABASE EXTENDED lake.e"))
    assert (told["Comment"], told["Location"]) == ("a comment", f"{tmp_path}/far")
    assert told["Properties"] == "((k,w), (l,x))" and told["Owner"] == getpass.getuser()
    lake("CREATE TABLE lake.e.t (id INT)")
    assert (tmp_path / "far" / "t" / "schema").exists()
    with pytest.raises(Exception, match="SCHEMA_NOT_EMPTY"):
        lake("DROP DATABASE lake.e")
    lake("DROP DATABASE lake.e CASCADE")
    assert lake("SHOW DATABASES IN lake") == [("d",), ("default",)]


def test_tables_live_as_in_any_catalog(lake: Sql, metastore: Metastore) -> None:
    lake("CREATE TABLE lake.d.T (id INT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '2')")
    lake("INSERT INTO lake.d.t VALUES (1, 'a'), (2, 'b')")
    lake("UPDATE lake.d.t SET v = 'c' WHERE id = 2")
    lake("ALTER TABLE lake.d.t ADD COLUMN w INT")
    lake("ALTER TABLE lake.d.t SET TBLPROPERTIES ('write-only' = 'true')")
    lake("ALTER TABLE lake.d.t RENAME TO d.u")
    assert lake("SELECT * FROM lake.d.u ORDER BY id") == [(1, "a", None), (2, "c", None)]
    assert lake("SELECT count(*) FROM lake.d.u$snapshots") == [(2,)]
    assert lake("SHOW TABLES IN lake.d") == [("d", "u", False)]
    seen = metastore.table("d", "u")
    assert [c.name for c in seen.sd.cols] == ["id", "v", "w"] and seen.parameters["write-only"] == "true"
    lake("ALTER TABLE lake.d.u UNSET TBLPROPERTIES ('write-only')")
    with pytest.raises(Exception, match=r"Hive's metastore rejected the request: .*types incompatible"):
        lake("ALTER TABLE lake.d.u DROP COLUMN v")
    assert lake("SELECT * FROM lake.d.u WHERE id = 1") == [(1, "a", None)]
    lake("CREATE OR REPLACE TABLE lake.d.u AS SELECT 7 AS id, 'x' AS v")
    assert lake("SELECT * FROM lake.d.u") == [(7, "x")]
    lake("CALL lake.sys.create_branch(table => 'd.u', branch => 'b')")
    lake("INSERT INTO lake.d.u$branch_b VALUES (8, 'y')")
    assert lake("SELECT count(*) FROM lake.d.u$branch_b") == [(1,)]
    lake("DROP TABLE lake.d.u")
    assert lake("SHOW TABLES IN lake.d") == []


def test_tables_stand_where_location_says_and_stay_there(lake: Sql, tmp_path: Path) -> None:
    lake(f"CREATE TABLE lake.d.t (id INT) LOCATION '{tmp_path}/far'")
    lake("INSERT INTO lake.d.t VALUES (1)")
    lake("DROP TABLE lake.d.t")
    lake(f"CREATE TABLE lake.d.u (id INT) LOCATION 'file:{tmp_path}/far'")
    assert lake("SELECT * FROM lake.d.u") == [(1,)]
    with pytest.raises(Exception, match="does not match the definition"):
        lake(f"CREATE TABLE lake.d.t (id STRING) LOCATION '{tmp_path}/far'")
    with pytest.raises(Exception, match="a location is an absolute path"):
        lake("CREATE TABLE lake.d.t (id INT) LOCATION 'far'")
    assert lake("SHOW TABLES IN lake.d") == [("d", "u", False)]
    lake(f"CREATE TABLE lake.d.v USING paimon LOCATION '{tmp_path}/far'")
    assert lake("SELECT * FROM lake.d.v") == [(1,)]
    with pytest.raises(Exception, match="its options are not k=v"):
        lake(f"CREATE TABLE lake.d.w USING paimon TBLPROPERTIES ('k' = 'v') LOCATION '{tmp_path}/far'")
    with pytest.raises(Exception, match=r"There is no table in .*nowhere"):
        lake(f"CREATE TABLE lake.d.w USING paimon LOCATION '{tmp_path}/nowhere'")


def test_external_tables_leave_their_files(lake: Sql) -> None:
    lake("CREATE EXTERNAL TABLE lake.d.t (id INT)")
    lake("CREATE TABLE lake.d.u (id INT)")
    told: list[dict[str, Any]] = [dict(row[:2] for row in lake(f"DESCRIBE FORMATTED lake.d.{name}")) for name in "tu"]
    assert [t["Type"] for t in told] == ["EXTERNAL", "MANAGED"]
    lake("DROP TABLE lake.d.t")
    lake("DROP TABLE lake.d.u")
    places = [Path(str(t["Location"]).removeprefix("file:")) for t in told]
    assert [(p / "schema" / "schema-0").exists() for p in places] == [True, False]


def test_partitions_come_and_go_in_the_metastore(lake: Sql, metastore: Metastore) -> None:
    lake(
        "CREATE TABLE lake.d.t (id INT, dt STRING, h INT) PARTITIONED BY (dt, h)"
        " TBLPROPERTIES ('metastore.partitioned-table' = 'true')"
    )

    def listed() -> list[str]:
        with metastore.client() as client:
            return sorted(client.get_partition_names("d", "t", -1))

    lake("INSERT INTO lake.d.t VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 1)")
    assert listed() == ["dt=a/h=1", "dt=a/h=2", "dt=b/h=1"]
    lake("ALTER TABLE lake.d.t DROP PARTITION (dt = 'a', h = 1)")
    lake("DELETE FROM lake.d.t WHERE dt = 'b'")
    assert listed() == ["dt=a/h=2"]
    lake("ALTER TABLE lake.d.t ADD PARTITION (dt = 'ü', h = 7) PARTITION (dt = NULL, h = 1)")
    assert listed() == ["dt=__DEFAULT_PARTITION__/h=1", "dt=a/h=2", "dt=ü/h=7"]
    assert lake("SHOW PARTITIONS lake.d.t") == [("dt=a/h=2",)]
    lake("MSCK REPAIR TABLE lake.d.t")
    assert len(listed()) == 3
    lake("MSCK REPAIR TABLE lake.d.t DROP PARTITIONS")
    assert listed() == ["dt=a/h=2"]
    lake("TRUNCATE TABLE lake.d.t")
    assert listed() == []


def test_format_tables_of_hive_are_read_and_written(lake: Sql, tmp_path: Path) -> None:
    lake(f"CREATE TABLE lake.d.f (id INT, dt STRING) USING parquet PARTITIONED BY (dt) LOCATION '{tmp_path}/files'")
    lake("INSERT INTO lake.d.f VALUES (1, 'x'), (2, 'y')")
    assert lake("SELECT * FROM lake.d.f WHERE dt = 'y'") == [(2, "y")]
    lake("CREATE TABLE lake.d.g USING csv AS SELECT 1 AS id, 'a' AS v")
    assert lake("SELECT * FROM lake.d.g") == [(1, "a")]
    lake("DROP TABLE lake.d.f")
    lake("DROP TABLE lake.d.g")
    assert (tmp_path / "files" / "dt=x").exists() and lake("SHOW TABLES IN lake.d") == []


def test_text_is_read_and_written_as_hive_does(lake: Sql, metastore: Metastore, tmp_path: Path) -> None:
    text = new_entry("d", "t", "me", "EXTERNAL_TABLE")
    text.sd.cols = [FieldSchema("id", "int", None), FieldSchema("v", "string", None)]
    text.partitionKeys = [FieldSchema("dt", "string", None)]
    text.sd.inputFormat = "org.apache.hadoop.mapred.TextInputFormat"
    text.sd.serdeInfo.serializationLib = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
    text.sd.serdeInfo.parameters = {"serialization.format": "1"}
    text.sd.location = str(tmp_path / "text")
    folder = tmp_path / "text" / "dt=__HIVE_DEFAULT_PARTITION__"
    folder.mkdir(parents=True)
    (folder / "000000_0").write_text('1\x01"a, b\n2\x01\\N\n')
    with metastore.client() as client:
        client.create_table(text)
        assert text.parameters is not None
        text.tableName, text.parameters["skip.header.line.count"] = "headed", "1"
        text.sd.serdeInfo.parameters = {"field.delim": ","}
        text.sd.location, text.partitionKeys = str(tmp_path / "headed"), []
        (tmp_path / "headed").mkdir()
        (tmp_path / "headed" / "f").write_text("id,v\n3,c\n")
        client.create_table(text)
        text.tableName, text.parameters["skip.header.line.count"] = "two", "2"
        client.create_table(text)
        text.tableName, text.parameters = "links", {"EXTERNAL": "TRUE"}
        text.sd.inputFormat = "org.apache.hadoop.hive.ql.io.SymlinkTextInputFormat"
        client.create_table(text)
    assert lake("SHOW TABLES IN lake.d") == [("d", "headed", False), ("d", "t", False)]
    assert lake("SELECT * FROM lake.d.headed") == [(3, "c")]
    assert lake("SELECT * FROM lake.d.t ORDER BY id") == [(1, '"a, b', None), (2, None, None)]
    lake("INSERT INTO lake.d.t VALUES (4, NULL, NULL), (5, '\"q\"', 'x')")
    written = [f.read_text() for f in sorted((tmp_path / "text").glob("dt=*/part-*"))]
    assert sorted(written) == ["4\x01\\N\n", '5\x01"q"\n']


@pytest.mark.skipif(not HAS_VIEWS, reason="this Spark asks no catalog for views")
def test_views_are_kept_in_the_metastore(lake: Sql, metastore: Metastore) -> None:
    lake("CREATE TABLE lake.d.t AS SELECT 1 AS id, 'é' AS v")
    lake("CREATE VIEW lake.d.w COMMENT 'short' AS SELECT id + 1 AS next, v FROM lake.d.t")
    assert lake("SELECT * FROM lake.d.w") == [(2, "é")]
    seen = metastore.table("d", "w")
    assert (seen.tableType, [c.name for c in seen.sd.cols]) == ("VIRTUAL_VIEW", ["next", "v"])
    lake("ALTER VIEW lake.d.w AS SELECT id AS same FROM lake.d.t")
    assert lake("SELECT * FROM lake.d.w") == [(1,)]
    lake("ALTER VIEW lake.d.w RENAME TO d.x")
    assert lake("SHOW VIEWS IN lake.d") == [("d", "x", False)]
    lake("DROP VIEW lake.d.x")
    assert lake("SHOW VIEWS IN lake.d") == []
