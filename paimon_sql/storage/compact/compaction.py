"""A compaction that is planned: what it takes, and how it is carried out."""

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
    """A compaction of a table that can be told before it is done.

    Attributes:
        files: the files that change their level or are replaced. Where buckets are postponed, those of buckets that
            waiting rows turn out to belong to come on top.
        run: does it; what is to be committed, seen by nobody until then. On an error no file is left.
    """

    files: Sequence[DataFileMeta]
    run: Callable[[Executor], list[CommitMessage]]


def run_tasks(
    table: Table, executor: Executor, function: Callable[[T], CommitMessage], tasks: Sequence[T]
) -> list[CommitMessage]:
    """What all tasks answer; if one fails or the run is interrupted, nothing is left of the others."""
    return gather(table, executor.map(function, tasks), lambda message: (message,))
