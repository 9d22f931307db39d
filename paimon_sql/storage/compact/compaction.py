"""Planned compactions: the files that change, and the function that runs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.staged_files import gather
from paimon_sql.storage.table.table import Table

T = TypeVar("T")


@dataclass(frozen=True)
class PlannedCompaction:
    """A compaction of a table that can be reported before it runs.

    Attributes:
        files: the files that change their level or are replaced. With postponed buckets, files of the buckets that get
            postponed rows are added when it runs.
        run: runs it and returns what to commit; on an error its files are deleted.
    """

    files: Sequence[DataFileMeta]
    run: Callable[[Executor], list[CommitMessage]]


def run_tasks(
    table: Table, executor: Executor, function: Callable[[T], CommitMessage], tasks: Sequence[T]
) -> list[CommitMessage]:
    """Run tasks and return their messages; if one fails or the run is interrupted, the files of all are deleted."""
    return gather(table, executor.map(function, tasks), lambda message: (message,))
