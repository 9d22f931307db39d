"""Runs of the model: rounds in several processes, until the time is over."""

from __future__ import annotations

import json
import os
import random
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.faults.layers import LAYERS
from tests.faults.report import Report, Round, details

LONGEST_SILENCE = 300.0
"""Seconds after which a process that says nothing counts as hanging."""
_MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class Run:
    """What is to be played.

    Attributes:
        minutes: for how long.
        seed: the first seed.
        processes: how many processes play rounds at once.
        layers: the layers, each for its share of the time.
        rounds: how many rounds of each layer there are at most.
        mutation: the repair that is taken out, if one is.
        stops: whether the first violation ends the run.
    """

    minutes: float
    seed: int
    processes: int = 1
    layers: tuple[str, ...] = ()
    rounds: int | None = None
    mutation: str | None = None
    stops: bool = False


@contextmanager
def workplace() -> Iterator[Path]:
    """A directory for tables, in memory if there is room."""
    folder = Path(tempfile.mkdtemp(prefix="faults-", dir=_MEMORY if _MEMORY.is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(wanted: Run, *, quiet: bool = False) -> Report:
    """Play rounds; whatever is wrong is printed at once."""
    report = Report()
    layers = [LAYERS[name] for name in wanted.layers or LAYERS]
    whole = sum(layer.share for layer in layers)
    with workplace() as folder:
        for layer in layers:
            seconds = wanted.minutes * 60 * layer.share / whole
            started = time.monotonic()
            for one in _played(wanted, layer.name, seconds, folder):
                report.add(one)
                if one.violations and not quiet:
                    print("\n".join(details(one)), flush=True)
                if one.violations and wanted.stops:
                    break
            report.seconds[layer.name] = time.monotonic() - started
            if report.failed and wanted.stops:
                break
    return report


def _played(wanted: Run, layer: str, seconds: float, folder: Path) -> Iterable[Round]:
    """The rounds of one layer, as its processes play them."""
    children = [_Child(wanted, layer, seconds, folder, number) for number in range(wanted.processes)]
    with selectors.DefaultSelector() as selector:
        for child in children:
            selector.register(child.output, selectors.EVENT_READ, child)
        try:
            while selector.get_map():
                for key, _ in selector.select(timeout=1):
                    one = key.data.read()
                    if one is None:
                        selector.unregister(key.fileobj)
                        if key.data.failure:
                            yield key.data.failure
                    else:
                        yield one
                for child in children:
                    if (hang := child.hangs()) is not None:
                        yield hang
        finally:
            for child in children:
                child.end()


class _Child:
    """A process that plays rounds."""

    def __init__(self, wanted: Run, layer: str, seconds: float, folder: Path, number: int) -> None:
        self._layer = layer
        self._seed = wanted.seed + number
        self.failure: Round | None = None
        arguments = ["--play", layer, "--seed", str(self._seed), "--step", str(wanted.processes)]
        arguments += ["--seconds", str(seconds), "--folder", str(folder)]
        if wanted.rounds is not None:
            arguments += ["--rounds", str(-(-(wanted.rounds - number) // wanted.processes))]
        if wanted.mutation:
            arguments += ["--mutation", wanted.mutation]
        command = [sys.executable, "-m", "tests.faults", *arguments]
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, start_new_session=True)
        assert self._process.stdout is not None
        self.output = self._process.stdout
        self._heard = time.monotonic()

    def read(self) -> Round | None:
        """The next round; None at the end."""
        line = self.output.readline()
        if not line:
            code = self._process.wait()
            if code and self.failure is None:
                self.failure = Round(self._layer, self._seed, violations=[f"the process ended with {code}"])
            return None
        self._heard = time.monotonic()
        one = Round(**json.loads(line))
        self._seed = one.seed + 1
        return one

    def hangs(self) -> Round | None:
        """The round that has taken too long, whose process is ended then."""
        if self._process.poll() is not None or time.monotonic() - self._heard < LONGEST_SILENCE:
            return None
        self._heard = time.monotonic()
        self.failure = Round(self._layer, self._seed, violations=[f"nothing was heard for {LONGEST_SILENCE} s"])
        self._process.kill()
        return None

    def end(self) -> None:
        """End the process, if it is still there."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self.output.close()


def play_rounds(layer: str, seed: int, step: int, seconds: float, rounds: int | None, folder: Path) -> None:
    """Play rounds in this process, and print each of them as one line."""
    until, count, chosen = time.monotonic() + seconds, 0, LAYERS[layer]
    try:
        while (rounds is None or count < rounds) and (time.monotonic() < until or (rounds and not count)):
            one = chosen.play(seed, folder)
            print(json.dumps(one.stored()), flush=True)
            if any(what.startswith("hang") for what in one.violations):
                os._exit(0)  # threads are left behind
            seed, count = seed + step, count + 1
    finally:
        chosen.close()


def new_seed() -> int:
    """A seed that nobody has chosen."""
    return random.SystemRandom().randrange(10**9)
