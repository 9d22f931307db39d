"""The file system of a party's process: faults happen to its operations, and changes of the history are recorded."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from paimon_sql.errors import PaimonError
from paimon_sql.storage.file_io import LocalFileIO
from tests.faults.file_system import Driver, FaultyFileIO
from tests.faults.injected import KINDS as FAULTS
from tests.faults.injected import Call, Fault, Process
from tests.faults.phases import touches_history
from tests.faults.processes.journal import Journal
from tests.faults.processes.plan import Plan

R = TypeVar("R")
_HOT = ("create", "replace", "rename")
_DELAYS = (0.002, 0.02, 0.1, 0.5)
_LAST_MOMENTS = frozenset(("create snapshot", "status snapshot", "create tag", "create schema"))


class RealProcess(Process):
    """A process of the operating system.

    Attributes:
        is_spared: whether nothing goes wrong in it at present.
    """

    is_spared: bool = False

    def die(self) -> None:
        """End at once: no `finally` runs, no buffer is written."""
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)


class InjectingDriver(Driver):
    """Decides about the file operations of one process.

    Args:
        plan: the round.
        folder: its directory.
        journal: its journal.
    """

    def __init__(self, plan: Plan, folder: Path, journal: Journal) -> None:
        self.final = plan.store == "disk"
        self.exclusive = plan.store != "locked"
        self.operations = 0
        self._plan = plan
        self._journal = journal
        self._chance = random.Random(plan.seed)
        self._on_their_way = on_their_way(folder)

    def begin(self, party: int, number: int) -> None:
        """An operation begins: what goes wrong in it depends on the seed and on its place in the round."""
        self._chance = random.Random(f"{self._plan.seed} {party} {number} faults")

    def before(self, call: Call) -> Fault | None:
        self.operations += 1
        if getattr(call.process, "is_spared", False):
            return None
        self._may_pause(call.process, call.operation, call.phase)
        hot = 8 if call.operation in _HOT and call.changes else 1
        if not self._plan.faults or self._chance.random() > self._plan.fault_rate * hot:
            return None
        fitting = [f for n in self._plan.faults if (f := FAULTS[n]).fits(call, final=self.final)]
        if not fitting:
            return None
        fault = self._chance.choices(fitting, [f.weight for f in fitting])[0]
        self._note(call.process, fault.name, f"{call.phase} {call.path[-40:]}")
        return fault

    def done(self, call: Call) -> None:
        if "/tag/" in call.path:
            self._journal.write("tagged", token=call.token, path=call.path)

    def after(self, call: Call) -> None:
        self._may_pause(call.process, call.operation, f"after {call.phase}")

    def later(self, effect: Callable[[], Any]) -> None:
        """Let an effect happen later; it outlives the process as a request that is on its way does."""
        delay = self._chance.choice(_DELAYS)
        until_done = os.open(self._on_their_way, os.O_RDWR | os.O_CREAT)
        fcntl.flock(until_done, fcntl.LOCK_SH)
        if os.fork():
            os.close(until_done)  # the child has it open
            return
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            time.sleep(delay)
            effect()
        except (PaimonError, OSError):
            pass
        finally:
            os._exit(0)

    def _may_pause(self, process: Process, operation: str, phase: str) -> None:
        if (
            not self._plan.pause_rate
            or getattr(process, "is_spared", False)
            or (not self.exclusive and phase in _LAST_MOMENTS)
        ):
            # Nothing helps a holder of a lock that stands still between asking for it once more and writing.
            return
        if self._chance.random() < self._plan.pause_rate * (10 if operation in _HOT else 1):
            self._note(process, "suspension", phase)
            os.kill(os.getpid(), signal.SIGSTOP)

    def _note(self, process: Process, name: str, at: str) -> None:
        self._journal.write("fault", token=process.token, name=name, at=at)


def on_their_way(folder: Path) -> Path:
    """The file that is locked, shared, as long as requests are on their way whose answers were lost."""
    return folder / "on-their-way"


class RecordingFileIO(FaultyFileIO):
    """The local file system as one process sees it; changes of the history go into the journal.

    Args:
        driver: decides.
        process: the process.
        journal: the journal of the round.
    """

    def __init__(self, driver: Driver, process: Process, journal: Journal) -> None:
        super().__init__(driver, process)
        self._journal = journal

    def __reduce__(self) -> tuple[type[LocalFileIO], tuple[()]]:
        return LocalFileIO, ()  # workers of an engine are processes of their own

    def _do(
        self, operation: str, path: str, effect: Callable[[], R], *, changes: bool = False, data: bytes | None = None
    ) -> R:
        if changes and touches_history(path):
            token = self.process.token

            def recorded() -> R:
                with self._journal.watched(token):
                    return effect()

            return super()._do(operation, path, recorded, changes=changes, data=data)
        return super()._do(operation, path, effect, changes=changes, data=data)
