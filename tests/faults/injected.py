"""The kinds of faults that a file system injects: one small class each, in a registry."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paimon_sql.errors import PaimonError
from tests.faults.phases import phase_of

KINDS: dict[str, Fault] = {}
"""The kinds of faults by name."""


class Killed(BaseException):
    """The process of the party has ended; it does nothing any more."""


@dataclass
class Process:
    """A process of a party: it lives until it is killed.

    Attributes:
        party: the name of the party.
        token: the operation that it is at.
        operation: the name of that operation.
        is_dead: whether it was killed.
        die: ends the process; raises `Killed` where parties are threads.
    """

    party: str
    token: str = ""
    operation: str = ""
    is_dead: bool = False

    def die(self) -> None:
        self.is_dead = True
        raise Killed


@dataclass(frozen=True)
class Call:
    """One operation of a file system.

    Attributes:
        operation: its name.
        path: the path that it is about.
        changes: whether it changes anything.
        effect: does it, and answers.
        process: who asks for it.
        token: the operation that asks for it.
        data: what is written, if it is known.
        later: has the effect happen later on.
    """

    operation: str
    path: str
    changes: bool
    effect: Callable[[], Any]
    process: Process
    token: str
    data: bytes | None
    later: Callable[[Callable[[], Any]], None]

    @property
    def phase(self) -> str:
        """The moment, as `phases` names it."""
        return phase_of(self.operation, self.path)

    def lost(self) -> PaimonError:
        """The error of a call that got no answer."""
        return PaimonError(f"Cannot {self.operation} {self.path}: injected: connection reset.")


class Fault(ABC):
    """Something that goes wrong at a file operation.

    Attributes:
        name: its name in reports.
        weight: how often it is chosen among those that fit.
        only_changes: whether it is only for operations that change files.
        remote: whether it is only for stores whose answers are not final.
        is_late: whether the operation has its effect after the party has given it up.
    """

    name: str
    weight: float = 1.0
    only_changes: bool = False
    remote: bool = False
    is_late: bool = False

    def __init_subclass__(cls, **arguments: object) -> None:
        super().__init_subclass__(**arguments)
        KINDS[cls.name] = cls()

    def fits(self, call: Call, *, final: bool) -> bool:
        """Whether it can happen to such a call."""
        return (call.changes or not self.only_changes) and not (self.remote and final)

    @abstractmethod
    def inject(self, call: Call) -> Any:
        """Let the call go wrong."""


class TransientError(Fault):
    """The operation fails and has no effect; the next one works."""

    name = "transient error"
    weight = 3

    def inject(self, call: Call) -> Any:
        raise call.lost()


class AnswerLostAfter(Fault):
    """The operation has its effect, but the answer is an error."""

    name = "answer lost after the effect"
    only_changes = True
    remote = True
    weight = 2

    def inject(self, call: Call) -> Any:
        call.effect()
        raise call.lost()


class LateEffect(Fault):
    """The answer is an error, and the effect comes later, as of a request that is still on its way."""

    name = "answer lost before the effect"
    only_changes = True
    remote = True
    is_late = True
    weight = 3

    def fits(self, call: Call, *, final: bool) -> bool:
        # Data files are streams: a request that is on its way holds all of it or nothing. And where only a lock keeps
        # writers apart, a store that carries a creation out when the lock has a new holder is beyond help.
        return super().fits(call, final=final) and call.operation not in ("open", "sync", "overwrite")

    def inject(self, call: Call) -> Any:
        call.later(call.effect)
        raise call.lost()


class KillBefore(Fault):
    """The process ends before the operation."""

    name = "kill before an operation"
    weight = 1.5

    def inject(self, call: Call) -> Any:
        call.process.die()


class KillAfter(Fault):
    """The process ends behind the operation."""

    name = "kill after an operation"
    only_changes = True
    weight = 1.5

    def inject(self, call: Call) -> Any:
        call.effect()
        call.process.die()


class KillWithin(Fault):
    """The process ends in the middle of writing a file: half of it is there under a temporary name."""

    name = "kill within a write"
    only_changes = True
    weight = 0.5

    def fits(self, call: Call, *, final: bool) -> bool:
        return super().fits(call, final=final) and call.data is not None

    def inject(self, call: Call) -> Any:
        folder, _, name = call.path.rpartition("/")
        if Path(folder).is_dir():
            torn = Path(folder, f".{name}.{uuid.uuid4()}.tmp")
            torn.write_bytes((call.data or b"")[: len(call.data or b"") // 2])
        call.process.die()


class KillLate(Fault):
    """The process ends while its request is on its way; the effect comes later."""

    name = "kill with a request on its way"
    only_changes = True
    remote = True
    is_late = True
    weight = 0.5

    def fits(self, call: Call, *, final: bool) -> bool:
        return KINDS[LateEffect.name].fits(call, final=final)

    def inject(self, call: Call) -> Any:
        call.later(call.effect)
        call.process.die()


class Interrupt(Fault):
    """Ctrl-C arrives before the operation."""

    name = "interrupt before an operation"

    def inject(self, call: Call) -> Any:
        raise KeyboardInterrupt


class InterruptAfter(Fault):
    """Ctrl-C arrives right behind the operation."""

    name = "interrupt after an operation"
    only_changes = True

    def inject(self, call: Call) -> Any:
        call.effect()
        raise KeyboardInterrupt


class OutOfMemory(Fault):
    """Memory runs out right behind the operation."""

    name = "memory error after an operation"
    only_changes = True
    weight = 0.5

    def inject(self, call: Call) -> Any:
        call.effect()
        raise MemoryError
