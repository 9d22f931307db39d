"""``CALL sys.mark_partition_done``: announce partitions as complete."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.procedures.base import Context, Long, OfTable, Procedure, Record, column, detail, optional, required
from paimon_sql.procedures.partition_choice import partition_directories
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.maintenance.partitions.mark_done import done_actions, mark_done


class MarkPartitionDone(Procedure):
    """The table's partition.mark-done-action decides how; by default by a file _SUCCESS in the partition."""

    summary = "Announce partitions as complete."
    example = "CALL sys.mark_partition_done(table => 'db.t', partitions => 'dt=2024-01-30;dt=2024-01-31')"

    class Arguments(OfTable, kw_only=True):
        partitions: str = required("The partitions, as 'dt=x,h=1;dt=y,h=2'.")
        dry_run: bool | None = optional(DRY_RUN)

    class Result(Record):
        result: bool = column("always true")
        marked_partitions: Long = detail("number of marked partitions")
        directories: str = detail("their directories, relative to the table's")
        actions: str = detail("the actions that were run for each")
        note: str | None = detail("why nothing was done")

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        table, dry_run = context.table(arguments.table), bool(arguments.dry_run)
        directories = partition_directories(table, arguments.partitions, context.zone)
        actions = done_actions(table)
        if not dry_run:
            mark_done(actions, directories)
        yield self.Result(
            result=True,
            marked_partitions=len(directories),
            directories=", ".join(directories),
            actions=", ".join(action.name for action in actions),
            note=NOTHING_DONE if dry_run else None,
        )
