"""An engine in a process of its own, seen from outside."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from bench.engines import BEFORE
from bench.settings import Settings
from bench.watch import Observation, Watch

_PROJECT = Path(__file__).resolve().parents[1]
_MISSING_JAR = re.compile(r"unresolved dependency: ([^\s]+?):? ", re.IGNORECASE)
_PATIENCE = 30


class EngineError(Exception):
    """An engine could not start, or could not do a work; the message is one line."""


def _only_package(settings: Settings) -> str:
    """A folder that leads to the other version's package, and to none of its benchmark."""
    folder = settings.scratch / "other version"
    folder.mkdir(parents=True)
    (folder / "paimon_sql").symlink_to(Path(settings.before, "paimon_sql").absolute())
    return str(folder)


class EngineProcess:
    """A Spark session with one engine, driven work by work.

    It starts while the caller goes on; `wait_until_ready` comes before the first work.

    Args:
        name: the engine.
        python: the interpreter of the environment that it runs in.
        settings: the sizes of the run.
        log: where all that it says goes.
    """

    def __init__(self, name: str, python: Path, settings: Settings, log: Path) -> None:
        self._log = log
        settings.scratch.mkdir(parents=True, exist_ok=True)
        environment = os.environ | {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python), "TZ": "UTC"}
        paths = [_only_package(settings) if name == BEFORE else "", str(_PROJECT), environment.get("PYTHONPATH")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        with log.open("w") as stream:
            self._process = subprocess.Popen(
                [str(python), "-m", "bench.worker", name, settings.to_json()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
                text=True,
                cwd=settings.scratch,
                env=environment,
            )
        self.version = ""
        self.changes = False
        self.kinds: tuple[str, ...] = ()

    def wait_until_ready(self) -> None:
        """Wait for it; then it is known what it is.

        Raises:
            EngineError: it did not start.
        """
        try:
            hello = self._receive()
        except EngineError:
            self.stop()
            raise
        self.version = hello["version"]
        self.changes = hello["changes"]
        self.kinds = ("", *hello["kinds"])

    def warm_up(self, work: str) -> None:
        """Let it do something like the work, unmeasured."""
        self._ask(work=work, warm_up=True)

    def sample(self, work: str, repetition: int) -> tuple[dict[str, Any], Observation]:
        """One measurement of a work.

        Raises:
            EngineError: the engine could not do it.
        """
        with Watch(self._process.pid) as watch:
            sample = self._ask(work=work, warm_up=False, repetition=repetition)
        return sample, watch.seen

    def stop(self) -> None:
        """End it."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _ask(self, **task: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(task) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise EngineError(self._last_words()) from None
        return self._receive()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise EngineError(self._last_words())
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            missing = _MISSING_JAR.search(self._log.read_text(errors="replace"))
            raise EngineError(f"the jar {missing[1]} cannot be downloaded" if missing else answer["error"])
        return answer

    def _last_words(self) -> str:
        lines = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        return lines[-1].strip() if lines else "its process ended"
