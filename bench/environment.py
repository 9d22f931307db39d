"""The Python environments: ours is the one that runs, the others are made once beside this file."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from bench.engines import OURS
from bench.process import EngineError

_HERE = Path(__file__).resolve().parent
_HOMES = _HERE


def python_of(environment: str) -> Path:
    """The interpreter of an environment, which is made unless it is there.

    Raises:
        EngineError: it cannot be made.
    """
    return Path(sys.executable) if environment == OURS else _made(environment)


def _made(environment: str) -> Path:
    requirements = _HERE / f"{environment}.txt"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    key = hashlib.sha256(f"{version} {requirements.read_text()}".encode()).hexdigest()[:8]
    home = _HOMES / f".env-{key}"
    python = home / "bin" / "python"
    whole = home / "complete"
    if whole.exists():
        return python
    shutil.rmtree(home, ignore_errors=True)
    print(f"Creating the environment of {requirements.name}; downloads Spark once, about 400 MB.", flush=True)
    _run(sys.executable, "-m", "venv", str(home))
    _run(str(python), "-m", "pip", "install", "--quiet", "-r", str(requirements))
    whole.touch()
    return python


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["no output"]
        raise EngineError(f"the environment cannot be created: {said[-1].strip()}")
