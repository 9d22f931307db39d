"""Judges a round of processes by its journal and by what has become of its table."""

from __future__ import annotations

import io
import json
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from tests.faults.actions.job import Read
from tests.faults.history import NOT_JUDGED, Operation
from tests.faults.invariants import check
from tests.faults.processes.journal import Journal
from tests.faults.processes.plan import Plan
from tests.faults.processes.recorded import RecordedHistory
from tests.faults.tables import place
from tests.faults.world import World


@dataclass
class _Figures:
    reads: int = 0


@dataclass
class Judged:
    """A round that is over, as the checks of `invariants` see it."""

    plan: Plan
    path: Path
    history: RecordedHistory
    reads: list[tuple[Operation, Read]]
    shared: dict[str, Any]
    result: _Figures = field(default_factory=_Figures)


def judge(plan: Plan, folder: Path, history: RecordedHistory | None = None) -> dict[str, Any]:
    """What happened in a round, and what is wrong: parts of a `Round`.

    Args:
        plan: the round.
        folder: its directory.
        history: takes in the records; a new history of the round's kind of table by default.
    """
    path = place(folder)
    history = history or RecordedHistory(path, plan.kind.empty())
    judged = Judged(plan, path, history, history.reads, {"sure": history.sure})
    try:
        history.replay(Journal(folder, path).events())
        found = check(cast(World, judged))
    except Exception:
        stream = io.StringIO()
        traceback.print_exc(file=stream)
        found = [f"the model failed: {stream.getvalue()}"]
    operations = Counter(f"{o.name}:{o.outcome.value}" for o in history.operations.values())
    figures = {
        "file operations": history.file_operations,
        "commits": len(history.snaps),
        "reads": judged.result.reads,
    }
    violations = [*history.violations, *found]
    if violations and history.has_late_arrivals:
        figures[NOT_JUDGED], violations = 1, []
    return {
        "violations": violations,
        "operations": operations,
        "faults": history.faults,
        "figures": figures,
        "log": history.log,
    }


def verdict_file(folder: Path) -> Path:
    """Where the judge, who has a process of their own, leaves the verdict."""
    return folder / "verdict"


def write_verdict(folder: Path, verdict: dict[str, Any]) -> None:
    """Leave the verdict for the host."""
    verdict_file(folder).write_text(json.dumps(verdict))
