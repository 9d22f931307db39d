"""Tasks that still run when their job has failed: Spark tells them to end and goes on, but who cleans up must wait."""

from __future__ import annotations

import time
import uuid
from typing import Any

from paimon_sql.spark.jvm.gateway import Jvm

_LONGEST_WAIT = 10.0
"""Seconds that are waited for tasks that do not end."""
_LONGEST_DELAY = 1.0
"""Seconds that are waited until Spark tells of the job at all."""
_LOOK_EVERY = 0.05
_RUNNING = "RUNNING"


class RunningTasks:
    """The tasks of one write.

    Spark tells of what happens in its order: who hears that a job is over has heard of all tasks that it began.

    Args:
        jvm: the JVM.
    """

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm
        self._tag = f"write {uuid.uuid4()}"

    def begin(self) -> None:
        """Before the job: the jobs of this thread are the write's from now on."""
        self._jvm.context.addJobTag(self._tag)

    def end(self) -> None:
        """After the job: they no longer are."""
        self._jvm.context.removeJobTag(self._tag)

    def wait(self) -> None:
        """Wait until none of the tasks runs, but not for ever."""
        began = time.monotonic()
        while (jobs := self._jobs()) is None or any(map(self._runs, jobs)):
            if time.monotonic() - began > (_LONGEST_DELAY if jobs is None else _LONGEST_WAIT):
                return
            time.sleep(_LOOK_EVERY)

    def _jobs(self) -> list[int] | None:
        """The numbers of the jobs; None as long as Spark has told of none."""
        return list(self._jvm.context._jsc.sc().statusTracker().getJobIdsForTag(self._tag)) or None

    def _runs(self, number: int) -> bool:
        tracker: Any = self._jvm.context.statusTracker()
        job = tracker.getJobInfo(number)
        if job is None:
            return False
        stages = [tracker.getStageInfo(stage) for stage in job.stageIds]
        return job.status == _RUNNING or any(stage.numActiveTasks for stage in stages if stage)
