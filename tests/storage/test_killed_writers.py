"""A writer that is killed leaves a table that reads as before, and the next write works: real processes and signals."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.storage.killed_writer import WRITES

PROJECT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("scenario", [*WRITES, "moments", "ddl"])
def test_a_killed_writer_leaves_the_table_as_it_was(tmp_path: Path, scenario: str) -> None:
    command = [sys.executable, "-m", "tests.storage.killed_writer", str(tmp_path), scenario]
    ended = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
