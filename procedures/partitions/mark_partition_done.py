"""``CALL sys.mark_partition_done``: announce partitions as complete."""

from __future__ import annotations

from paimon_sql.procedures.base import Context, Done, Long, Noted, OfTable, Procedure, detail, required
from paimon_sql.procedures.partition_choice import partition_directories
from paimon_sql.storage.maintenance.partitions.mark_done import done_actions, mark_done


class MarkPartitionDone(Procedure):
    """The table's partition.mark-done-action decides how; by default by a file _SUCCESS in the partition."""

    summary = "Announce partitions as complete."
    example = "CALL sys.mark_partition_done(table => 'db.t', partitions => 'dt=2024-01-30;dt=2024-01-31')"

    class Arguments(OfTable, kw_only=True):
        partitions: str = required("The partitions, as 'dt=x,h=1;dt=y,h=2'.")

    class Result(Done, Noted, kw_only=True):
        marked_partitions: Long = detail("number of marked partitions")
        directories: str = detail("their directories, relative to the table's")
        actions: str = detail("the actions that were run for each")

    def call(self, context: Context, arguments: Arguments) -> Result:
        table = context.table(arguments.table)
        directories = partition_directories(table, arguments.partitions, context.zone)
        actions = done_actions(table)
        if not arguments.dry_run:
            mark_done(actions, directories)
        return self.Result(
            marked_partitions=len(directories),
            directories=", ".join(directories),
            actions=", ".join(action.name for action in actions),
        )
