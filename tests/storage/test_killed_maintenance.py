"""Commits, compactions, expiries and what is done to tags and branches are killed; real processes, as in a program.

``PAIMON_TEST_KILLS=1`` kills before every change of a file, a greater number at some of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.storage.killed_maintenance import SCENARIOS

PROJECT = Path(__file__).resolve().parents[2]
EVERY = os.environ.get("PAIMON_TEST_KILLS", "13")
NAMES = list(SCENARIOS)


@pytest.mark.parametrize("names", [",".join(NAMES[at::5]) for at in range(5)])
def test_what_was_killed_is_finished_by_the_next_run(tmp_path: Path, names: str) -> None:
    command = [sys.executable, "-m", "tests.storage.killed_maintenance", str(tmp_path), names, EVERY]
    ended = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=1800, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
