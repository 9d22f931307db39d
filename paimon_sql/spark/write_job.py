"""The rows of a write: a few are written on the driver at once, many by workers that each own their buckets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from paimon_sql.format.manifest import ManifestEntry
from paimon_sql.format.snapshot import BATCH_COMMIT_IDENTIFIER, Snapshot
from paimon_sql.format.special_fields import VALUE_KIND
from paimon_sql.spark.arrow_batches import unmeasured_batches
from paimon_sql.spark.compat import local_batches
from paimon_sql.spark.executor import SparkExecutor
from paimon_sql.spark.java import Jvm
from paimon_sql.spark.owners import in_ranges, owned
from paimon_sql.spark.shares import shared_out
from paimon_sql.spark.small_plans import fits_one_task
from paimon_sql.storage.blob_columns import has_blobs
from paimon_sql.storage.commit.all_or_nothing import discarding
from paimon_sql.storage.commit.committer import Committer
from paimon_sql.storage.commit.messages import CommitMessage
from paimon_sql.storage.commit.overwrite import Overwrite, overwritten
from paimon_sql.storage.compact.run import compact_due
from paimon_sql.storage.table import Table
from paimon_sql.storage.write.task import plan_write
from paimon_sql.storage.write.write_task import WriteTask

_LOCAL = "org.apache.spark.sql.catalyst.plans.logical.LocalRelation"


@dataclass(frozen=True)
class Written:
    """What a write has done: how many rows stand in new files, and the newest snapshot it made; None without any."""

    rows: int
    snapshot: Snapshot | None


def run_write(
    jvm: Jvm,
    table: Table,
    frame: DataFrame,
    overwrite: Overwrite | None,
    committer: Committer | None = None,
    guard: Callable[[Snapshot | None], None] | None = None,
) -> Written:
    """Write the rows of a statement and commit them.

    Args:
        jvm: the JVM.
        table: the table.
        frame: the rows, with the table's columns by position.
        overwrite: what they replace; None appends.
        committer: commits them; a new one by default.
        guard: raises a conflict if the rows must not be put on that snapshot.
    """
    task = plan_write(table, overwrite)
    messages = write_rows(jvm, task, frame)
    snapshot = commit_write(jvm, task, messages, overwrite, committer, guard=guard)
    return Written(sum(f.row_count for m in messages for f in m.new_files), snapshot)


def commit_write(
    jvm: Jvm,
    task: WriteTask,
    messages: Sequence[CommitMessage],
    overwrite: Overwrite | None,
    committer: Committer | None = None,
    identifier: int = BATCH_COMMIT_IDENTIFIER,
    guard: Callable[[Snapshot | None], None] | None = None,
) -> Snapshot | None:
    """Make written rows visible, with the compactions that they make due; the newest snapshot of it, None without any.

    Args:
        jvm: the JVM.
        task: what wrote them.
        messages: what was written.
        overwrite: what they replace; None appends.
        committer: commits them, and no messages before; a new one by default.
        identifier: the writer's number of the commit.
        guard: raises a conflict if the rows must not be put on that snapshot.
    """
    table = task.table
    with discarding(table, messages):
        compacted = compact_due(table, messages, SparkExecutor(jvm), alone=overwrite is not None)
    committer = committer or Committer(table, fresh=True)
    own_guard = task.guard(messages)

    def guarded(latest: Snapshot | None) -> None:
        for check in (own_guard, guard):
            if check is not None:
                check(latest)

    def removed(latest: Snapshot | None) -> list[ManifestEntry]:
        if guard is not None:
            guard(latest)
        return overwritten(table, latest, overwrite or Overwrite(), messages)

    if overwrite is not None:
        return committer.overwrite([*messages, *compacted], removed, identifier)
    made = committer.append([*messages, *compacted], identifier, guard=guarded)
    return made[-1] if made else None


def write_rows(jvm: Jvm, task: WriteTask, frame: DataFrame) -> list[CommitMessage]:
    """Write rows into files that nobody sees yet; the messages that make them visible.

    The rows have the table's columns by position, those of a keyed table perhaps their kind behind them.
    """
    plan = frame._jdf.queryExecution().optimizedPlan()
    if plan.getClass().getName() == _LOCAL:
        return task.run(local_batches(jvm, plan))
    names = [*task.table.schema.names, VALUE_KIND.name]
    named = frame.toDF(*names[: len(frame.columns)])
    alone = task.grows_with_rows and fits_one_task(jvm, plan)
    with unmeasured_batches(frame, blobs=has_blobs(task.table.schema.fields)):
        writer, rows = (task, named.coalesce(1)) if alone else owned(task, in_ranges(task, named))
        shares = shared_out(task.table, rows, writer.run, lambda messages: messages)
    return list(task.settled([message for share in shares for message in share], SparkExecutor(jvm)))
