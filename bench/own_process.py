"""Measurements in a process of their own, which has neither read nor compiled anything before."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


def answer_of(
    module: str, *arguments: object, python: Path = Path(sys.executable), environment: Mapping[str, str] | None = None
) -> str:
    """Run a program of the bench in a process of its own; return the last line that it prints.

    Args:
        module: the program, as of ``python -m``.
        arguments: its arguments.
        python: the interpreter.
        environment: its environment variables; by default those of this process.

    Raises:
        CalledProcessError: it failed; what it said went to standard error.
    """
    command = [str(python), "-m", module, *map(str, arguments)]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    return said.splitlines()[-1]
