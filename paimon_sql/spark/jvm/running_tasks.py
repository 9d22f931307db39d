"""Running tasks of a failed job: Spark only requests their end, but their files may be deleted only after it."""

from __future__ import annotations

import time
import uuid
from typing import Any

from paimon_sql.spark.jvm.gateway import Jvm

_MAX_WAIT = 10.0
"""Seconds to wait for tasks that do not end."""
_MAX_DELAY = 1.0
"""Seconds to wait until Spark reports the job at all."""
_POLL_INTERVAL = 0.05
_RUNNING = "RUNNING"


class RunningTasks:
    """The tasks of one write.

    Spark reports events in their order: when the end of a job is reported, so are all tasks that it started.

    Args:
        jvm: the JVM.
    """

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm
        self._tag = f"write {uuid.uuid4()}"

    def begin(self) -> None:
        """Tag the jobs that this thread starts from now on."""
        self._jvm.context.addJobTag(self._tag)

    def end(self) -> None:
        """Stop tagging, after the job."""
        self._jvm.context.removeJobTag(self._tag)

    def wait(self) -> None:
        """Wait until none of the tasks runs, at most some seconds."""
        began = time.monotonic()
        while (jobs := self._jobs()) is None or any(map(self._runs, jobs)):
            if time.monotonic() - began > (_MAX_DELAY if jobs is None else _MAX_WAIT):
                return
            time.sleep(_POLL_INTERVAL)

    def _jobs(self) -> list[int] | None:
        """The ids of the jobs; None until Spark has reported one."""
        return list(self._jvm.context._jsc.sc().statusTracker().getJobIdsForTag(self._tag)) or None

    def _runs(self, number: int) -> bool:
        tracker: Any = self._jvm.context.statusTracker()
        job = tracker.getJobInfo(number)
        if job is None:
            return False
        stages = [tracker.getStageInfo(stage) for stage in job.stageIds]
        return job.status == _RUNNING or any(stage.numActiveTasks for stage in stages if stage)
