"""The benchmark runs as one command and keeps what it found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of one small run."""
    folder = tmp_path_factory.mktemp("bench")
    command = [sys.executable, "-m", "bench", "--rows", "2000", "--engines", "paimon,before,parquet"]
    folders = ["--data", str(folder / "data"), "--scratch", str(folder), "--out", str(folder / "out")]
    works = ["--works", "scan,upsert", "--repetitions", "1", "--before", str(PROJECT)]
    done = subprocess.run([*command, *works, *folders], cwd=PROJECT, env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(folder.glob("paimon-sql-bench-*")) == []
    return folder / "out"


@pytest.fixture(scope="module")
def contestants(out: Path) -> dict[str, Any]:
    """What each engine reached."""
    results = json.loads((out / "results.json").read_text())
    assert results["disagreements"] == []
    return {found["engine"]: found for found in results["contestants"]}


def test_the_engines_do_the_works_and_what_they_need(contestants: dict[str, Any]) -> None:
    assert list(contestants["before"]["works"]) == ["insert", "scan", "load", "upsert"]
    assert list(contestants["paimon"]["works"]) == ["insert", "scan", "load", "upsert"]
    assert list(contestants["parquet"]["works"]) == ["insert", "scan"]


def test_upserts_are_measured_against_the_bulk_insert_of_parquet(contestants: dict[str, Any]) -> None:
    upsert = contestants["paimon"]["works"]["upsert"]
    assert len(upsert["samples"]) == 10
    assert upsert["ratio"] == pytest.approx(upsert["seconds"] / contestants["parquet"]["works"]["insert"]["seconds"])


def test_memory_counts_the_jvm(contestants: dict[str, Any]) -> None:
    if Path("/proc/stat").exists():
        assert contestants["parquet"]["peak_memory"] > 200 * 2**20


def test_the_table_has_a_row_for_each_work(out: Path) -> None:
    text = (out / "table.md").read_text()
    assert "| ten upserts of 5 %, write-only |" in text
    assert "failed" not in text


def test_the_cost_of_expiry_grows_with_the_range_alone(tmp_path: Path) -> None:
    arguments = ["--snapshots", "10", "--files", "40", "--folder", str(tmp_path)]
    command = [sys.executable, "-m", "bench.expire_many", *arguments]
    done = subprocess.run(command, cwd=PROJECT, env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(f"[{done.stdout.replace('}' + chr(10) + '{', '},{')}]")
    assert [table["snapshots"] for table in found] == [10] * 4
    assert [table["data files"] for table in found] == [36, 36, 0, 0]
    reads = [table["operations"]["read manifest"] for table in found]
    assert reads[0] == reads[1] and reads[2] == reads[3]
    assert list(tmp_path.iterdir()) == []
