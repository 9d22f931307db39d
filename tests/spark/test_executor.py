"""Tasks as a Spark job: what it is called in Spark's UI, and how its tasks are counted."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from paimon_sql.errors import PaimonError
from paimon_sql.spark.execution.executor import FEW_BYTES, SparkExecutor
from paimon_sql.spark.session.bridge import Bridge
from paimon_sql.storage.execution.task_executor import register_work


@dataclass(frozen=True)
class Task:
    number: int
    size: int = FEW_BYTES


def square(task: Task) -> int:
    if task.number == 9:
        raise PaimonError("nine")
    return task.number**2


@pytest.fixture(autouse=True)
def travelling_module() -> Iterator[None]:
    """Workers cannot import this module: what they need of it travels with the task."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def test_jobs_of_watched_work_bear_its_name_and_are_counted(spark: SparkSession) -> None:
    context = spark.sparkContext
    executor = SparkExecutor(Bridge.of(context).jvm)
    known = set(context.statusTracker().getJobIdsForGroup("CALL sys.squares t"))
    with register_work("CALL sys.squares t") as work:
        assert list(executor.watched(work).map(square, [Task(i) for i in range(4)])) == [0, 1, 4, 9]
        assert (work.done, work.total) == (4, 4)
    assert len(set(context.statusTracker().getJobIdsForGroup("CALL sys.squares t")) - known) == 1
    assert context.getLocalProperty("spark.job.description") is None
    assert context.getLocalProperty("spark.jobGroup.id") is None


def test_few_bytes_are_counted_on_the_driver(spark: SparkSession) -> None:
    with register_work("CALL sys.squares t") as work:
        local = SparkExecutor(Bridge.of(spark.sparkContext).jvm).watched(work)
        assert list(local.map(square, [Task(2, 1), Task(3, 1)])) == [4, 9]
        assert (work.done, work.total) == (2, 2)


def test_a_session_keeps_its_own_group_and_an_error_is_told(spark: SparkSession) -> None:
    context: Any = spark.sparkContext
    context.setJobGroup("mine", "what I do")
    try:
        with register_work("CALL sys.squares t") as work, pytest.raises(PaimonError, match="nine"):
            list(SparkExecutor(Bridge.of(context).jvm).watched(work).map(square, [Task(8), Task(9)]))
        assert context.getLocalProperty("spark.job.description") == "what I do"
    finally:
        for key in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
            context.setLocalProperty(key, None)
