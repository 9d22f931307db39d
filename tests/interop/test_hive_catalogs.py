"""Hive catalogs that Apache Paimon's Java library and this one share: names, entries, partitions, locks and rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimon_sql.catalog.hive.catalog import HiveCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import CommitConflictError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.catalog_objects import ViewSchema
from paimon_sql.format.schema.schema import new_schema
from tests.servers import Metastore
from tests.storage import core_tables as core

from .java import available
from .java_catalog import JavaCatalog, compiled, hive_client

FIELDS = (t.DataField(0, "id", t.IntType(False)), t.DataField(1, "v", t.string_type()))
SCHEMA = new_schema(FIELDS, primary_keys=["id"], options={"bucket": "1"})
T, U = Identifier("d", "t"), Identifier("d", "u")


@pytest.fixture(scope="session")
def jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaCatalog]:
    """Java's side without a catalog."""
    if not available():
        pytest.skip("Java's side needs Maven, which fetches it once, and a JDK")
    side = JavaCatalog(compiled(tmp_path_factory.mktemp("classes")), hive_client())
    yield side
    side.close()


@pytest.fixture
def options(hive: dict[str, str]) -> dict[str, str]:
    """The options of a catalog with a lock."""
    return {**hive, "lock.enabled": "true", "lock-acquire-timeout": "20 s", "lock-check-max-sleep": "200 ms"}


@pytest.fixture
def java(options: dict[str, str], jvm: JavaCatalog) -> JavaCatalog:
    """Their side."""
    jvm.open(options)
    return jvm


@pytest.fixture
def ours(options: dict[str, str], java: JavaCatalog) -> HiveCatalog:
    """Our side, with a database ``d``."""
    catalog = HiveCatalog("lake", options)
    catalog.create_database("d", {"ours": "é"})
    return catalog


def entry(metastore: Metastore, name: str) -> dict[str, Any]:
    """What the metastore has of a table of ``d``, without times and the table's own names."""
    found = metastore.table("d", name)
    said = {k: v for k, v in vars(found).items() if k not in ("tableName", "createTime", "lastAccessTime", "sd")}
    said["parameters"] = {k: v for k, v in found.parameters.items() if k != "transient_lastDdlTime" and "Size" not in k}
    return {**said, **vars(found.sd), "location": Path(found.sd.location).name.replace(name, "")}


def test_both_make_databases_and_tables_that_the_other_opens(ours: HiveCatalog, java: JavaCatalog) -> None:
    assert "ours=é" in java("properties", "d")
    java("alter database", "d", "k", "w")
    assert ours.database_properties("d")["k"] == "w"
    ours.create_table(T, SCHEMA)
    core.insert(ours.table(T), (1, "ours"))
    java("write", "d.t", 2, 1, "java")
    assert java("read", "d.t") == ["1=ours", "2=java"] and sorted(core.rows(ours.table(T))) == [
        (1, "ours"),
        (2, "java"),
    ]
    ours.rename_table(T, U)
    assert java("tables", "d") == ["u"] and len(java("read", "d.u")) == 2
    java("rename", "d.u", "d.t")
    assert ours.list_tables("d") == ["t"] and len(core.rows(ours.table(T))) == 2
    java("create", "d.x")
    java("write", "d.x", 1, 1, "java")
    core.insert(ours.table(Identifier("d", "x")), (2, "ours"))
    assert java("read", "d.x") == ["1=java", "2=ours"]
    java("drop", "d.x")
    assert ours.list_tables("d") == ["t"]
    java("create database", "e")
    assert ours.database_properties("e") == {"k": "v", "location": f"{ours.warehouse}/e.db"}
    ours.drop_database("e", cascade=False)
    java("drop database", "d")
    assert ours.list_databases() == ["default"]


def test_both_write_the_same_entries(ours: HiveCatalog, java: JavaCatalog, metastore: Metastore) -> None:
    java("create", "d.a")
    ours.create_table(Identifier("d", "b"), SCHEMA)
    assert entry(metastore, "b") == entry(metastore, "a")
    java("create partitioned", "d.t")
    theirs = ours.table(T).schema
    ours.create_table(U, replace(theirs, id=0))
    assert entry(metastore, "u") == entry(metastore, "t")
    for catalog_made in ("t", "u"):
        java("alter", f"d.{catalog_made}", "write-only", "true")
    assert entry(metastore, "u") == entry(metastore, "t")
    for name in (T, U):
        ours.alter_table(name, lambda s: replace(s, id=s.id + 1, options={**s.options, "write-only": "false"}))
    assert entry(metastore, "u") == entry(metastore, "t") and "write-only=false" in java("options", "d.u")


def test_partitions_of_both_are_listed(ours: HiveCatalog, java: JavaCatalog, metastore: Metastore) -> None:
    java("create partitioned", "d.t")
    for writes in (lambda: java("write partition", "d.t", "a b/ü"), lambda: core.insert(ours.table(T), OURS)):
        writes()
    with metastore.client() as client:
        found = {tuple(p.values): vars(p) for p in client.get_partitions("d", "t", -1)}
    assert sorted(found) == [("a b/ü",), ("c d/é",)]
    one, other = found[("a b/ü",)], found[("c d/é",)]
    folders = [p["sd"].location.removeprefix(f"file:{ours.warehouse}/d.db/t/") for p in (one, other)]
    assert folders == ["dt=a b%2Fü", "dt=c d%2Fé"]
    assert one["sd"].cols == other["sd"].cols and one["sd"].serdeInfo == other["sd"].serdeInfo


OURS = (2, "ours", "c d/é", None, None, None)


def test_external_tables_of_both(ours: HiveCatalog, java: JavaCatalog, tmp_path: Path) -> None:
    java("create partitioned", "d.t", "path", f"{tmp_path}/theirs")
    java("write partition", "d.t", "x")
    assert ours.table(T).path == f"{tmp_path}/theirs" and len(core.rows(ours.table(T))) == 1
    ours.drop_table(T)
    assert (tmp_path / "theirs" / "dt=x").exists()
    ours.create_table(U, replace(SCHEMA, options={"bucket": "1", "path": f"{tmp_path}/ours"}))
    java("write", "d.u", 1, 1, "java")
    assert core.rows(ours.table(U)) == [(1, "java")]
    java("drop", "d.u")
    assert (tmp_path / "ours" / "snapshot").exists()


def test_views_of_both(ours: HiveCatalog, java: JavaCatalog) -> None:
    ours.create_view(T, ViewSchema(FIELDS, "SELECT 1 AS id, 'é' AS v", comment="ours"))
    java("create view", "d.u", "SELECT 2")
    assert java("views", "d") == ours.list_views("d") == ["t", "u"]
    assert java("view", "d.t") == ["SELECT 1 AS id, 'é' AS v"]
    found = ours.view(U)
    assert (found.query, found.comment, [str(f.type) for f in found.fields]) == ("SELECT 2", "theirs", ["INT"])


def test_commits_of_both_at_the_same_time_lose_nothing(ours: HiveCatalog, java: JavaCatalog) -> None:
    ours.create_table(T, SCHEMA)
    java.send("write", "d.t", 100, 12, "java")
    for i in range(12):
        core.insert(ours.table(T), (i, "ours"))
    java.answer()
    wanted = sorted([(i, "ours") for i in range(12)] + [(i, "java") for i in range(100, 112)])
    assert sorted(core.rows(ours.table(T))) == wanted
    assert java("read", "d.t") == sorted(f"{i}={v}" for i, v in wanted)


def test_each_waits_for_the_other_s_lock(ours: HiveCatalog, java: JavaCatalog, options: dict[str, str]) -> None:
    ours.create_table(T, SCHEMA)
    java.send("lock", "d.t", 2500)
    assert java.line() == ["held"]
    hasty = HiveCatalog("lake", {**options, "lock-acquire-timeout": "500 ms"})
    with pytest.raises(CommitConflictError, match="was held by others"):
        core.insert(hasty.table(T), (1, "ours"))
    core.insert(ours.table(T), (1, "ours"))
    assert java.answer() == []
    with ours.table(T).lock.acquire("main"):
        started = time.monotonic()
        java.send("write", "d.t", 2, 1, "java")
        time.sleep(1.5)
    java.answer()
    assert time.monotonic() - started > 1.4 and java("read", "d.t") == ["1=ours", "2=java"]


def test_each_repairs_what_the_other_left(ours: HiveCatalog, java: JavaCatalog, metastore: Metastore) -> None:
    ours.create_table(T, SCHEMA)
    wanted = entry(metastore, "t")
    ours.entries.drop("d", "t")
    java("repair")
    assert entry(metastore, "t") == wanted and ours.adopt() == {}
    ours.entries.drop("d", "t")
    assert ours.adopt().keys() == {"d.t"} and entry(metastore, "t") == wanted
