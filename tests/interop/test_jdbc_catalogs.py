"""JDBC catalogs that Apache Paimon's Java library and this one share: names, properties, locks and rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.registry import open_catalog
from paimon_sql.errors import CommitConflictError
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField, IntType, string_type
from tests import packages
from tests.storage import core_tables as core

from .java import available
from .java_catalog import DRIVERS, JavaCatalog, compiled, drivers

FIELDS = (DataField(0, "id", IntType(False)), DataField(1, "v", string_type()))
T = Identifier("d", "t")


@pytest.fixture(scope="session")
def jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaCatalog]:
    """Java's side without a catalog."""
    if not (available() and packages.available(*DRIVERS)):
        pytest.skip("Java's side needs Maven, which fetches it once, and a JDK")
    side = JavaCatalog(compiled(tmp_path_factory.mktemp("classes")), drivers())
    yield side
    side.close()


@pytest.fixture
def options(jdbc: dict[str, str]) -> dict[str, str]:
    """The options of a catalog with a lock."""
    return {**jdbc, "lock.enabled": "true", "lock-acquire-timeout": "20 s", "lock-check-max-sleep": "200 ms"}


@pytest.fixture
def java(options: dict[str, str], jvm: JavaCatalog) -> JavaCatalog:
    """Their side, which cannot make a catalog's tables itself in a MySQL database of utf8mb4: its keys are too long."""
    if options["uri"].startswith("jdbc:mysql:"):
        open_catalog("lake", options)
    jvm.open(options)
    return jvm


@pytest.fixture
def ours(options: dict[str, str], java: JavaCatalog) -> Catalog:
    """Our side, the second one: Java never ends its look at a SQLite file whose tables it did not make itself."""
    return open_catalog("lake", options)


def make(catalog: Catalog, name: Identifier = T) -> None:
    """Make a table as Java's side makes them."""
    catalog.create_table(name, new_schema(FIELDS, primary_keys=["id"], options={"bucket": "1"}))


def insert(catalog: Catalog, value: str, *ids: int) -> None:
    """Commit rows, each by itself."""
    for i in ids:
        core.insert(catalog.table(T), (i, value))


def test_what_we_make_java_opens(ours: Catalog, java: JavaCatalog) -> None:
    ours.create_database("d", {"ü": "é"})
    make(ours)
    insert(ours, "ours", 1)
    assert java("databases") == ["d"] and java("tables", "d") == ["t"]
    assert "ü=é" in java("properties", "d")
    java("write", "d.t", 2, 1, "java")
    assert java("read", "d.t") == ["1=ours", "2=java"]
    assert sorted(core.rows(ours.table(T))) == [(1, "ours"), (2, "java")]
    ours.rename_table(T, Identifier("d", "u"))
    assert java("tables", "d") == ["u"] and len(java("read", "d.u")) == 2
    ours.drop_database("d", cascade=True)
    assert java("databases") == []


def test_what_java_makes_we_open(ours: Catalog, java: JavaCatalog) -> None:
    java("create database", "d")
    java("create", "d.t")
    java("write", "d.t", 1, 1, "java")
    assert ours.list_databases() == ["d"] and ours.list_tables("d") == ["t"]
    assert ours.database_properties("d")["k"] == "v"
    insert(ours, "ours", 2)
    assert java("read", "d.t") == ["1=java", "2=ours"]
    java("alter database", "d", "k", "w")
    assert ours.database_properties("d")["k"] == "w"
    java("rename", "d.t", "d.u")
    assert ours.list_tables("d") == ["u"] and not ours.table_exists(T)
    assert sorted(core.rows(ours.table(Identifier("d", "u")))) == [(1, "java"), (2, "ours")]
    java("drop", "d.u")
    assert ours.list_tables("d") == []


def test_both_change_definitions_and_keep_the_same_properties(ours: Catalog, java: JavaCatalog) -> None:
    java("create database", "d")
    java("create", "d.t")
    records = ours.records  # type: ignore[attr-defined]
    made_by_java = records.table_properties("d", "t")
    make(ours, Identifier("d", "u"))
    assert records.table_properties("d", "u") == {k: v for k, v in made_by_java.items() if k != "path"}
    java("alter", "d.t", "write-only", "true")
    assert ours.table(T).schema.options["write-only"] == "true"
    ours.alter_table(T, lambda s: replace(s, id=s.id + 1, options={**s.options, "write-only": "false"}))
    assert "write-only=false" in java("options", "d.t")
    assert records.table_properties("d", "t")["write-only"] == "false"


def test_commits_of_both_at_the_same_time_lose_nothing(ours: Catalog, java: JavaCatalog) -> None:
    ours.create_database("d", {})
    make(ours)
    java.send("write", "d.t", 100, 12, "java")
    insert(ours, "ours", *range(12))
    java.answer()
    wanted = sorted([(i, "ours") for i in range(12)] + [(i, "java") for i in range(100, 112)])
    assert sorted(core.rows(ours.table(T))) == wanted
    assert java("read", "d.t") == sorted(f"{i}={v}" for i, v in wanted)


def test_we_wait_for_java_s_lock(ours: Catalog, java: JavaCatalog) -> None:
    ours.create_database("d", {})
    make(ours)
    java.send("lock", "d.t", 1500)
    assert java.line() == ["held"]
    started = time.monotonic()
    insert(ours, "ours", 1)
    assert time.monotonic() - started > 1
    assert java.answer() == [] and core.rows(ours.table(T)) == [(1, "ours")]


def test_java_waits_for_our_lock(ours: Catalog, java: JavaCatalog) -> None:
    ours.create_database("d", {})
    make(ours)
    java("tables", "d")
    with ours.table(T).lock.acquire("main"):
        started = time.monotonic()
        java.send("write", "d.t", 1, 1, "java")
        time.sleep(1.5)
    java.answer()
    assert time.monotonic() - started > 1.4 and java("read", "d.t") == ["1=java"]


def test_neither_takes_a_fresh_lock_for_one_left_behind(options: dict[str, str], java: JavaCatalog) -> None:
    hasty = open_catalog("lake", {**options, "lock-acquire-timeout": "2 s"})
    hasty.create_database("d", {})
    make(hasty)
    java.send("lock", "d.t", 4000)
    assert java.line() == ["held"]
    with pytest.raises(CommitConflictError, match=r"The lock jdbc\.d\.t was held by others for \d seconds"):
        insert(hasty, "ours", 1)
    assert hasty.table(T).snapshots.latest_id() is None
    java.answer()
    insert(hasty, "ours", 1)


def test_java_s_repair_takes_up_what_we_left_and_ours_what_java_left(ours: Catalog, java: JavaCatalog) -> None:
    ours.create_database("d", {})
    make(ours)
    ours.records.drop_table("d", "t")  # type: ignore[attr-defined]
    java("repair")
    assert ours.list_tables("d") == ["t"]
    java("drop database", "d")  # which leaves the files behind
    assert ours.adopt(dry_run=True).keys() == {"d.t"} and ours.list_databases() == []
    ours.adopt()
    assert java("tables", "d") == ["t"]
