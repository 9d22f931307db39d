"""Jobs of a session: their label, number and cancellation, in this process or on a Spark Connect server."""

from __future__ import annotations

from abc import ABC, abstractmethod

from pyspark.sql import SparkSession

from paimon_sql.spark.session.remote import is_remote
from paimon_sql.sql.text.secrets import without_secrets

_LABEL_LENGTH = 200


class Jobs(ABC):
    """The jobs of one session.

    Args:
        session: the session.
    """

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    @abstractmethod
    def label(self, statement: str) -> None:
        """Label the jobs that follow with a statement."""

    @abstractmethod
    def cancel(self) -> None:
        """Cancel the running jobs."""

    @abstractmethod
    def count(self) -> tuple[int, int]:
        """The numbers of finished and all tasks in the known stages of the running jobs."""


class EmbeddedJobs(Jobs):
    """Jobs of the Spark of this process."""

    def label(self, statement: str) -> None:
        # With interrupted task threads, Python workers and long scans end at once when jobs are cancelled.
        text = " ".join(without_secrets(statement).split())[:_LABEL_LENGTH]
        self._session.sparkContext.setJobGroup("paimon-sql", text, interruptOnCancel=True)

    def cancel(self) -> None:
        self._session.sparkContext.cancelAllJobs()

    def count(self) -> tuple[int, int]:
        tracker = self._session.sparkContext.statusTracker()
        jobs = map(tracker.getJobInfo, tracker.getActiveJobsIds())
        stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        found = [stage for stage in stages if stage is not None]
        return sum(stage.numCompletedTasks for stage in found), sum(stage.numTasks for stage in found)


class RemoteJobs(Jobs):
    """Jobs of a session of a server, which labels them itself; their progress arrives as registered work."""

    def label(self, statement: str) -> None:
        pass

    def cancel(self) -> None:
        self._session.interruptAll()

    def count(self) -> tuple[int, int]:
        return 0, 0


def jobs_of(session: SparkSession) -> Jobs:
    """The jobs of a session."""
    return RemoteJobs(session) if is_remote(session) else EmbeddedJobs(session)
