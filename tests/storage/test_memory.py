"""Tables five times bigger than the memory given: loaded, read, compacted and read again within it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.selection import in_turns

PROJECT = Path(__file__).resolve().parents[2]
BUDGETS = {"parquet": 70_000_000, "append": 42_000_000, "orc": 76_000_000, "avro": 42_000_000}
_PLAIN_ALLOCATORS = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "131072"}
"""What is measured is what the work holds, not what an allocator keeps in reserve."""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak is read from Linux's /proc")
@pytest.mark.parametrize(("scenario", "budget"), in_turns([*BUDGETS.items()], 0, 2))
def test_memory_is_bounded_by_options_and_not_by_the_size_of_the_table(
    tmp_path: Path, scenario: str, budget: int
) -> None:
    command = [sys.executable, "-m", "tests.storage.bounded_memory", str(tmp_path), scenario, str(budget)]
    environment = os.environ | _PLAIN_ALLOCATORS
    ended = subprocess.run(
        command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    peaks = json.loads(ended.stdout)
    assert peaks.pop("size") >= 5 * budget
    assert max(peaks.values()) < budget, peaks
