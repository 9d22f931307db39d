"""One round in one process: parties take turns at file operations, and faults happen to them, all as the seed says."""

from __future__ import annotations

import functools
import io
import logging
import os
import random
import shutil
import traceback
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paimon_sql.errors import CommitUnknownError, PaimonError
from paimon_sql.process import PROCESS
from paimon_sql.storage.execution import threads
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.metadata.catalog_environment import UNLOCKED, TableLock
from paimon_sql.storage.metadata.schemas import SchemaManager
from tests.faults.actions import ACTIONS, Action
from tests.faults.actions.job import Job, Read
from tests.faults.clock import Clock, patched_time
from tests.faults.disk import Disk
from tests.faults.file_system import Driver, FaultyFileIO
from tests.faults.history import MAIN, History, Operation, Outcome
from tests.faults.injected import KINDS as FAULTS
from tests.faults.injected import Call, Fault, Killed, Process
from tests.faults.invariants import check
from tests.faults.leases import LeasedLock, Server
from tests.faults.phases import after, touches_history
from tests.faults.schedule import STRATEGIES, Abandoned, HangError, Runner, Schedule
from tests.faults.tables import KINDS, TableKind, place

_HOT = ("create", "overwrite", "replace", "rename")
_LAST_MOMENTS = frozenset(("create snapshot", "status snapshot", "create tag", "create schema"))
_START = 1_700_000_000.0
_NEEDED = dict.fromkeys(("drop branch", "rename branch", "fast forward"), "branch")
"""What operations need of others to find anything to do."""


@dataclass(frozen=True)
class Plan:
    """What a seed makes of a round.

    Attributes:
        seed: the seed.
        kind: the kind of the table.
        options: options of the table beyond those of its kind.
        strategy: how parties take turns.
        store: ``disk``; ``remote``, whose answers may be lost; ``locked``, which needs the catalog's lock to create.
        fault_rate: how probable a fault is at each file operation.
        faults: the kinds of faults that there are.
        power: whether the power fails after a while.
        skews: by how many seconds the clock of each party is wrong.
        scripts: the names of the operations of each party.
    """

    seed: int
    kind: TableKind
    options: dict[str, str]
    strategy: str
    store: str
    fault_rate: float
    faults: tuple[str, ...]
    power: bool
    skews: tuple[float, ...]
    scripts: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        scripts = "; ".join(", ".join(script) for script in self.scripts)
        power = "with power loss " if self.power else ""
        return (
            f"seed {self.seed}: {self.kind.name} {self.options}, {self.strategy}, {self.store},"
            f" faults {self.fault_rate:.4f} {power}of {', '.join(self.faults) or 'no kind'}; {scripts}"
        )


def plan_round(seed: int, kinds: tuple[str, ...] = (), focus: tuple[str, ...] = ()) -> Plan:
    """What happens in a round.

    Args:
        seed: its seed.
        kinds: the kinds of tables that it may have; all by default.
        focus: the operations that meet in it beside inserts; a few chosen by the seed by default.
    """
    chance = random.Random(seed)
    offered = [KINDS[name] for name in kinds] or list(KINDS.values())
    kind = chance.choices(offered, [k.weight for k in offered])[0]
    names = list(STRATEGIES)
    strategy = chance.choices(names, [STRATEGIES[n][1] for n in names])[0]
    store = chance.choice(["disk", "disk", "remote", "locked"])
    faulty = strategy == "serial" or chance.random() < 0.6
    rate = chance.choice([0.0007, 0.002, 0.006]) if faulty else 0.0
    few = chance.sample(list(FAULTS), chance.randint(1, len(FAULTS))) if faulty else []
    power = store == "disk" and chance.random() < 0.25
    options = {}
    if kind.options.get("write-only") and chance.random() < 0.3:
        options = {"write-only": "false", "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"}
        options["snapshot.time-retained"] = "1 ms"
    if chance.random() < 0.2:
        options["manifest.merge-min-count"] = "2"
    count = chance.choice([2, 2, 3, 3, 4])
    actions = [a for a in ACTIONS.values() if a.fits(kind)]
    # Few kinds of operations in a round meet each other more often.
    favoured = chance.choices(actions, [a.weight for a in actions], k=chance.randint(1, 4))
    if chance.random() < 0.5:
        favoured = chance.sample(actions, chance.randint(1, 4))
    if focus:
        favoured = [action for action in actions if action.name in focus] or favoured
    favoured += [ACTIONS[needed] for action in favoured if (needed := _NEEDED.get(action.name))]
    writer = ACTIONS["insert"]
    scripts = []
    for _ in range(count):
        pool = [writer, *(actions if chance.random() < 0.3 else favoured)]
        weights = [a.weight**0.5 for a in pool]
        length = chance.randint(1, 6)
        scripts.append(tuple(a.name for a in chance.choices(pool, weights, k=length)))
    skews = tuple(chance.choice([0.0, 0.0, -5400.0, 3600.0, 7 * 3600.0, 0.4]) for _ in range(count))
    return Plan(seed, kind, options, strategy, store, rate, tuple(sorted(few)), power, skews, tuple(scripts))


@dataclass
class Result:
    """What happened in a round.

    Attributes:
        plan: the round.
        violations: what must not be.
        operations: how many operations there were, by name and outcome.
        faults: how many faults were injected, by name.
        steps: how many file operations there were.
        handovers: how often another party went on.
        commits: how many snapshots were made.
        late_arrivals: 1 if it is not judged, as a dead writer's snapshot came into another table of that name.
        log: what happened to the history.
    """

    plan: Plan
    violations: list[str] = field(default_factory=list)
    operations: Counter[tuple[str, str]] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    steps: int = 0
    handovers: int = 0
    commits: int = 0
    reads: int = 0
    late_arrivals: int = 0
    log: list[str] = field(default_factory=list)


class PowerFailed(BaseException):
    """The machine has stopped."""


class World(Driver):
    """A table, its parties, and all that goes wrong in a round.

    Args:
        plan: the round.
        folder: an empty directory for it.
    """

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan = plan
        self.final = plan.store == "disk"
        self.exclusive = plan.store != "locked"
        self.path = place(folder)
        self.chance = random.Random(plan.seed + 1)
        self.clock = Clock(_START)
        strategy = STRATEGIES[plan.strategy][0](random.Random(plan.seed + 2))
        if plan.store == "locked":
            # Nothing helps a holder of a lock that stands still between asking for it once more and writing.
            strategy.barred = _LAST_MOMENTS
        self.schedule = Schedule(strategy, self.clock)
        self.history = History(self.path, plan.kind.empty())
        self.result = Result(plan)
        self.disk = Disk(folder, folder.parent / f"{folder.name}-safe") if plan.power else None
        self.processes: list[Process] = []
        self.reads: list[tuple[Operation, Read]] = []
        self.shared: dict[str, Any] = {"clocks agree": all(abs(skew) < 30 for skew in plan.skews)}
        self.power_at = 10**9
        server = Server(self.clock, self.schedule, random.Random(plan.seed + 4), stalls=0.1)
        self.lock: TableLock = UNLOCKED if self.exclusive else LeasedLock(server)
        self._late: list[tuple[int, Operation | None, Callable[[], Any]]] = []

    # The file system asks.

    def before(self, call: Call) -> Fault | None:
        self.schedule.step(call.phase)
        self._arrive_late()
        if self.schedule.steps > self.power_at:
            for process in self.processes:
                process.is_dead = True
        if call.process.is_dead or not self.plan.faults:
            return None
        hot = 8 if call.operation in _HOT and call.changes else 1
        if self.chance.random() > self.plan.fault_rate * hot:
            return None
        fitting = [f for n in self.plan.faults if (f := FAULTS[n]).fits(call, final=self.final)]
        if not fitting:
            return None
        fault = self.chance.choices(fitting, [f.weight for f in fitting])[0]
        self.result.faults[fault.name] += 1
        if fault.is_late:
            self.history.late.add(call.token)
        if call.phase.startswith("delete"):
            self.history.hindered.add(call.token)
        self.history.log.append(
            f"{self.history.changes}: {call.process.token}: {fault.name} at {call.phase} {call.path[-40:]}"
        )
        return fault

    def done(self, call: Call) -> None:
        if "/tag/" in call.path:
            self.history.tagged_by[call.path] = call.token
        if touches_history(call.path):
            self.history.observe(self.history.operations.get(call.token))
        if self.disk is not None and call.operation in ("delete", "remove"):
            self.disk.forget(call.path)

    def after(self, call: Call) -> None:
        self.schedule.step(after(call.phase))

    def later(self, effect: Callable[[], Any]) -> None:
        when = self.schedule.steps + self.chance.choice([5, 50, 300, 2000])
        self._late.append((when, None, effect))

    def _arrive_late(self, *, everything: bool = False) -> None:
        due = [one for one in self._late if everything or one[0] <= self.schedule.steps]
        self._late = [one for one in self._late if one not in due]
        for _, _, effect in due:
            try:
                effect()
            except (PaimonError, OSError):
                continue

    # The round.

    def play(self) -> Result:
        """Play the round and judge it."""
        self._make_table()
        with ExitStack() as stack:
            stack.enter_context(self._patched())
            if self.disk is not None:
                stack.enter_context(self.disk.watched())
                self.disk.settle()
            try:
                self._run(self.plan.scripts)
                if self.disk is not None:
                    self._lose_power()
            except HangError as error:
                self.result.violations.append(f"hang: {error}")
                self._finish()
                return self.result
            self._arrive_late(everything=True)
            self.clock.advance(10)
            for operation in self.history.operations.values():
                if operation.outcome is Outcome.RUNNING:
                    operation.outcome = Outcome.UNKNOWN
            self.result.violations += check(self)
        self._finish()
        return self.result

    def _finish(self) -> None:
        self.result.violations = [*self.history.violations, *self.result.violations]
        if self.result.violations and self.history.has_late_arrivals:
            self.result.late_arrivals, self.result.violations = 1, []
        self.result.steps = self.schedule.steps
        self.result.handovers = self.schedule.handovers
        self.result.commits = len(self.history.snaps)
        self.result.log = self.history.log
        for operation in self.history.operations.values():
            self.result.operations[operation.name, operation.outcome.value] += 1

    def _make_table(self) -> None:
        more = self.plan.options
        schema = self.plan.kind.schema(int(_START * 1000), more)
        assert SchemaManager(LocalFileIO(), str(self.path)).try_add(schema)

    def _run(self, scripts: tuple[tuple[str, ...], ...], first: int = 0) -> None:
        if self.disk is not None:
            self.power_at = self.chance.choice([200, 500, 1000, 2000])
        runners = []
        for party, script in enumerate(scripts):
            work = self._party(party, script, first)
            runners.append(Runner(f"party {party}", work, self.plan.skews[party]))
        self.schedule.run(runners)

    def _lose_power(self) -> None:
        """Let the power fail, and others go on with what is left."""
        assert self.disk is not None
        self.result.faults["power loss"] += 1
        self.power_at = 10**9
        for operation in self.history.operations.values():
            if operation.outcome is Outcome.RUNNING:
                operation.outcome = Outcome.UNKNOWN
        how = self.disk.fail(self.chance)
        self.history.log.append(f"{self.history.changes}: power loss ({how})")
        self.history.observe(None)
        self.disk = None
        scripts = tuple(script[:2] for script in self.plan.scripts)
        self._run(scripts, first=100)

    def _party(self, party: int, script: tuple[str, ...], first: int) -> Callable[[], None]:
        def work() -> None:
            process = self._process(party)
            for number, name in enumerate(script, first):
                if self.schedule.steps > self.power_at:
                    return
                if process.is_dead:
                    process = self._process(party)
                self._carry_out(process, party, number, ACTIONS[name])

        return work

    def _process(self, party: int) -> Process:
        process = Process(f"party {party}")
        self.processes.append(process)
        return process

    def _carry_out(self, process: Process, party: int, number: int, action: Action) -> None:
        chance = random.Random(f"{self.plan.seed} {party} {number}")
        branch = MAIN
        if self.chance.random() < 0.2 and len(self.history.branches) > 1:
            branch = chance.choice(self.history.branches)
        token = f"p{party}n{number}"
        operation = Operation(token, process.party, action.name, action.role, branch)
        operation.seen = self.history.seen_now(branch)
        operation.identity = self.history.identity()
        self.history.begin(operation)
        process.token, process.operation = token, action.name
        file_io = FaultyFileIO(self, process)
        job = Job(
            self.plan.kind,
            self.path,
            file_io,
            chance,
            operation,
            self.history,
            number,
            party,
            len(self.plan.scripts),
            self.plan.options,
            self.lock,
            self.shared,
        )
        if chance.random() < 0.5:
            forget_caches()
        self.history.log.append(f"{self.history.changes}: {token} begins {action.name} on {branch}")
        try:
            action.run(job)
            operation.outcome = Outcome.ACKNOWLEDGED
        except CommitUnknownError as error:
            operation.outcome, operation.error = Outcome.UNKNOWN, str(error)
        except PaimonError as error:
            operation.outcome, operation.error = Outcome.REFUSED, f"{type(error).__name__}: {error}"
        except (KeyboardInterrupt, MemoryError, Killed) as error:
            operation.outcome, operation.error = Outcome.UNKNOWN, type(error).__name__
        except Abandoned:
            raise
        except BaseException:
            operation.outcome = Outcome.UNKNOWN
            operation.error = traceback.format_exc()
            self.result.violations.append(f"{token} {action.name} raised what is no PaimonError: {operation.error}")
        operation.ended = self.history.changes
        said = operation.error.partition("\n")[0]
        self.history.log.append(f"{self.history.changes}: {token} {operation.outcome.value} {said}")
        if operation.outcome is Outcome.ACKNOWLEDGED:
            self.reads += [(operation, read) for read in job.reads]

    @contextmanager
    def _patched(self) -> Iterator[None]:
        names = random.Random(self.plan.seed + 3)
        random.seed(self.plan.seed)
        executor = threads.ThreadPoolExecutor  # type: ignore[attr-defined]
        before = uuid.uuid4, executor, functools.cached_property.__get__
        uuid.uuid4 = lambda: uuid.UUID(int=names.getrandbits(128), version=4)
        threads.ThreadPoolExecutor = _Serial  # type: ignore[attr-defined,assignment]
        functools.cached_property.__get__ = _get_unlocked  # type: ignore[method-assign]
        clock, schedule = self.clock, self.schedule
        log = logging.getLogger("paimon_sql")
        disabled, log.disabled = log.disabled, True
        level = logging.root.manager.disable
        logging.disable(logging.CRITICAL)
        forget_caches()
        try:
            with patched_time(lambda: clock.now(schedule.skew()), lambda: clock.elapsed, schedule.sleep):
                yield
        finally:
            uuid.uuid4, threads.ThreadPoolExecutor, functools.cached_property.__get__ = before  # type: ignore
            log.disabled = disabled
            logging.disable(level)


def _get_unlocked(self: Any, instance: Any, owner: Any = None) -> Any:
    """A cached property without the lock that Python before 3.12 holds: it would keep parties apart."""
    if instance is None:
        return self
    cache = instance.__dict__
    if self.attrname not in cache:
        cache[self.attrname] = self.func(instance)
    return cache[self.attrname]


class _Serial:
    """A pool of threads that does everything at once, in the caller's."""

    def __init__(self, *_: Any, **__: Any) -> None:
        return

    def __enter__(self) -> _Serial:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def map(self, function: Callable[[Any], Any], items: Any) -> list[Any]:
        return [function(item) for item in items]


def forget_caches() -> None:
    """Forget what this process holds in memory, as another process never had it."""
    PROCESS.clear_caches()


def play(seed: int, folder: Path, kinds: tuple[str, ...] = (), focus: tuple[str, ...] = ()) -> Result:
    """Play the round of a seed in a directory of its own, which is removed again; the arguments are those of a plan."""
    plan = plan_round(seed, kinds, focus)
    own = folder / f"round-{os.getpid()}-{seed}"
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir(parents=True)
    try:
        return World(plan, own).play()
    except Exception:
        result = Result(plan)
        stream = io.StringIO()
        traceback.print_exc(file=stream)
        result.violations.append(f"the model failed: {stream.getvalue()}")
        return result
    finally:
        shutil.rmtree(own, ignore_errors=True)
        shutil.rmtree(folder / f"{own.name}-safe", ignore_errors=True)
