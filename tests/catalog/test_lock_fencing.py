"""Locks that expire: who was paused with one writes nothing over others, and ages do not depend on clients' zones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pymetastore.hive_metastore.ttypes import ShowLocksRequest, UnlockRequest
from sqlalchemy import text

from paimon_sql.catalog.hive.catalog import HiveCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.jdbc.catalog import JdbcCatalog
from paimon_sql.catalog.warehouse import WarehouseCatalog
from paimon_sql.errors import CatalogUnavailableError, CommitConflictError, UnsupportedError
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField, IntType, string_type
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.metadata.catalog_environment import UNLOCKED, HeldLock, TableLock
from paimon_sql.storage.schema.changes.base import apply_changes
from paimon_sql.storage.schema.changes.options import SetOption
from paimon_sql.storage.table.table import Table
from tests.conftest import Servers
from tests.storage import core_tables as core

FIELDS = (DataField(0, "id", IntType(False)), DataField(1, "v", string_type()))
SCHEMA = new_schema(FIELDS, primary_keys=["id"], options={"bucket": "1"})
T = Identifier("d", "t")
JAVA_ROW = "INSERT INTO paimon_distributed_locks (lock_id, expire_time_seconds) VALUES ('jdbc.d.t', {})"


class PlainStore(LocalFileIO):
    """A store that creates nothing exclusively: under a lock it looks, and then writes."""

    def can_create_exclusively(self, path: str) -> bool:
        return False

    def try_create_exclusive(self, path: str, data: bytes, *, locked: bool = False) -> bool:
        if not locked:
            raise UnsupportedError("This store creates nothing exclusively.")
        # The answer of the look may be as old as the pause was long.
        if "/snapshot/" not in path and self.exists(path):
            return False
        self.write_bytes(path, data)
        return True


@dataclass(frozen=True)
class PausedLock(TableLock):
    """A lock whose holder stops right behind the moment at which it was given it."""

    lock: TableLock
    pause: Callable[[], None]

    def acquire(self, branch: str) -> AbstractContextManager[HeldLock]:
        return self._held(branch)

    @contextmanager
    def _held(self, branch: str) -> Iterator[HeldLock]:
        with self.lock.acquire(branch) as hold:
            self.pause()
            yield hold


def locking(options: dict[str, str], timeout: str = "1 s", **more: str) -> JdbcCatalog:
    """A catalog that takes locks, with a database ``d``."""
    settings = {"lock.enabled": "true", "lock-acquire-timeout": timeout, "lock-check-max-sleep": "100 ms"}
    made = JdbcCatalog("lake", {**options, **settings, **more})
    if not made.database_exists("d"):
        made.create_database("d", {})
    return made


def execute(catalog: JdbcCatalog, *statements: str) -> None:
    """Run statements in one session of the catalog's database."""
    with catalog.records.database.transaction() as connection:
        for statement in statements:
            connection.execute(text(statement))


def locks(catalog: JdbcCatalog) -> list[str]:
    """The names of the locks that are held."""
    with catalog.records.database.transaction() as connection:
        return list(connection.scalars(text("SELECT lock_id FROM paimon_distributed_locks")))


def in_store(table: Table) -> Table:
    return replace(table, file_io=PlainStore())


def paused(table: Table, pause: Callable[[], None]) -> Table:
    return replace(in_store(table), lock=PausedLock(table.lock, pause))


# Holders that were paused


def test_a_paused_holder_whose_lock_was_taken_over_writes_over_nothing(jdbc: dict[str, str]) -> None:
    catalog = locking(jdbc)
    core.insert(in_store(catalog.create_table(T, SCHEMA)), (1, "before"))

    def pause() -> None:
        time.sleep(2.1)
        core.insert(in_store(catalog.table(T)), (2, "rival"))

    with pytest.raises(CommitConflictError, match=r"The lock jdbc\.d\.t expired while it was held"):
        core.insert(paused(catalog.table(T), pause), (3, "paused"))
    table = catalog.table(T)
    assert sorted(core.rows(table)) == [(1, "before"), (2, "rival")]
    assert table.snapshots.latest_id() == 2
    files = {p.name for p in Path(table.path).rglob("manifest*-*")}
    core.insert(in_store(table), (3, "again"))
    assert sorted(core.rows(catalog.table(T))) == [(1, "before"), (2, "rival"), (3, "again")]
    assert len(files) == 2 * 3, "the paused commit has left manifests behind"


def test_who_was_paused_does_not_give_back_the_lock_of_the_next_holder(jdbc: dict[str, str]) -> None:
    catalog = locking(jdbc)
    lock = catalog.create_table(T, SCHEMA).lock
    with lock.acquire("main"):
        time.sleep(2.1)
        other = lock.acquire("main")
        with other:
            pass
        other = lock.acquire("main")
        other.__enter__()
    assert locks(catalog) == ["jdbc.d.t"]
    other.__exit__(None, None, None)
    assert locks(catalog) == []


def test_a_lock_that_expired_and_that_no_one_took_is_confirmed_and_lasts_anew(jdbc: dict[str, str]) -> None:
    catalog = locking(jdbc, "3 s")
    lock = catalog.create_table(T, SCHEMA).lock
    with lock.acquire("main") as hold:
        assert hold.is_locked
        time.sleep(3.2)
        hold.confirm()
        with (
            pytest.raises(CommitConflictError, match="was held by others"),
            locking(jdbc, "1 s").table(T).lock.acquire("main"),
        ):
            pass
        hold.confirm()


def test_a_lock_that_java_gave_back_by_mistake_is_lost_at_once(jdbc: dict[str, str]) -> None:
    catalog = locking(jdbc)
    with catalog.create_table(T, SCHEMA).lock.acquire("main") as hold:
        # A Java process whose own lock had expired removes whatever row has its name, and another takes the lock.
        execute(catalog, "DELETE FROM paimon_distributed_locks", JAVA_ROW.format(100))
        with pytest.raises(CommitConflictError):
            hold.confirm()
    assert locks(catalog) == ["jdbc.d.t"]


def test_a_paused_change_of_the_schema_writes_over_nothing(jdbc: dict[str, str]) -> None:
    catalog = locking(jdbc)
    table = catalog.create_table(T, SCHEMA)

    def change(target: Table, number: str) -> None:
        target.schemas.evolve(lambda s: apply_changes(s, [SetOption("num-levels", number)], has_data=False))

    def pause() -> None:
        time.sleep(2.1)
        change(in_store(catalog.table(T)), "7")

    with pytest.raises(CommitConflictError):
        change(paused(table, pause), "8")
    newest = catalog.table(T).schemas.latest()
    assert newest is not None and (newest.id, newest.options["num-levels"]) == (1, "7")


def test_a_database_that_is_gone_at_the_last_moment_leaves_no_manifests(jdbc: dict[str, str]) -> None:
    catalog = locking(jdbc)
    table = catalog.create_table(T, SCHEMA)
    lost = paused(table, lambda: execute(catalog, "DROP TABLE paimon_distributed_locks"))
    with pytest.raises(CatalogUnavailableError):
        core.insert(lost, (1, "a"))
    assert table.snapshots.latest_id() is None
    assert not list(Path(table.path).rglob("manifest*-*"))


def test_without_a_lock_there_is_nothing_to_confirm() -> None:
    with UNLOCKED.acquire("main") as hold:
        hold.confirm()
    assert not hold.is_locked


def test_hive_s_lock_that_was_taken_over_writes_over_nothing(hive: dict[str, str]) -> None:
    more = {"lock.enabled": "true", "lock-acquire-timeout": "2 s", "lock-check-max-sleep": "100 ms"}
    catalog = HiveCatalog("lake", {**hive, **more})
    catalog.create_database("d", {})
    core.insert(in_store(catalog.create_table(T, SCHEMA)), (1, "before"))
    numbers: list[int] = []

    def pause() -> None:
        metastore = catalog.entries.metastore
        for lock in metastore.call("show_locks", ShowLocksRequest()).locks:
            numbers.append(lock.lockid)
            metastore.call("unlock", UnlockRequest(lockid=lock.lockid))
        core.insert(in_store(catalog.table(T)), (2, "rival"))

    with pytest.raises(CommitConflictError, match=r"The lock of d\.t in Hive's metastore expired"):
        core.insert(paused(catalog.table(T), pause), (3, "paused"))
    assert len(numbers) == 1
    assert sorted(core.rows(catalog.table(T))) == [(1, "before"), (2, "rival")]


def test_hive_s_lock_is_confirmed_as_long_as_it_is_held(hive: dict[str, str]) -> None:
    catalog = HiveCatalog("lake", {**hive, "lock.enabled": "true"})
    catalog.create_database("d", {})
    with catalog.create_table(T, SCHEMA).lock.acquire("main") as hold:
        assert hold.is_locked
        hold.confirm()
        hold.confirm()


# Zones


@pytest.fixture
def in_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Takes this process to a zone."""

    def move(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


EAST, WEST = "Pacific/Kiritimati", "Pacific/Pago_Pago"
ZONES = pytest.mark.parametrize(("holder", "rival"), [(EAST, WEST), (WEST, EAST), ("Asia/Kolkata", "UTC")])


@ZONES
def test_a_fresh_lock_of_a_client_in_another_zone_is_not_taken(
    jdbc: dict[str, str], in_zone: Callable[[str], None], holder: str, rival: str
) -> None:
    in_zone(holder)
    first = locking(jdbc, "60 s", **{"client-pool-size": "3"})
    with first.create_table(T, SCHEMA).lock.acquire("main") as hold:
        in_zone(rival)
        hasty = locking(jdbc, "500 ms", **{"client-pool-size": "4"})
        with pytest.raises(CommitConflictError, match="was held by others"), hasty.table(T).lock.acquire("main"):
            pass
        hold.confirm()


@ZONES
def test_a_lock_that_a_client_in_another_zone_left_behind_is_taken_at_once(
    jdbc: dict[str, str], in_zone: Callable[[str], None], holder: str, rival: str
) -> None:
    in_zone(holder)
    first = locking(jdbc, "1 s", **{"client-pool-size": "3"})
    left = first.create_table(T, SCHEMA).lock.acquire("main")
    left.__enter__()
    time.sleep(2.1)
    in_zone(rival)
    patient, started = locking(jdbc, "60 s", **{"client-pool-size": "4"}), time.monotonic()
    with patient.table(T).lock.acquire("main") as hold:
        hold.confirm()
    assert time.monotonic() - started < 1
    left.__exit__(None, None, None)


SESSION_ZONES = {"postgresql": "SET TIME ZONE '{}'", "mysql": "SET time_zone = '{}'"}
NAMES = {"postgresql": ("America/Los_Angeles", EAST, "UTC"), "mysql": ("-08:00", "+13:00", "+00:00")}


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("protocol", ["postgresql", "mysql"])
def test_a_fresh_lock_of_java_in_any_zone_is_not_taken(
    database_servers: Servers, tmp_path: Path, protocol: str, number: int
) -> None:
    options = {**database_servers.options(protocol), "warehouse": str(tmp_path)}
    catalog = locking(options, "500 ms")
    catalog.create_table(T, SCHEMA)
    execute(catalog, SESSION_ZONES[protocol].format(NAMES[protocol][number]), JAVA_ROW.format(60))
    with pytest.raises(CommitConflictError, match="was held by others"):
        core.insert(catalog.table(T), (1, "a"))


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("protocol", ["postgresql", "mysql"])
def test_a_lock_that_java_left_behind_is_taken_once_it_was_watched_for_as_long_as_it_lasts(
    database_servers: Servers, tmp_path: Path, protocol: str, number: int
) -> None:
    options = {**database_servers.options(protocol), "warehouse": str(tmp_path)}
    catalog = locking(options, "20 s")
    catalog.create_table(T, SCHEMA)
    age = {"postgresql": "acquired_at - INTERVAL '40 s'", "mysql": "acquired_at - INTERVAL 40 SECOND"}[protocol]
    zone = SESSION_ZONES[protocol].format(NAMES[protocol][number])
    execute(catalog, zone, JAVA_ROW.format(1), f"UPDATE paimon_distributed_locks SET acquired_at = {age}")
    started = time.monotonic()
    core.insert(catalog.table(T), (1, "a"))
    assert time.monotonic() - started < 10
    assert core.rows(catalog.table(T)) == [(1, "a")] and locks(catalog) == []


def test_a_lock_that_its_holder_renews_is_not_taken_by_who_watches_it(jdbc: dict[str, str]) -> None:
    holder, rival = locking(jdbc, "2 s"), locking(jdbc, "3 s")
    with holder.create_table(T, SCHEMA).lock.acquire("main") as hold, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(_take, rival)
        for _ in range(7):
            time.sleep(0.5)
            hold.confirm()
        with pytest.raises(CommitConflictError):
            waiting.result()


def _take(catalog: WarehouseCatalog) -> None:
    with catalog.table(T).lock.acquire("main"):
        pass


# Tables of locks that Java made


@pytest.mark.parametrize("processes", [1, 4])
def test_a_table_of_locks_without_owners_gets_the_column(jdbc: dict[str, str], processes: int) -> None:
    plain = JdbcCatalog("lake", jdbc)
    plain.create_database("d", {})
    execute(
        plain,
        "CREATE TABLE paimon_distributed_locks(lock_id VARCHAR(255) NOT NULL,acquired_at TIMESTAMP DEFAULT"
        " CURRENT_TIMESTAMP NOT NULL,expire_time_seconds BIGINT DEFAULT 0 NOT NULL,PRIMARY KEY (lock_id))",
    )
    plain.create_table(T, SCHEMA)
    catalogs = [locking(jdbc, "30 s", **{"client-pool-size": str(i + 2)}) for i in range(processes)]
    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(lambda i: core.insert(catalogs[i].table(T), (i, "a")), range(processes)))
    assert sorted(core.rows(plain.table(T))) == [(i, "a") for i in range(processes)]
    execute(plain, JAVA_ROW.format(1))
    assert locks(plain) == ["jdbc.d.t"]


def test_a_catalog_that_is_only_read_changes_no_table_of_locks(jdbc: dict[str, str]) -> None:
    plain = JdbcCatalog("lake", jdbc)
    plain.create_database("d", {})
    execute(
        plain,
        "CREATE TABLE paimon_distributed_locks(lock_id VARCHAR(255) NOT NULL,acquired_at TIMESTAMP DEFAULT"
        " CURRENT_TIMESTAMP NOT NULL,expire_time_seconds BIGINT DEFAULT 0 NOT NULL,PRIMARY KEY (lock_id))",
    )
    core.insert(plain.create_table(T, SCHEMA), (1, "a"))
    assert core.rows(locking(jdbc).table(T)) == [(1, "a")]
    with pytest.raises(CatalogUnavailableError):
        execute(plain, "SELECT lock_owner FROM paimon_distributed_locks")
