"""``CALL sys.mark_partition_done``: tell others that partitions are complete."""

from __future__ import annotations

from typing import Any

from paimon_sql.format.schema.types import BigIntType, BooleanType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.partition_choice import named_folders
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.maintenance.partitions.done_actions import done_actions
from paimon_sql.storage.maintenance.partitions.mark_done import mark_done


class MarkPartitionDone(Procedure):
    """How they are told is the table's partition.mark-done-action, by default a file _SUCCESS in the partition."""

    name = "mark_partition_done"
    summary = "Tell others that all rows of some partitions have come."
    arguments = (
        TABLE,
        Argument("partitions", string_type(), "The partitions, as 'dt=x,h=1;dt=y,h=2'.", required=True),
        DRY_RUN,
    )
    results = (result("result", BooleanType(), "always true"),)
    details = (
        result("marked_partitions", BigIntType(), "how many partitions were marked"),
        result("folders", string_type(), "their folders below the table's"),
        result("actions", string_type(), "what was done for each"),
        result("note", string_type(), "why nothing was done"),
    )
    example = "CALL sys.mark_partition_done(table => 'db.t', partitions => 'dt=2024-01-30;dt=2024-01-31')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        table, dry_run = context.table(arguments["table"]), bool(arguments["dry_run"])
        folders = named_folders(table, arguments["partitions"], context.zone)
        actions = done_actions(table)
        if not dry_run:
            mark_done(actions, folders)
        names = ", ".join(action.name for action in actions)
        return [(True, len(folders), ", ".join(folders), names, NOTHING_DONE if dry_run else None)]
