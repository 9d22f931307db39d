"""Many connections to a Thrift server at once, for a while: reads, upserts, deletes, compaction, expiry.

``python -m bench.soak --seconds 600`` says what was done and what the process holds before, ten times meanwhile and
after, and ends with status 1 if an answer was wrong or a row was lost. Each writer owns keys and knows what must stand
under them, so that every read can be checked.
"""

from __future__ import annotations

import argparse
import gc
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from pyhive import hive
from pyhive.exc import OperationalError
from pyspark.sql import SparkSession

import paimon_sql
from paimon_sql.spark.jvm.callbacks import RELEASE_INTERVAL
from paimon_sql.spark.session.bridge import Bridge
from paimon_sql.spark.thrift.server import HOST, PORT, ThriftServer

_KEYS = 50
"""Keys that a writer owns."""
_REST = 2 * RELEASE_INTERVAL + 5
"""Seconds until the threads of idle pools have ended, and what they left has been let go of."""
_LOOKS = 10
"""How often what the process holds is looked at while it works."""
_CONFLICT = "Run the statement again"
"""What a statement says that lost against another one and changed nothing."""


@dataclass(frozen=True)
class Held:
    """What the process holds, once what nobody needs has been collected."""

    sessions: int
    callbacks: int
    jvm_threads: int
    python_threads: int
    heap_mb: int
    temporary_files: int


@dataclass
class Outcome:
    """What happened.

    Attributes:
        done: how often each kind of work succeeded.
        conflicts: statements that lost against another one, which said so and changed nothing.
        wrong: what was not as it must be.
        before: what the process held after the first round of connections.
        meanwhile: what it held at ten times in between, while others worked.
        after: what it held at the end.
    """

    done: Counter[str] = field(default_factory=Counter)
    conflicts: int = 0
    wrong: list[str] = field(default_factory=list)
    before: Held | None = None
    meanwhile: list[Held] = field(default_factory=list)
    after: Held | None = None


class Worker:
    """One connection at a time, doing one kind of work after the other until the time is over.

    Args:
        soak: what is common to all.
        number: its own number; it owns the keys of that remainder.
    """

    def __init__(self, soak: Soak, number: int) -> None:
        self.name = f"worker {number}"
        self._soak = soak
        self._number = number
        self._random = random.Random(number)
        self._expected: dict[int, int] = {}

    @property
    def expected(self) -> dict[int, int]:
        """What must stand under this worker's keys."""
        return self._expected

    def run(self) -> None:
        """Connect anew now and again, as tools do."""
        maintains = self._number < 2
        works: list[Callable[[hive.Cursor], None]] = (
            [self._maintain] if maintains else [self._upsert, self._upsert, self._delete, self._read, self._count]
        )
        while not self._soak.is_over():
            try:
                with closing(self._soak.connect()) as connection:
                    for _ in range(10):
                        if not self._soak.is_over():
                            with closing(connection.cursor()) as cursor:
                                self._once(self._random.choice(works), cursor)
            except Exception as error:
                self._soak.tell(f"{self.name}: {type(error).__name__}: {error}")
                return

    def _once(self, work: Callable[[hive.Cursor], None], cursor: hive.Cursor) -> None:
        try:
            work(cursor)
        except OperationalError as error:
            if _CONFLICT not in str(error):
                raise
            self._soak.lost()
        else:
            self._soak.did(work.__name__.strip("_"))

    def _own(self) -> list[int]:
        return [self._number + self._soak.workers * i for i in self._random.sample(range(_KEYS), 5)]

    def _upsert(self, cursor: hive.Cursor) -> None:
        new = {key: self._expected.get(key, 0) + self._random.randrange(1, 100) for key in self._own()}
        rows = ", ".join(f"({key}, {self._number}, {value})" for key, value in new.items())
        cursor.execute(f"INSERT INTO soak VALUES {rows}")
        self._expected |= new

    def _delete(self, cursor: hive.Cursor) -> None:
        gone = self._own()[:2]
        cursor.execute(f"DELETE FROM soak WHERE k IN ({', '.join(map(str, gone))})")
        for key in gone:
            self._expected.pop(key, None)

    def _read(self, cursor: hive.Cursor) -> None:
        cursor.execute(f"SELECT k, n FROM soak WHERE owner = {self._number}")
        if (found := dict(cursor.fetchall())) != self._expected:
            self._soak.tell(f"{self.name} read {found} and not {self._expected}")

    def _count(self, cursor: hive.Cursor) -> None:
        cursor.execute(
            "SELECT count(*), count(DISTINCT k), sum(CAST(k % %s <> owner AS INT)) FROM soak".replace(
                "%s", str(self._soak.workers)
            )
        )
        ((rows, keys, strange),) = cursor.fetchall()
        if rows != keys or strange:
            self._soak.tell(f"{self.name} counted {rows} rows, {keys} keys, {strange} of them another's")

    def _maintain(self, cursor: hive.Cursor) -> None:
        if self._number:
            cursor.execute("CALL sys.expire_snapshots(table => 'soak', retain_max => 20, retain_min => 20)")
        else:
            cursor.execute("CALL sys.compact(table => 'soak')")
        time.sleep(0.5)


class Soak:
    """Runs the workers and looks at what they leave.

    Args:
        session: where the table is made, in the current database.
        server: the server that workers connect to.
        seconds: how long they work.
        workers: how many there are; the first two compact and expire.
        rounds: how often each connects before what the process holds is counted first.
        rest: seconds between the end of the work and the last count: Spark's pools let threads go after a minute.
    """

    def __init__(
        self,
        session: SparkSession,
        server: ThriftServer,
        seconds: float,
        workers: int = 8,
        rounds: int = 6,
        rest: float = 0,
    ) -> None:
        self.workers = workers
        self._rounds = rounds
        self._rest = rest
        self._session = session
        self._server = server
        self._seconds = seconds
        self._until = 0.0
        self._lock = threading.Lock()
        self._outcome = Outcome()

    def is_over(self) -> bool:
        """Whether the time is over, or something is wrong already."""
        return time.monotonic() > self._until or bool(self._outcome.wrong)

    def connect(self) -> hive.Connection:
        """A new connection."""
        database = self._session.catalog.currentDatabase()
        return hive.connect(self._server.host, self._server.port, database=database)

    def did(self, work: str) -> None:
        """Count what succeeded."""
        with self._lock:
            self._outcome.done[work] += 1

    def lost(self) -> None:
        """Count a statement that another one won against."""
        with self._lock:
            self._outcome.conflicts += 1

    def tell(self, wrong: str) -> None:
        """Note what is wrong."""
        with self._lock:
            self._outcome.wrong.append(wrong)

    def run(self) -> Outcome:
        """Work, and compare at the end what is there with what must be."""
        self._session.sql(
            "CREATE TABLE soak (k INT NOT NULL, owner INT, n INT) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2')"
        )
        self._warm_up()
        self._outcome.before = self._held()
        self._until = time.monotonic() + self._seconds
        workers = [Worker(self, number) for number in range(self.workers)]
        threads = [threading.Thread(target=worker.run, name=worker.name, daemon=True) for worker in workers]
        for thread in threads:
            thread.start()
        look = time.monotonic()
        while not self.is_over():
            if time.monotonic() >= look + self._seconds / _LOOKS:
                self._outcome.meanwhile.append(self._held())
                look = time.monotonic()
            time.sleep(0.1)
        for thread in threads:
            thread.join(self._seconds + 300)
            if thread.is_alive():
                self.tell(f"{thread.name} does not end")
        found = {row[0]: row[1] for row in self._session.sql("SELECT k, n FROM soak").collect()}
        must = {key: value for worker in workers for key, value in worker.expected.items()}
        if found != must:
            differing = set(found.items()) ^ set(must.items())
            self.tell(f"at the end {len(found)} rows are there and not {len(must)}: {differing}")
        time.sleep(self._rest)
        self._outcome.after = self._held()
        self._session.sql("DROP TABLE soak")
        return self._outcome

    def _warm_up(self) -> None:
        """Statements until each thread of the server's pool has had one; they stay as long as it does."""
        for _ in range(self._rounds):
            connections = [self.connect() for _ in range(self.workers)]
            for connection in connections:
                with closing(connection):
                    connection.cursor().execute("SELECT count(*) FROM soak")

    def _held(self) -> Held:
        jvm = Bridge.of(self._session.sparkContext).jvm
        for _ in range(3):
            gc.collect()
            jvm.cls("java.lang.System").gc()
            time.sleep(1)
        management = jvm.cls("java.lang.management.ManagementFactory")
        return Held(
            sessions=len(Bridge.of(self._session.sparkContext)._sessions),
            callbacks=len(jvm.gateway.gateway_property.pool),
            jvm_threads=int(management.getThreadMXBean().getThreadCount()),
            python_threads=threading.active_count(),
            heap_mb=int(management.getMemoryMXBean().getHeapMemoryUsage().getUsed()) >> 20,
            temporary_files=sum(1 for _ in Path(tempfile.gettempdir()).iterdir()),
        )


def main() -> int:
    """Run it with a Spark and a warehouse of its own, and say what came out."""
    arguments = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    arguments.add_argument("--seconds", type=float, default=600)
    arguments.add_argument("--connections", type=int, default=8)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as warehouse:
        session = paimon_sql.connect(warehouse, **{"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"})
        server = ThriftServer(session, {HOST: "127.0.0.1", PORT: "0"})
        outcome = Soak(session, server, given.seconds, given.connections, rest=_REST).run()
        server.stop()
        session.stop()
    print(f"done: {dict(outcome.done)}, conflicts: {outcome.conflicts}")
    print(f"before: {outcome.before}")
    for held in outcome.meanwhile:
        print(f"        {held}")
    print(f"after:  {outcome.after}")
    for wrong in outcome.wrong:
        print(f"WRONG: {wrong}")
    return 1 if outcome.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
