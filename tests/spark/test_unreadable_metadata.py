"""Torn metadata through SQL: older snapshots are read, errors name the file, CALL sys.repair lets the table go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def path(sql: Sql, spark: SparkSession) -> Path:
    """The directory of a table ``t`` of three snapshots with a row each."""
    sql("CREATE TABLE t (id INT)")
    for i in (1, 2, 3):
        sql(f"INSERT INTO t VALUES ({i})")
    warehouse = spark.conf.get("spark.sql.catalog.paimon.warehouse")
    assert warehouse is not None
    return Path(warehouse.removeprefix("file:")) / f"{spark.catalog.currentDatabase()}.db" / "t"


def test_the_newest_snapshot_is_torn(sql: Sql, spark: SparkSession, path: Path) -> None:
    database = spark.catalog.currentDatabase()
    sql("CALL sys.create_tag(table => 't', tag => 'two', snapshot => 2)")
    torn = path / "snapshot/snapshot-3"
    torn.write_bytes(torn.read_bytes()[:-5])

    assert sql("SELECT * FROM t VERSION AS OF 1") == [(1,)]
    assert sorted(sql("SELECT * FROM t VERSION AS OF 'two'")) == [(1,), (2,)]
    for statement in ("SELECT * FROM t", "INSERT INTO t VALUES (4)", "SELECT * FROM t VERSION AS OF 3"):
        with pytest.raises(
            Exception, match=r"snapshot-3: not a snapshot file: .*CALL sys\.repair, which sets it aside"
        ):
            sql(statement)

    ((fine, tables, repaired, problems, findings, _, note),) = sql(f"CALL sys.repair('{database}.t', true)")
    assert (fine, tables, problems, torn.exists()) == (True, 1, 0, True) and "dry run" in str(note)
    ((fine, tables, count, problems, findings, _, note),) = sql(f"CALL sys.repair('{database}.t')")
    assert (fine, tables, count, problems, note) == (True, 1, repaired, 0, None)
    lines = str(findings).splitlines()
    assert "snapshot 3 cannot be read" in lines[0] and "_unreadable/snapshot-3-" in lines[0]
    assert "Lost is the commit of user" in lines[0] and lines[0].endswith("with 1 rows.")
    assert lines[1].endswith("snapshot 2 is the newest one now.")
    assert not torn.exists() and len(list((path / "_unreadable").iterdir())) == 1

    assert sorted(sql("SELECT * FROM t")) == [(1,), (2,)]
    sql("INSERT INTO t VALUES (4)")
    assert sorted(sql("SELECT * FROM t")) == [(1,), (2,), (4,)]
    assert sql(f"CALL sys.repair('{database}')")[0][:5] == (True, 1, 0, 0, None)


def test_the_newest_schema_is_torn(sql: Sql, spark: SparkSession, path: Path) -> None:
    database = spark.catalog.currentDatabase()
    sql("ALTER TABLE t ADD COLUMN v STRING")
    (path / "schema/schema-1").write_bytes(b"")
    with pytest.raises(Exception, match=r"schema-1: not a schema file: it is empty\. .*CALL sys\.repair"):
        sql("SELECT * FROM t")
    for named in (f"{database}.t", database):
        ((fine, tables, *_),) = sql(f"CALL sys.repair('{named}', true)")
        assert (fine, tables) == (True, 1)
    ((fine, _, _, _, findings, *_),) = sql(f"CALL sys.repair('{database}.t')")
    assert fine and "schema 0 is the newest one now." in str(findings)
    assert sorted(sql("SELECT * FROM t")) == [(1,), (2,), (3,)]


def test_a_torn_tag_no_longer_stops_expiry(sql: Sql, spark: SparkSession, path: Path) -> None:
    sql("CALL sys.create_tag(table => 't', tag => 'one', snapshot => 1)")
    (path / "tag/tag-one").write_bytes(b"{")
    expire = "CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1)"
    with pytest.raises(Exception, match=r"tag-one: not a tag file: .*CALL sys\.repair"):
        sql(expire)
    ((fine, *_, findings, _, _),) = sql(f"CALL sys.repair('{spark.catalog.currentDatabase()}.t')")
    assert fine and "tag 'one' cannot be read" in str(findings)
    sql(expire)
    assert sorted(sql("SELECT * FROM t")) == [(1,), (2,), (3,)]
