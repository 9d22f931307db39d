"""A short run of the fault model with real processes; ``python -m tests.faults --layer processes`` plays on."""

from __future__ import annotations

from tests.faults.coordinator import Run, run
from tests.faults.processes.layer import Processes
from tests.faults.processes.plan import plan_round
from tests.faults.report import details


def test_processes_that_are_killed_suspended_and_interrupted_lose_and_double_no_row() -> None:
    report = run(Run(minutes=10, seed=1, layers=(Processes.name,), rounds=4), quiet=True)
    assert not report.failed, "\n".join(line for one in report.failed for line in details(one))
    assert report.rounds[Processes.name] == 4
    assert report.faults.total() > 10
    assert report.figures[Processes.name, "commits"] > 20


def test_a_seed_makes_the_same_round_again() -> None:
    assert str(plan_round(7)) == str(plan_round(7))
    assert str(plan_round(7)) != str(plan_round(8))
