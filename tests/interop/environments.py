"""Environments of other libraries' own, each made once and kept for later runs."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path

from tests.packages import CACHE


def environment(library: str, requirements: Sequence[str]) -> Path:
    """The interpreter of an environment with these requirements.

    Args:
        library: what it is for, named in messages.
        requirements: what pip installs.

    Raises:
        RuntimeError: it cannot be made; the message holds what pip said.
    """
    made_of = "\n".join([*requirements, sys.version, sys.prefix])
    name = f"{library}-{zlib.crc32(made_of.encode()):08x}"
    folder = CACHE / name
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        # Several test processes begin at once: one makes it, the others wait.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _make(library, folder, requirements)
            (folder / "complete").touch()
    return folder / "bin" / "python"


def _make(library: str, folder: Path, requirements: Sequence[str]) -> None:
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *requirements],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(
                f"{library}'s environment, without which interop cannot be tested, could not be made in {folder}: "
                f"`{' '.join(command)}` said:\n{done.stdout}{done.stderr}"
            )
