"""The line that is drawn while work takes long."""

from __future__ import annotations

import io
import time
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from paimon_sql.shell.engine import progress
from paimon_sql.shell.engine.progress import ProgressLine
from paimon_sql.storage.execution.task_executor import register_work


def session(done: int, total: int) -> Any:
    tracker = SimpleNamespace(
        getActiveJobsIds=lambda: [4, 5],
        getJobInfo=lambda job: SimpleNamespace(stageIds=[7, 8]) if job == 4 else None,
        getStageInfo=lambda stage: SimpleNamespace(numCompletedTasks=done, numTasks=total) if stage == 7 else None,
    )
    return SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=lambda: tracker))


def console(*, terminal: bool = True) -> Console:
    return Console(file=io.StringIO(), width=120, force_terminal=terminal, color_system=None)


def drawn(on: Console) -> str:
    text = on.file.getvalue()  # type: ignore[attr-defined]
    return str(text)


def test_nothing_is_drawn_for_quick_work_or_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    quick, pipe, silent = console(), console(terminal=False), console()
    ProgressLine(quick).tick(session(1, 2))
    monkeypatch.setattr(progress, "PATIENCE", 0)
    ProgressLine(pipe).tick(session(1, 2))
    ProgressLine(silent, shown=False).tick(session(1, 2))
    assert drawn(quick) == drawn(pipe) == drawn(silent) == ""


def test_a_procedure_counts_its_tasks_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0)
    on = console()
    with ProgressLine(on, idle="working") as waited, register_work("CALL sys.compact t") as work:
        waited.tick(None)
        assert "working" in drawn(on)
        work.expect(3)
        work.advance(2)
        waited.tick(None)
    assert "CALL sys.compact t: 2 of 3 tasks" in drawn(on)


def test_tasks_are_counted_and_the_line_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setattr(progress, "_POLL", 0.01)
    on = console()
    with ProgressLine(on) as waited:
        waited.tick(None)
        assert "starting Spark, 0:00:00" in drawn(on)
        deadline = time.monotonic() + 5
        while "1,001 of 2,000 tasks" not in drawn(on) and time.monotonic() < deadline:
            waited.tick(session(1001, 2000))
            time.sleep(0.02)
    assert "1,001 of 2,000 tasks" in drawn(on)
    assert drawn(on).endswith("\r\x1b[1A\x1b[2K") or drawn(on).rstrip("\n").endswith("\x1b[2K")
