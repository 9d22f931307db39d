"""``CALL sys.reassign_row_id``: make row ids contiguous within each partition."""

from __future__ import annotations

from paimon_sql.errors import InvalidInputError
from paimon_sql.procedures.base import Committed, Context, Long, OfTable, Procedure, column, detail, optional
from paimon_sql.procedures.partition_choice import PARTITIONS, chosen_partitions
from paimon_sql.procedures.values import NOTHING_DONE
from paimon_sql.storage.data_files.file_groups import check_data_evolution
from paimon_sql.storage.operations.row_id_reassignment import Reassignment, RowIdReassigner


class ReassignRowId(Procedure):
    """For partitions that were written alternately. No data file is changed."""

    summary = "Reassign row ids, so that those of each partition are contiguous."
    example = "CALL sys.reassign_row_id(table => 'db.t', partitions => 'dt=2024-01-01')"

    class Arguments(OfTable, kw_only=True):
        partitions: str | None = optional(PARTITIONS)

    class Result(Committed, kw_only=True):
        result: str = column("what was done, or why nothing was")
        partitions: Long = detail("partitions with reassigned row ids")
        files: Long = detail("files with these rows")
        rows: Long = detail("number of these rows, including deleted ones")
        next_row_id: Long | None = detail("the next free row id")

    def call(self, context: Context, arguments: Arguments) -> Result:
        table = context.table(arguments.table)
        check_data_evolution(table, "reassigning row ids")
        snapshot = table.snapshots.latest()
        if snapshot is None:
            raise InvalidInputError(f"{table.name} is empty and has no row ids.")
        chosen = chosen_partitions(table, arguments.partitions, None, context.zone)
        committed, plan, note = None, None, "the table has no partitions"
        if table.schema.partition_keys:
            reassigner = RowIdReassigner(table)
            committed = reassigner.run(chosen, dry_run=arguments.dry_run)
            plan = reassigner.plan
            note = NOTHING_DONE if plan.rows else "the row ids of every partition are contiguous already"
        return self.Result(
            result=f"Success. {_summary(plan)}" if committed is not None and plan is not None else f"Skipped: {note}.",
            partitions=plan.partitions if plan else 0,
            files=plan.files if plan else 0,
            rows=plan.rows if plan else 0,
            next_row_id=plan.next_row_id if plan else snapshot.next_row_id,
            snapshot_id=committed.id if committed else None,
            note=None if committed else note,
        )


def _summary(plan: Reassignment) -> str:
    return f"Reassigned row ids: {plan.rows} in {plan.files} files of {plan.partitions} partitions."
