"""Parties that take turns: each runs in a thread of its own, but only one at a time, as the seed says.

A party hands over at its file operations alone, so that a round with the same seed takes the same way again.
"""

from __future__ import annotations

import random
import sys
import threading
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.faults.clock import Clock

_TICK = 0.001
_LONGEST_ROUND = 60.0


class Abandoned(BaseException):
    """The round is over for a party that did not come to an end."""


@dataclass(eq=False)
class Runner:
    """A party's thread.

    Attributes:
        name: the party's name.
        work: what it does.
        skew: by how many seconds its clock is wrong.
        wakes: the time until which it sleeps.
        held: whether a strategy keeps it where it is.
        steps: how many file operations it has come to.
    """

    name: str
    work: Callable[[], None]
    skew: float = 0.0
    wakes: float = 0.0
    held: bool = False
    is_over: bool = False
    steps: int = 0
    phase: str = ""
    priority: float = 0.0
    turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    thread: threading.Thread | None = None


class Strategy(ABC):
    """Chooses who goes on at each file operation.

    Attributes:
        barred: the moments at which no party stands still for long.
    """

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.barred: frozenset[str] = frozenset()

    def begin(self, runners: Sequence[Runner]) -> None:
        """Prepare for a round."""
        return

    def arrive(self, runner: Runner, phase: str) -> None:
        """Note that a party is about to do a file operation; it may be held there."""
        return

    def release(self, held: Sequence[Runner]) -> None:
        """Let parties go on that are held, as nobody else can."""
        for runner in held:
            runner.held = False

    @abstractmethod
    def choose(self, current: Runner | None, ready: Sequence[Runner]) -> Runner:
        """Who is next."""


class Serial(Strategy):
    """One party after the other: faults alone are at work."""

    def choose(self, current: Runner | None, ready: Sequence[Runner]) -> Runner:
        return current if current is not None and current in ready else ready[0]


class RandomWalk(Strategy):
    """Another party now and then."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self._often = chance.choice([0.02, 0.1, 0.3, 0.6])

    def choose(self, current: Runner | None, ready: Sequence[Runner]) -> Runner:
        if current is not None and current in ready and self.chance.random() > self._often:
            return current
        return self.chance.choice(ready)


class Priorities(Strategy):
    """The party of the highest priority, which falls at a few places (PCT, Burckhardt et al. 2010)."""

    _LENGTH = 1500

    def begin(self, runners: Sequence[Runner]) -> None:
        for runner in runners:
            runner.priority = self.chance.random()
        self._changes = {self.chance.randrange(self._LENGTH) for _ in range(self.chance.randint(2, 8))}
        self._count = 0

    def choose(self, current: Runner | None, ready: Sequence[Runner]) -> Runner:
        self._count += 1
        if self._count in self._changes and current is not None:
            current.priority = -self._count
        return max(ready, key=lambda runner: runner.priority)


class Suspensions(RandomWalk):
    """Parties stand still at named phases, one or several at once, until the others have done much or are over."""

    PHASES = (
        *["create snapshot"] * 8,
        "after create snapshot",
        "after create snapshot",
        "after create snapshot",
        "replace hint",
        "after replace hint",
        "write manifest",
        "sync",
        "read snapshot",
        "read schema",
        "list snapshot",
        "list tag",
        "create tag",
        "after create tag",
        "delete data",
        "delete manifest",
        "delete snapshot",
        "after delete snapshot",
        "write data",
        "status snapshot",
        "create schema",
        "rename",
    )

    def begin(self, runners: Sequence[Runner]) -> None:
        self._phases = [phase for phase in self.PHASES if phase not in self.barred]
        self._left = {
            runner: (self.chance.choice(self._phases), self.chance.choice([0, 0, 1, 1, 2, 3, 5, 8]))
            for runner in self.chance.sample(list(runners), min(len(runners), self.chance.choice([1, 1, 2, 2, 3])))
        }
        self._until: dict[Runner, int] = {}
        self._count = 0
        self._again = self.chance.random() < 0.5

    def arrive(self, runner: Runner, phase: str) -> None:
        self._count += 1
        for other in [r for r, end in self._until.items() if end <= self._count]:
            self.release([other])
        wanted = self._left.get(runner)
        if wanted is None or wanted[0] != phase:
            return
        if wanted[1] > 0:
            self._left[runner] = phase, wanted[1] - 1
            return
        del self._left[runner]
        runner.held = True
        self._until[runner] = self._count + self.chance.choice([30, 100, 300, 1000, 10**9, 10**9])

    def release(self, held: Sequence[Runner]) -> None:
        runner = self.chance.choice(held)
        runner.held = False
        self._until.pop(runner, None)
        if self._again:
            self._left[runner] = self.chance.choice(self._phases), self.chance.choice([0, 1, 2])


STRATEGIES: dict[str, tuple[type[Strategy], float]] = {
    "serial": (Serial, 1),
    "random": (RandomWalk, 3),
    "priorities": (Priorities, 3),
    "suspensions": (Suspensions, 5),
}
"""The strategies by name, each with its weight."""


class HangError(Exception):
    """Parties of a round did not come to an end."""


class Schedule:
    """Lets parties take turns.

    Args:
        strategy: chooses who goes on.
        clock: the time; each file operation takes a millisecond of it.
        most_steps: how many file operations all parties may do together before the round counts as hanging.
    """

    def __init__(self, strategy: Strategy, clock: Clock, most_steps: int = 120_000) -> None:
        self.clock = clock
        self.current: Runner | None = None
        self.handovers = 0
        self.steps = 0
        self._strategy = strategy
        self._most_steps = most_steps
        self._runners: list[Runner] = []
        self._done = threading.Semaphore(0)
        self._abandoned = False

    def run(self, runners: Sequence[Runner]) -> None:
        """Let parties work until all are over.

        Raises:
            HangError: some of them do not come to an end.
        """
        self._runners = list(runners)
        self._strategy.begin(runners)
        for runner in runners:
            runner.thread = threading.Thread(target=self._body, args=(runner,), name=runner.name, daemon=True)
            runner.thread.start()
        self._hand_over(None)
        if not self._done.acquire(timeout=_LONGEST_ROUND):
            self._abandoned = True
            stuck = [r for r in self._runners if not r.is_over]
            where = "\n".join(f"{r.name} at {r.phase}:\n{_stack(r)}" for r in stuck)
            raise HangError(f"after {_LONGEST_ROUND} s there are still at work: {where}")
        self.current = None
        for runner in runners:
            assert runner.thread is not None
            runner.thread.join(5)
        if self._abandoned:
            raise HangError(f"more than {self._most_steps} file operations")

    def _body(self, runner: Runner) -> None:
        runner.turn.acquire()
        try:
            runner.work()
        except Abandoned:
            pass
        finally:
            runner.is_over = True
            self._hand_over(runner)

    def step(self, phase: str) -> None:
        """Come to a file operation; others may have their turn first."""
        runner = self.current
        if runner is None or runner.thread is not threading.current_thread():
            return
        self.steps += 1
        runner.steps += 1
        runner.phase = phase
        self.clock.advance(_TICK)
        if self.steps > self._most_steps:
            self._abandoned = True
        if self._abandoned:
            raise Abandoned
        self._strategy.arrive(runner, phase)
        self._hand_over(runner)
        if self._abandoned:
            raise Abandoned

    def sleep(self, seconds: float) -> None:
        """Let a party wait; the others have their turn meanwhile."""
        runner = self.current
        if runner is None or runner.thread is not threading.current_thread():
            return
        runner.wakes = self.clock.elapsed + max(seconds, _TICK)
        self._hand_over(runner)
        if self._abandoned:
            raise Abandoned

    def skew(self) -> float:
        """By how much the clock of the party is wrong whose turn it is."""
        return self.current.skew if self.current is not None else 0.0

    def _hand_over(self, runner: Runner | None) -> None:
        following = self._next(runner)
        if following is None:
            self.current = None
            self._done.release()
            return
        if following is runner:
            return
        self.handovers += 1
        self.current = following
        following.turn.release()
        if runner is not None and not runner.is_over:
            runner.turn.acquire()

    def _next(self, runner: Runner | None) -> Runner | None:
        while True:
            left = [r for r in self._runners if not r.is_over]
            if not left:
                return None
            now = self.clock.elapsed
            free = [r for r in left if not r.held]
            ready = [r for r in free if r.wakes <= now]
            if ready:
                return self._strategy.choose(runner if runner in ready else None, ready)
            if free:
                self.clock.advance(min(r.wakes for r in free) - now)
            else:
                self._strategy.release(left)


def _stack(runner: Runner) -> str:
    frame = sys._current_frames().get(runner.thread.ident or 0) if runner.thread is not None else None
    return "".join(traceback.format_stack(frame)[-12:]) if frame is not None else ""
