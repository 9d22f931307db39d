"""Rivals in separate processes: nobody loses a row, a snapshot that he reads, or a tag that he was given."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.storage.rival_processes import SCENARIOS

PROJECT = Path(__file__).resolve().parents[2]
SECONDS = os.environ.get("PAIMON_TEST_RIVAL_SECONDS", "2")


@pytest.mark.parametrize("name", SCENARIOS)
def test_rivals_do_each_other_no_harm(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-m", "tests.storage.rival_processes", str(tmp_path), name, SECONDS]
    ended = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
