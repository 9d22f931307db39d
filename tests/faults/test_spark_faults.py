"""A short run of the fault model through Spark; ``python -m tests.faults --layer spark`` plays on."""

from __future__ import annotations

from tests.faults.coordinator import Run, run
from tests.faults.report import details
from tests.faults.spark.layer import WithSpark


def test_sparks_whose_drivers_and_tasks_fail_lose_and_double_no_row() -> None:
    report = run(Run(minutes=3, seed=1, layers=(WithSpark.name,), rounds=1), quiet=True)
    assert not report.failed, "\n".join(line for one in report.failed for line in details(one))
    assert report.rounds[WithSpark.name] == 1
    assert report.figures[WithSpark.name, "commits"] > 5
