"""JDBC catalogs in SQLite, PostgreSQL and MariaDB: rows and folders, names, locks, and what a database refuses."""

from __future__ import annotations

import multiprocessing
import pickle
import sqlite3
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.jdbc.backends import BACKENDS, local_zone
from paimon_sql.catalog.jdbc.catalog import JdbcCatalog
from paimon_sql.errors import (
    CatalogUnavailableError,
    CommitConflictError,
    CorruptFileError,
    DatabaseExistsError,
    DatabaseNotEmptyError,
    InvalidInputError,
    InvalidOptionError,
    NoSuchDatabaseError,
    NoSuchTableError,
    NoSuchViewError,
    SetupError,
    TableExistsError,
    UnsupportedError,
    ViewExistsError,
)
from paimon_sql.format.schema.catalog_objects import FunctionSchema, ViewSchema
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField, IntType, string_type
from paimon_sql.procedures import call
from tests.storage import core_tables as core

FIELDS = (DataField(0, "id", IntType(False)), DataField(1, "v", string_type()))
SCHEMA = new_schema(FIELDS, primary_keys=["id"], options={"bucket": "1"})
VIEW = ViewSchema(FIELDS, "SELECT 'é😀'", {"spark": "SELECT 1"}, "what it is", {"k": "v"})
T, U = Identifier("d", "t"), Identifier("d", "u")


@pytest.fixture
def catalog(jdbc: dict[str, str]) -> JdbcCatalog:
    """A catalog with a database ``d``."""
    made = JdbcCatalog("lake", jdbc)
    made.create_database("d", {})
    return made


@pytest.fixture
def locking(jdbc: dict[str, str]) -> JdbcCatalog:
    """A catalog with a lock and a database ``d``."""
    made = JdbcCatalog("lake", {**jdbc, "lock.enabled": "true", "lock-acquire-timeout": "1 s"})
    made.create_database("d", {})
    return made


def execute(catalog: JdbcCatalog, statement: str) -> None:
    """Run a statement in the catalog's database."""
    with catalog.records.database.transaction() as connection:
        connection.execute(text(statement))


def test_databases_have_properties(catalog: JdbcCatalog) -> None:
    catalog.create_database("ü 😀", {"comment": "it's", "a": "", "B": "\\"})
    assert catalog.list_databases() == ["d", "ü 😀"]
    location = f"{catalog.warehouse}/ü 😀.db"
    assert catalog.database_properties("ü 😀") == {"location": location, "comment": "it's", "a": "", "B": "\\"}
    catalog.alter_database("ü 😀", {"a": "x", "B": None, "missing": None, "new": "ñ"})
    assert catalog.database_properties("ü 😀") == {"location": location, "comment": "it's", "a": "x", "new": "ñ"}
    with pytest.raises(DatabaseExistsError, match="Database d already exists in catalog lake"):
        catalog.create_database("d", {})
    for call_it in (catalog.database_properties, catalog.list_tables, catalog.list_views):
        with pytest.raises(NoSuchDatabaseError):
            call_it("nope")
    with pytest.raises(NoSuchDatabaseError):
        catalog.alter_database("nope", {"a": "b"})


@pytest.mark.parametrize(
    "properties", [{"exists": "x"}, {"location": "/elsewhere"}, {"k" * 256: "v"}, {"k": "v" * 1001}]
)
def test_properties_that_rows_cannot_hold_are_refused(catalog: JdbcCatalog, properties: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match="Database e"):
        catalog.create_database("e", properties)
    with pytest.raises(InvalidInputError, match="Database d"):
        catalog.alter_database("d", properties)
    assert catalog.list_databases() == ["d"]


def test_a_table_is_a_row_and_a_folder(catalog: JdbcCatalog) -> None:
    table = catalog.create_table(T, SCHEMA)
    core.insert(table, (1, "a"))
    assert catalog.list_tables("d") == ["t"] and catalog.table_exists(T)
    assert table.path == f"{catalog.warehouse}/d.db/t"
    assert core.rows(catalog.table(T)) == [(1, "a")]
    assert catalog.records.table_properties("d", "t") == {"bucket": "1", "primary-key": "id", "bucket-key": "id"}
    with pytest.raises(TableExistsError, match=r"Table lake\.d\.t already exists"):
        catalog.create_table(T, SCHEMA)
    catalog.drop_table(T)
    assert not Path(table.path).exists() and catalog.records.table_properties("d", "t") == {}
    with pytest.raises(NoSuchTableError, match=r"Table lake\.d\.t does not exist"):
        catalog.drop_table(T)
    with pytest.raises(NoSuchDatabaseError):
        catalog.create_table(Identifier("nope", "t"), SCHEMA)


def test_names_differ_by_case(catalog: JdbcCatalog) -> None:
    for name in ("t", "T", "tü", "t😀"):
        core.insert(catalog.create_table(Identifier("d", name), replace(SCHEMA, options={"bucket": "1"})), (1, name))
    assert catalog.list_tables("d") == sorted(["t", "T", "tü", "t😀"])
    catalog.drop_table(Identifier("d", "T"))
    assert core.rows(catalog.table(T)) == [(1, "t")] and not catalog.table_exists(Identifier("d", "T"))
    catalog.rename_table(T, Identifier("d", "T😀"))
    assert core.rows(catalog.table(Identifier("d", "T😀"))) == [(1, "t")]
    assert not catalog.database_exists("D")


def test_a_renamed_table_takes_its_files_along(catalog: JdbcCatalog) -> None:
    catalog.create_database("e", {})
    core.insert(catalog.create_table(T, SCHEMA), (1, "a"))
    catalog.create_table(U, SCHEMA)
    with pytest.raises(TableExistsError):
        catalog.rename_table(T, U)
    catalog.rename_table(T, Identifier("e", "w"))
    assert catalog.list_tables("d") == ["u"] and catalog.list_tables("e") == ["w"]
    assert core.rows(catalog.table(Identifier("e", "w"))) == [(1, "a")]
    assert catalog.records.table_properties("e", "w")["bucket"] == "1"
    with pytest.raises(NoSuchTableError):
        catalog.rename_table(T, Identifier("d", "x"))
    with pytest.raises(NoSuchDatabaseError):
        catalog.rename_table(U, Identifier("nope", "x"))


def test_a_renaming_whose_files_cannot_move_changes_no_row(catalog: JdbcCatalog) -> None:
    catalog.create_table(T, SCHEMA)
    Path(catalog.warehouse, "d.db", "u").mkdir()
    with pytest.raises(TableExistsError):
        catalog.rename_table(T, U)
    assert catalog.list_tables("d") == ["t"] and catalog.table_exists(T)


def test_a_renaming_that_the_database_refuses_at_its_end_moves_the_files_back(tmp_path: Path) -> None:
    given = options(f"jdbc:sqlite:{tmp_path}/c.db", **{"warehouse": str(tmp_path), "jdbc.busy_timeout": "200"})
    catalog = JdbcCatalog("lake", given)
    catalog.create_database("d", {"a": "b", "c": "d"})
    core.insert(catalog.create_table(T, SCHEMA), (1, "a"))
    with closing(sqlite3.connect(tmp_path / "c.db")) as reader:
        unfinished = reader.execute("SELECT * FROM paimon_database_properties")
        unfinished.fetchone()
        with pytest.raises(CatalogUnavailableError, match="database is locked"):
            catalog.rename_table(T, U)
        unfinished.close()
    assert catalog.list_tables("d") == ["t"] and core.rows(catalog.table(T)) == [(1, "a")]


def test_changes_of_a_definition_reach_the_rows(catalog: JdbcCatalog) -> None:
    catalog.create_table(T, SCHEMA)
    long = "x" * 1001
    catalog.alter_table(T, lambda s: replace(s, id=1, options={**s.options, "owner": "ü", "long": long}))
    assert catalog.records.table_properties("d", "t") == {
        "bucket": "1",
        "primary-key": "id",
        "bucket-key": "id",
        "owner": "ü",
    }
    assert catalog.table(T).schema.options["long"] == long


def test_options_that_others_left_behind_hinder_no_table(catalog: JdbcCatalog) -> None:
    for name in ("t", "u"):
        catalog.records.set_table_properties("d", name, {"bucket": "7", "stale": "x"})
    catalog.create_table(T, SCHEMA)
    assert catalog.records.table_properties("d", "t") == {"bucket": "1", "primary-key": "id", "bucket-key": "id"}
    catalog.rename_table(T, U)
    assert catalog.records.table_properties("d", "u")["bucket"] == "1"


def test_without_synchronisation_rows_say_nothing_of_options(jdbc: dict[str, str]) -> None:
    catalog = JdbcCatalog("lake", {**jdbc, "sync-all-properties": "false"})
    catalog.create_database("d", {})
    catalog.create_table(T, SCHEMA)
    assert catalog.records.table_properties("d", "t") == {} and catalog.table_exists(T)


def test_databases_with_tables_or_views_are_dropped_by_cascade_alone(catalog: JdbcCatalog) -> None:
    catalog.create_database("e", {})
    catalog.create_table(T, SCHEMA)
    with pytest.raises(DatabaseNotEmptyError, match="contains 1 tables, including t"):
        catalog.drop_database("d", cascade=False)
    catalog.drop_table(T)
    catalog.create_view(T, VIEW)
    with pytest.raises(DatabaseNotEmptyError, match="contains 1 views, including t"):
        catalog.drop_database("d", cascade=False)
    core.insert(catalog.create_table(U, SCHEMA), (1, "a"))
    catalog.drop_database("d", cascade=True)
    assert catalog.list_databases() == ["e"] and not Path(catalog.warehouse, "d.db").exists()
    catalog.create_database("d", {})
    assert catalog.list_tables("d") == [] and catalog.list_views("d") == []


def test_dropping_a_database_leaves_folders_that_it_does_not_know(catalog: JdbcCatalog) -> None:
    catalog.create_table(T, SCHEMA)
    strange = Path(catalog.warehouse, "d.db", "strange")
    strange.mkdir()
    catalog.drop_database("d", cascade=True)
    assert strange.exists() and not strange.with_name("t").exists()


def test_views_are_rows(catalog: JdbcCatalog) -> None:
    catalog.create_view(T, VIEW)
    assert catalog.list_views("d") == ["t"] and catalog.view(T) == VIEW
    with pytest.raises(ViewExistsError):
        catalog.create_view(T, VIEW)
    catalog.create_view(T, replace(VIEW, comment="new"), replace=True)
    assert catalog.alter_view(T, lambda v: replace(v, query="SELECT 2")).comment == "new"
    assert catalog.view(T).query == "SELECT 2"
    with pytest.raises(TableExistsError, match=r"View lake\.d\.t already exists"):
        catalog.create_table(T, SCHEMA)
    with pytest.raises(NoSuchTableError, match=r"lake\.d\.t is a view, not a table"):
        catalog.table(T)
    catalog.rename_view(T, U)
    assert catalog.list_views("d") == ["u"]
    catalog.create_table(T, SCHEMA)
    acts: tuple[Callable[[], object], ...] = (lambda: catalog.create_view(T, VIEW), lambda: catalog.rename_view(U, T))
    for act in acts:
        with pytest.raises(TableExistsError, match=r"Table lake\.d\.t already exists"):
            act()
    catalog.create_view(Identifier("d", "w"), VIEW)
    with pytest.raises(ViewExistsError):
        catalog.rename_view(U, Identifier("d", "w"))
    catalog.drop_view(U)
    gone: list[Callable[[], object]] = [
        lambda: catalog.view(U),
        lambda: catalog.drop_view(U),
        lambda: catalog.rename_view(U, Identifier("d", "x")),
        lambda: catalog.alter_view(U, lambda v: v),
    ]
    for ask in gone:
        with pytest.raises(NoSuchViewError):
            ask()


def test_there_are_no_functions(catalog: JdbcCatalog) -> None:
    assert catalog.list_functions("d") == [] and catalog.function_name(T) is None
    with pytest.raises(UnsupportedError, match="does not support functions"):
        catalog.create_function(T, FunctionSchema((), ()))


def test_catalogs_of_other_keys_share_a_database_and_see_nothing_of_each_other(
    catalog: JdbcCatalog, jdbc: dict[str, str]
) -> None:
    catalog.create_table(T, SCHEMA)
    other = JdbcCatalog("other", {**jdbc, "catalog-key": "second", "warehouse": f"{jdbc['warehouse']}2"})
    assert other.list_databases() == []
    other.create_database("d", {})
    assert other.list_tables("d") == [] and catalog.list_tables("d") == ["t"]
    other.drop_database("d", cascade=True)
    assert catalog.list_databases() == ["d"] and catalog.table_exists(T)


def test_repair_takes_up_what_the_rows_do_not_say(catalog: JdbcCatalog) -> None:
    core.insert(catalog.create_table(T, SCHEMA), (1, "a"))
    catalog.create_table(U, SCHEMA)
    catalog.records.drop_database("d")
    assert catalog.list_databases() == []
    (dry,) = call(catalog, "repair", database_or_table="", dry_run=True)
    assert dry["repaired"] == 2 and catalog.list_databases() == []
    (done,) = call(catalog, "repair", database_or_table="d.t")
    assert done["result"] and "d.t: it was registered" in str(done["findings"])
    assert catalog.list_tables("d") == ["t"] and core.rows(catalog.table(T)) == [(1, "a")]
    catalog.records.set_table_properties("d", "t", {"stale": "x"})
    (done,) = call(catalog, "repair", database_or_table="d")
    assert done["repaired"] == 2 and catalog.list_tables("d") == ["t", "u"]
    assert "stale" not in catalog.records.table_properties("d", "t")
    (done,) = call(catalog, "repair", database_or_table="")
    assert done["repaired"] == 0 and done["findings"] is None


def test_files_without_a_row_are_neither_overwritten_nor_taken_for_a_table(catalog: JdbcCatalog) -> None:
    core.insert(catalog.create_table(T, SCHEMA), (1, "a"))
    catalog.records.drop_table("d", "t")
    assert not catalog.table_exists(T)
    with pytest.raises(InvalidInputError, match=r"cannot be created: .* CALL lake\.sys\.repair\('d\.t'\)"):
        catalog.create_table(T, SCHEMA)
    catalog.adopt("d", "t")
    assert core.rows(catalog.table(T)) == [(1, "a")]


def test_a_row_without_files_says_so_and_can_be_dropped(catalog: JdbcCatalog) -> None:
    catalog.records.add_table("d", "t", {})
    with pytest.raises(CorruptFileError, match=r"has a table lake\.d\.t, but its files are missing"):
        catalog.table(T)
    (told,) = call(catalog, "repair", database_or_table="d")
    assert not told["result"] and "its files are missing" in str(told["findings"])
    catalog.drop_table(T)
    assert catalog.list_tables("d") == []


def test_a_table_whose_row_is_refused_leaves_no_files(catalog: JdbcCatalog) -> None:
    execute(catalog, "DROP TABLE paimon_table_properties")
    with pytest.raises(CatalogUnavailableError):
        catalog.create_table(T, SCHEMA)
    assert catalog.list_tables("d") == [] and not Path(catalog.warehouse, "d.db", "t").exists()


def test_a_commit_holds_the_row_of_its_lock_and_gives_it_back(locking: JdbcCatalog) -> None:
    table = locking.create_table(T, SCHEMA)
    with table.lock.acquire("b") as is_locked:
        assert is_locked
        with locking.records.database.transaction() as connection:
            rows = connection.execute(text("SELECT lock_id, expire_time_seconds FROM paimon_distributed_locks")).all()
        assert [tuple(r) for r in rows] == [("jdbc.d.t$branch_b", 1)]
    core.insert(table, (1, "a"))
    with locking.records.database.transaction() as connection:
        assert connection.scalar(text("SELECT count(*) FROM paimon_distributed_locks")) == 0


def test_a_lock_that_others_hold_stops_a_commit_and_leaves_no_files(locking: JdbcCatalog) -> None:
    table = locking.create_table(T, SCHEMA)
    execute(locking, "INSERT INTO paimon_distributed_locks (lock_id, expire_time_seconds) VALUES ('jdbc.d.t', 1000)")
    with pytest.raises(CommitConflictError, match=r"The lock jdbc\.d\.t was held by others"):
        core.insert(table, (1, "a"))
    assert table.snapshots.latest_id() is None and not list(Path(table.path).rglob("manifest*-*"))
    with pytest.raises(CommitConflictError):
        locking.drop_table(T)
    assert locking.table_exists(T)


def test_a_lock_that_was_left_behind_is_taken(locking: JdbcCatalog) -> None:
    table = locking.create_table(T, SCHEMA)
    execute(
        locking,
        "INSERT INTO paimon_distributed_locks (lock_id, acquired_at, expire_time_seconds)"
        " VALUES ('jdbc.d.t', '2020-01-01 00:00:00', 1000)",
    )
    core.insert(table, (1, "a"))
    assert core.rows(table) == [(1, "a")]


def test_a_lock_s_name_that_is_too_long_is_refused_at_once(jdbc: dict[str, str]) -> None:
    catalog = JdbcCatalog("lake", {**jdbc, "lock.enabled": "true", "lock-key-max-length": "8"})
    catalog.create_database("d", {})
    catalog.create_table(T, SCHEMA)
    with pytest.raises(InvalidOptionError, match=r"The lock's name jdbc\.d\.long has more than 8 characters"):
        catalog.create_table(Identifier("d", "long"), SCHEMA)


def test_threads_commit_one_after_the_other(locking: JdbcCatalog) -> None:
    table = locking.create_table(T, SCHEMA)
    patient = JdbcCatalog("lake", {**locking.options, "lock-acquire-timeout": "60 s"})
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: core.insert(patient.table(T), (i, "x")), range(8)))
    assert sorted(core.rows(table)) == [(i, "x") for i in range(8)]


def test_only_one_of_many_makes_a_database_or_table(catalog: JdbcCatalog) -> None:
    def make(_: int) -> int:
        made = 0
        for act in (lambda: catalog.create_database("new", {}), lambda: catalog.create_table(T, SCHEMA)):
            try:
                act()
                made += 1
            except (DatabaseExistsError, TableExistsError, InvalidInputError):
                pass
        return made

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(make, range(12))) == 2
    assert catalog.list_tables("d") == ["t"] and catalog.table_exists(T)


def test_many_open_an_empty_database_at_once(jdbc: dict[str, str]) -> None:
    with ThreadPoolExecutor(4) as pool:
        opened = list(pool.map(lambda i: JdbcCatalog("lake", {**jdbc, "client-pool-size": str(i + 1)}), range(4)))
    opened[0].create_database("d", {})
    assert [c.list_databases() for c in opened] == [["d"]] * 4


def test_a_pickled_table_commits_under_the_same_lock(locking: JdbcCatalog) -> None:
    table = pickle.loads(pickle.dumps(replace(locking.create_table(T, SCHEMA))))
    core.insert(table, (1, "a"))
    assert table.lock == locking.table(T).lock
    assert "p@ss" not in repr(table.lock)


def _insert_in_child(catalog: JdbcCatalog) -> None:
    core.insert(catalog.table(T), (2, "child"))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_has_connections_of_its_own(locking: JdbcCatalog) -> None:
    core.insert(locking.create_table(T, SCHEMA), (1, "parent"))
    child = multiprocessing.get_context("fork").Process(target=_insert_in_child, args=(locking,))
    child.start()
    child.join()
    assert child.exitcode == 0
    core.insert(locking.table(T), (3, "parent"))
    assert sorted(core.rows(locking.table(T))) == [(1, "parent"), (2, "child"), (3, "parent")]


def test_a_connection_that_broke_is_made_anew(catalog: JdbcCatalog) -> None:
    if catalog.records.database.uri.startswith("jdbc:postgresql:"):
        with catalog.records.database.transaction() as first, catalog.records.database.transaction() as second:
            pids = [c.scalar(text("SELECT pg_backend_pid()")) for c in (first, second)]
        with pytest.raises(CatalogUnavailableError):
            execute(catalog, f"SELECT {', '.join(f'pg_terminate_backend({pid})' for pid in pids)}")
    assert catalog.list_databases() == ["d"]


# Addresses


def options(uri: str, **more: str) -> dict[str, str]:
    """The options of a catalog at an address."""
    return {"warehouse": "/w", "metastore": "jdbc", "uri": uri, **more}


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("", "Catalog lake has no 'uri'"),
        ("sqlite:x", "'sqlite:x' is not an address"),
        ("jdbc:oracle:thin:@x", "a supported database. Use an address that starts with jdbc:sqlite:"),
        ("jdbc:sqlite::memory:", "in the memory of one connection"),
        ("jdbc:sqlite:", "in the memory of one connection"),
        ("jdbc:postgresql://h:port/d", "Port could not be cast"),
        ("jdbc:postgresql://a,b/d", "names several servers"),
        ("jdbc:mysql://h/d?sslMode=SOMETIMES", "'SOMETIMES' is not a valid sslMode"),
        ("jdbc:mysql://h/d?verifyServerCertificate=true", "'verifyServerCertificate' is a setting of the Java driver"),
        ("jdbc:postgresql://h/d?sslfactory=x", "'sslfactory' is a setting of the Java driver"),
    ],
)
def test_addresses_that_name_no_database_are_refused(uri: str, message: str) -> None:
    with pytest.raises(InvalidOptionError, match=message):
        JdbcCatalog("lake", options(uri))


@pytest.mark.parametrize(
    ("uri", "url"),
    [
        ("jdbc:mysql://h:1/d?user=u&password=p%40&useUnicode=true", "mysql+pymysql://u:p%40@h:1/d"),
        ("jdbc:mariadb://u:p@h/d", "mysql+pymysql://u:p@h:3306/d"),
        ("jdbc:postgresql://h/d%20e", "postgresql+psycopg://h:5432/d e"),
        ("jdbc:postgresql:d", "postgresql+psycopg://localhost:5432/d"),
        ("jdbc:postgresql://[::1]:7/d", "postgresql+psycopg://[::1]:7/d"),
        ("jdbc:sqlite:/a/b c.db?cache=shared", "sqlite:////a/b c.db"),
        ("jdbc:sqlite:file:/a/b%20c.db", "sqlite:////a/b c.db"),
    ],
)
def test_addresses_of_java_mean_the_same_here(uri: str, url: str) -> None:
    _, protocol, rest = uri.split(":", 2)
    found, _ = BACKENDS[protocol].address(rest, {})
    assert found.render_as_string(hide_password=False) == url


def test_settings_of_connections_come_from_the_address_and_the_options() -> None:
    given = {"user": "x", "sslmode": "require", "connectTimeout": "7", "currentSchema": "a, b", "tcpKeepAlive": "true"}
    url, arguments = BACKENDS["postgresql"].address("//h/d?user=y&ApplicationName=app", given)
    assert url.username == "x"
    assert arguments == {
        "sslmode": "require",
        "connect_timeout": 7,
        "application_name": "app",
        "options": f"-c search_path=a,b -c TimeZone={local_zone()}",
    }
    _, arguments = BACKENDS["mysql"].address("//h/d", {"sslMode": "verify_ca", "sslCa": "/ca", "connectTimeout": "500"})
    assert arguments["ssl"] == {"verify_mode": "required", "check_hostname": False, "ca": "/ca"}
    assert arguments["connect_timeout"] == 1


def test_a_server_that_is_not_there_is_named_without_secrets(tmp_path: Path) -> None:
    for protocol in ("postgresql", "mysql"):
        with pytest.raises(CatalogUnavailableError, match=r"127\.0\.0\.1:1/d refused: .*Check that it runs") as told:
            JdbcCatalog("lake", options(f"jdbc:{protocol}://u:geheim@127.0.0.1:1/d?password=geheim"))
        assert "geheim" not in str(told.value)


def test_a_wrong_password_is_told(jdbc: dict[str, str]) -> None:
    if "jdbc.password" in jdbc:
        with pytest.raises(CatalogUnavailableError, match=r"(?i)(authentication failed|access denied)"):
            JdbcCatalog("lake", {**jdbc, "jdbc.password": "wrong"})


def test_a_driver_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(SetupError, match=r"pip install 'paimon-sql\[jdbc-postgresql\]'"):
        JdbcCatalog("lake", options("jdbc:postgresql://127.0.0.1:2/missing"))


def test_zones_without_a_name_are_told_by_their_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    for zone, wanted in (("XXX-5:30", "<+05:30>-05:30"), ("XXX3", "<-03:00>+03:00"), ("Asia/Tokyo", "Asia/Tokyo")):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        assert local_zone() == wanted
    monkeypatch.undo()
    time.tzset()
