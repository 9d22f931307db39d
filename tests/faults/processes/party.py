"""What the process of a party does: its operations, one after the other, each recorded before and behind."""

from __future__ import annotations

import faulthandler
import logging
import os
import random
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.jdbc.database import Database
from paimon_sql.catalog.jdbc.locks import JdbcLock, LockSettings
from paimon_sql.errors import CommitUnknownError, PaimonError
from paimon_sql.storage.metadata.catalog_environment import UNLOCKED, TableLock
from paimon_sql.storage.table.table import Table
from tests.faults.actions import ACTIONS
from tests.faults.actions.job import Job
from tests.faults.history import MAIN, History, Operation, Outcome
from tests.faults.model import Effect
from tests.faults.processes import interrupts
from tests.faults.processes.files import InjectingDriver, RealProcess, RecordingFileIO
from tests.faults.processes.journal import Journal
from tests.faults.processes.plan import Plan
from tests.faults.processes.shared import SharedState
from tests.faults.tables import place
from tests.faults.world import forget_caches

LOCK_SECONDS = 4
"""For how many seconds the catalog's lock is lent; no suspension is as long."""
_TIME, _TIME_NS = time.time, time.time_ns


def lock_of(folder: Path) -> TableLock:
    """The lock of the round's table in a JDBC catalog."""
    options = {"uri": f"jdbc:sqlite:{folder}/locks.db", "lock-acquire-timeout": f"{LOCK_SECONDS} s"}
    options["lock-check-max-sleep"] = "50 ms"
    return JdbcLock(LockSettings.of(Database.of("c", options), "c", options), Identifier("db", "t"))


class RecordedJob(Job):
    """An operation that records its intent."""

    journal: Journal

    def opened(self, branch: str | None = None) -> Table:
        table = super().opened(branch)
        self.journal.write("opened", token=self.operation.token, identity=self.operation.identity)
        return table

    def intend(self, effect: Effect) -> None:
        super().intend(effect)
        self.journal.write("intend", token=self.operation.token, effect=asdict(effect))


class RecordedOperations(History):
    """The part of the history that operations ask for, recorded instead of known.

    Args:
        journal: the journal.
        party: the party that asks.
    """

    def __init__(self, journal: Journal) -> None:
        self.operations = {}
        self._journal = journal

    def begin(self, operation: Operation) -> None:
        self._journal.begin(
            token=operation.token,
            party=operation.party,
            name=operation.name,
            role=operation.role.value,
            branch=operation.branch,
            effect=asdict(operation.effect),
        )

    def identity(self) -> str:
        return self._journal.identity()


class Party:
    """A party in its process.

    Args:
        plan: the round.
        folder: its directory.
        number: which party this is.
    """

    def __init__(self, plan: Plan, folder: Path, number: int) -> None:
        self._plan = plan
        self._folder = folder
        self._number = number
        self._path = place(folder)
        self._journal = Journal(folder, self._path)
        self._driver = InjectingDriver(plan, folder, self._journal)
        self._process = RealProcess(f"party {number}")
        self._lock = UNLOCKED if self._driver.exclusive else lock_of(folder)
        self._shared = SharedState(folder, self._journal)

    def play(self, first: int) -> None:
        """Do the operations of the script from one of them on."""
        script = self._plan.parties[self._number].script
        for number, name in enumerate(script[first:], first):
            if enough_file(self._folder).exists():
                break
            note_progress(self._folder, self._number, number + 1)
            self._carry_out(number, name)
        self._journal.write("count", operations=self._driver.operations)

    def _carry_out(self, number: int, name: str) -> None:
        action = ACTIONS[name]
        chance = random.Random(f"{self._plan.seed} {self._number} {number}")
        operation = Operation(f"p{self._number}n{number}", self._process.party, name, action.role)
        if chance.random() < 0.2:
            operation.branch = chance.choice([MAIN, *sorted(self._branches())])
        self._process.token, self._process.operation = operation.token, name
        self._driver.begin(self._number, number)
        if chance.random() < 0.5:
            forget_caches()
        history = RecordedOperations(self._journal)
        history.begin(operation)
        job = RecordedJob(
            self._plan.kind,
            self._path,
            RecordingFileIO(self._driver, self._process, self._journal),
            chance,
            operation,
            history,
            number,
            self._number,
            len(self._plan.parties),
            self._plan.options,
            self._lock,
            self._shared,
        )
        job.journal = self._journal
        outcome, error, is_wrong = carried_out(lambda: action.run(job))
        if outcome is Outcome.ACKNOWLEDGED:
            for read in job.reads:
                self._journal.write("read", token=operation.token, uuid=read.uuid, rows=read.rows)
        self._journal.write("end", token=operation.token, outcome=outcome.value, error=error, is_wrong=is_wrong)

    def _branches(self) -> Iterable[str]:
        return (path.name.removeprefix("branch-") for path in self._path.glob("branch/branch-*"))


def carried_out(run: Callable[[], None]) -> tuple[Outcome, str, bool]:
    """How an operation ends, its error, and whether that is one that must not be."""
    try:
        with interrupts.allowed():
            run()
    except CommitUnknownError as unknown:
        return Outcome.UNKNOWN, str(unknown), False
    except PaimonError as refused:
        return Outcome.REFUSED, f"{type(refused).__name__}: {refused}", False
    except (KeyboardInterrupt, MemoryError) as stopped:
        return Outcome.UNKNOWN, type(stopped).__name__, False
    except BaseException as error:
        # Compiled libraries tell of an interrupt in errors of their own.
        is_interrupt = isinstance(error, SystemError) and isinstance(error.__cause__, KeyboardInterrupt)
        return Outcome.UNKNOWN, traceback.format_exc(), not is_interrupt
    return Outcome.ACKNOWLEDGED, "", False


def progress_file(folder: Path, party: int) -> Path:
    """Where a party keeps the number of the operation that it will do next."""
    return folder / f"next-{party}"


def note_progress(folder: Path, party: int, number: int) -> None:
    """Note what a party does next; whoever is killed meanwhile has noted either this or what stood there before."""
    noted = progress_file(folder, party)
    new = noted.with_name(f"{noted.name}-new")
    new.write_text(str(number))
    new.replace(noted)


def enough_file(folder: Path) -> Path:
    """The file that says, once it is there, that parties are to leave out what is left of their scripts."""
    return folder / "enough"


def said_file(folder: Path, party: int) -> Path:
    """What the process of a party has printed."""
    return folder / f"said-{party}"


@contextmanager
def clock_and_zone(skew: float, zone: str) -> Iterator[None]:
    """Let this process live by a clock that is wrong by some seconds, and in a zone."""
    os.environ["TZ"] = zone
    time.tzset()
    time.time = lambda: _TIME() + skew
    time.time_ns = lambda: _TIME_NS() + int(skew * 10**9)
    try:
        yield
    finally:
        time.time, time.time_ns = _TIME, _TIME_NS


def play_party(plan: Plan, folder: Path, number: int, first: int) -> None:
    """Be a party, in a process that was forked for it."""
    with said_file(folder, number).open("a") as stacks:
        os.dup2(stacks.fileno(), 2)
        faulthandler.register(signal.SIGUSR1, stacks, all_threads=True)
        interrupts.install()
        logging.disable(logging.CRITICAL)
        with clock_and_zone(plan.parties[number].skew, plan.parties[number].zone):
            Party(plan, folder, number).play(first)
