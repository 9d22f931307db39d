"""The doctor: each check says what is there, and finds what is wrong."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from paimon_sql.errors import SetupError
from paimon_sql.shell.app import app
from paimon_sql.shell.doctor import machine
from paimon_sql.shell.doctor.base import Check, Finding, Place, State
from paimon_sql.shell.doctor.lake import CatalogCheck, ClockCheck, CommitCheck, StoreCheck
from paimon_sql.shell.doctor.machine import DiskCheck, JavaCheck, PySparkCheck, PythonCheck, SparkCheck
from paimon_sql.storage.file_io import FileIO, LocalFileIO
from paimon_sql.storage.file_io.base import FileStatus
from tests.object_stores import BUCKET

OF_THE_LAKE = (CatalogCheck(), StoreCheck(), CommitCheck(), ClockCheck())


def found(check: Check, where: str | Path, options: Mapping[str, str] | None = None) -> list[Finding]:
    """What a check finds in a warehouse, without Spark."""
    return list(check.all_findings(Place(str(where), options or {}, starts_spark=False)))


def states(check: Check, where: str | Path, options: Mapping[str, str] | None = None) -> list[State]:
    """The states of its findings."""
    return [finding.state for finding in found(check, where, options)]


@pytest.mark.parametrize("check", [PythonCheck(), JavaCheck(), PySparkCheck(), DiskCheck(), *OF_THE_LAKE])
def test_nothing_is_wrong_here_and_nothing_stays_behind(check: Check, tmp_path: Path) -> None:
    assert {*states(check, tmp_path / "warehouse")} == {State.OK}
    assert not (tmp_path / "warehouse").exists()
    assert states(SparkCheck(), tmp_path) == [State.SKIPPED]


@pytest.mark.parametrize("check", OF_THE_LAKE)
def test_nothing_is_wrong_with_a_store_that_speaks_s3(check: Check, s3: dict[str, str]) -> None:
    assert {*states(check, f"s3://{BUCKET}/doctor", s3)} == {State.OK}


def test_a_machine_that_lacks_something_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (java,) = found(JavaCheck(), tmp_path)
    assert java.state is State.FAILED and "no bin/java" in java.what and "Install a JDK" in str(java.remedy)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert states(PySparkCheck(), tmp_path) == [State.WARNING, State.OK]
    monkeypatch.setattr(metadata, "requires", lambda _: ["pyarrow>=999.1", "nosuch-package>=1", "x>=1; extra"])
    assert [f.what.partition(" is ")[2] for f in found(PythonCheck(), tmp_path)] == [
        "older than 999.1",
        "not installed",
    ]
    monkeypatch.setattr(machine, "_MIN_FREE_BYTES", 1 << 80)
    assert states(DiskCheck(), tmp_path) == [State.WARNING]


def test_a_catalog_that_does_not_open_is_told(tmp_path: Path) -> None:
    (finding,) = found(CatalogCheck(), tmp_path, {"metastore": "nosuch"})
    assert finding.state is State.FAILED and "not a supported metastore" in finding.what
    (finding,) = found(CatalogCheck(), tmp_path, {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}"})
    assert finding.state is State.FAILED


def test_writers_that_all_win_are_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def overwritten(self: FileIO, path: str, data: bytes, *, locked: bool = False) -> bool:
        self.write_bytes(path, data)
        return True

    monkeypatch.setattr(LocalFileIO, "try_create_exclusive", overwritten)
    rivals, conditions = found(CommitCheck(), tmp_path)
    assert rivals.state is State.FAILED and "8 of 8 writers" in rivals.what and conditions.state is State.OK


def test_conditions_that_are_not_heeded_are_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(LocalFileIO, "replace_if", lambda *_, **__: True)
    assert states(CommitCheck(), tmp_path) == [State.OK, State.FAILED]


def test_a_store_without_exclusive_creation_needs_a_lock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(LocalFileIO, "can_create_exclusively", lambda *_: False)
    (finding,) = found(CommitCheck(), tmp_path)
    assert finding.state is State.FAILED and "lock.enabled" in str(finding.remedy)
    locked = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/c.db", "lock.enabled": "true"}
    (finding,) = found(CommitCheck(), tmp_path, locked)
    assert finding.state is State.OK and "lock decides" in finding.what


def test_a_store_that_lists_late_is_not_consistent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(LocalFileIO, "list", lambda *_: list[FileStatus]())
    (finding,) = found(StoreCheck(), tmp_path)
    assert finding.state is State.FAILED and "is not listed" in finding.what


def test_a_store_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for check in (StoreCheck(), CommitCheck(), ClockCheck()):
        (finding,) = found(check, tmp_path / "file" / "warehouse")
        assert finding.state is State.FAILED


def test_clocks_that_differ_are_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 3600)
    (finding,) = found(ClockCheck(), tmp_path)
    assert finding.state is State.WARNING and "differ by 3" in finding.what


def test_the_command_prints_all_checks_and_fails_with_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def run(*words: str) -> tuple[int, list[dict[str, Any]]]:
        ended = CliRunner().invoke(app, ["doctor", "-w", str(tmp_path / "w"), "--no-spark", "--format", "json", *words])
        return ended.exit_code, [json.loads(line) for line in ended.stdout.splitlines()]

    status, rows = run()
    assert status == 0
    names = ["python", "java", "pyspark", "spark", "disk", "catalog", "store", "commits", "commits", "clock"]
    assert [row["check"] for row in rows] == names
    status, rows = run("--catalog-option", "metastore=nosuch")
    assert status == 1 and [row["state"] for row in rows].count("failed") == 4


def test_a_failure_is_an_error(tmp_path: Path) -> None:
    class Broken(Check):
        name = "broken"

        def findings(self, place: Place) -> Any:
            raise SetupError("It is broken.", remedy="Mend it.")

    assert found(Broken(), tmp_path) == [Finding(State.FAILED, "It is broken.", "Mend it.")]
