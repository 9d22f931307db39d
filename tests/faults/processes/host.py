"""Starts the processes of a round, strikes them, wakes them, puts others in the place of those that are killed."""

from __future__ import annotations

import ctypes
import fcntl
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.processes.files import on_their_way
from tests.faults.processes.journal import Journal
from tests.faults.processes.party import enough_file, progress_file, said_file
from tests.faults.processes.plan import Plan, Strike

LONGEST_OPERATION = 60.0
ENOUGH = 60.0
_PAUSES = (0.02, 0.1, 0.3, 1.0)
_TICK = 0.004
_PR_SET_PDEATHSIG = 1


def forked(work: Callable[[], None]) -> int:
    """Do something in a process of its own: its id. It ends with 0, or with 1 after an exception."""
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        _die_with(parent)
        with open(os.devnull, "w") as nothing:  # noqa: PTH123
            os.dup2(nothing.fileno(), 1)  # whoever waits for the end of the host's output waits for the host alone
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _die_with(parent: int) -> None:
    """Let this process be killed when its parent has ended."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


@dataclass
class _Running:
    number: int
    pid: int
    started: float
    wakes: float | None = None


@dataclass
class Host:
    """The processes of one round.

    Attributes:
        plan: the round.
        folder: its directory.
        journal: its journal.
        work: what the process of a party does, given the party's number and that of its next operation.
        longest: seconds after which a party hangs that has not begun another operation.
        enough: seconds after which parties leave out what is left of their scripts, on a slow machine.
        violations: what went wrong with processes themselves.
        restarts: how many processes took the place of killed ones.
        started: the ids of all processes that were started.
        struck: what happened to processes from outside, by its name.
    """

    plan: Plan
    folder: Path
    journal: Journal
    work: Callable[[int, int], None]
    longest: float = LONGEST_OPERATION
    enough: float = ENOUGH
    violations: list[str] = field(default_factory=list)
    restarts: int = 0
    started: list[int] = field(default_factory=list)
    struck: Counter[str] = field(default_factory=Counter)
    _running: dict[int, _Running] = field(default_factory=dict)

    def run(self) -> None:
        """Let all parties come to the ends of their scripts."""
        chance = random.Random(f"{self.plan.seed} pauses")
        strikes, started = list(self.plan.strikes), time.monotonic()
        for number in range(len(self.plan.parties)):
            self._start(number)
        while self._running:
            now = time.monotonic() - started
            self._reap()
            while strikes and strikes[0].at <= now:
                self._strike(strikes.pop(0))
            for one in self._running.values():
                if one.wakes is not None and one.wakes <= now:
                    os.kill(one.pid, signal.SIGCONT)
                    one.wakes = None
                elif one.wakes is None and _is_stopped(one.pid):
                    one.wakes = now + chance.choice(_PAUSES)
            if now > self.enough:
                enough_file(self.folder).touch()
            if any(self._silence(one) > self.longest for one in self._running.values()):
                self._give_up()
            time.sleep(_TICK)
        with on_their_way(self.folder).open("w") as late:
            fcntl.flock(late, fcntl.LOCK_EX)
        self.journal.settle()

    def _start(self, number: int) -> None:
        progress = progress_file(self.folder, number)
        first = int(progress.read_text() or 0) if progress.exists() else 0
        if first < len(self.plan.parties[number].script):
            pid = forked(lambda: self.work(number, first))
            self.started.append(pid)
            self._running[number] = _Running(number, pid, time.time())

    def _silence(self, one: _Running) -> float:
        """Seconds since a party has begun an operation."""
        progress = progress_file(self.folder, one.number)
        begun = progress.stat().st_mtime if progress.exists() else 0.0
        return time.time() - max(begun, one.started)

    def _reap(self) -> None:
        for one in list(self._running.values()):
            pid, status = os.waitpid(one.pid, os.WNOHANG)
            if not pid:
                continue
            del self._running[one.number]
            if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
                self.restarts += 1
                self._start(one.number)
            elif status:
                said = said_file(self.folder, one.number).read_text()[-3000:]
                self.violations.append(f"the process of party {one.number} ended with {status}: {said}")

    def _strike(self, strike: Strike) -> None:
        one = self._running.get(strike.party)
        if one is None:
            return
        # Not into the journal: a party that stands still may hold its lock, and waits to be woken here.
        self.struck[f"{strike.means} from outside"] += 1
        sent = {"kill": signal.SIGKILL, "suspend": signal.SIGSTOP, "interrupt": signal.SIGINT}[strike.means]
        os.kill(one.pid, sent)

    def _give_up(self) -> None:
        for one in self._running.values():
            os.kill(one.pid, signal.SIGCONT)
            os.kill(one.pid, signal.SIGUSR1)
        time.sleep(1)
        for one in self._running.values():
            if self._silence(one) > self.longest:
                said = said_file(self.folder, one.number).read_text()[-6000:]
                self.violations.append(f"hang: party {one.number} has done nothing for {self.longest} s: {said}")
            os.kill(one.pid, signal.SIGKILL)
            os.waitpid(one.pid, 0)
        self._running.clear()


def _is_stopped(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except OSError:
        return False
