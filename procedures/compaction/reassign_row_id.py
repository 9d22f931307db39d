"""``CALL sys.reassign_row_id``: make row ids contiguous within each partition."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.errors import InvalidInputError
from paimon_sql.procedures.base import Context, Long, OfTable, Procedure, Record, column, detail, optional
from paimon_sql.procedures.partition_choice import PARTITIONS, chosen_partitions
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.data_files.file_groups import check_data_evolution
from paimon_sql.storage.operations.row_id_reassignment import Reassignment, RowIdReassigner


class ReassignRowId(Procedure):
    """For partitions that were written alternately. No data file is changed."""

    summary = "Reassign row ids, so that those of each partition are contiguous."
    example = "CALL sys.reassign_row_id(table => 'db.t', partitions => 'dt=2024-01-01')"

    class Arguments(OfTable, kw_only=True):
        partitions: str | None = optional(PARTITIONS)
        dry_run: bool | None = optional(DRY_RUN)

    class Result(Record):
        result: str = column("what was done, or why nothing was")
        partitions: Long = detail("partitions with reassigned row ids")
        files: Long = detail("files with these rows")
        rows: Long = detail("number of these rows, including deleted ones")
        next_row_id: Long | None = detail("the next free row id")
        snapshot_id: Long | None = detail("the created snapshot; null if nothing was done")
        seconds: float = detail("duration in seconds")
        note: str | None = detail("why nothing was done")

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        dry_run = bool(arguments.dry_run)
        table = context.table(arguments.table)
        check_data_evolution(table, "reassigning row ids")
        snapshot = table.snapshots.latest()
        if snapshot is None:
            raise InvalidInputError(f"{table.name} is empty and has no row ids.")
        chosen = chosen_partitions(table, arguments.partitions, None, context.zone)
        committed, plan, note = None, None, "the table has no partitions"
        if table.schema.partition_keys:
            reassigner = RowIdReassigner(table)
            committed = reassigner.run(chosen, dry_run=dry_run)
            plan = reassigner.plan
            note = NOTHING_DONE if plan.rows else "the row ids of every partition are contiguous already"
        yield self.Result(
            result=f"Success. {_summary(plan)}" if committed is not None and plan is not None else f"Skipped: {note}.",
            partitions=plan.partitions if plan else 0,
            files=plan.files if plan else 0,
            rows=plan.rows if plan else 0,
            next_row_id=plan.next_row_id if plan else snapshot.next_row_id,
            snapshot_id=committed.id if committed else None,
            seconds=context.seconds(),
            note=None if committed else note,
        )


def _summary(plan: Reassignment) -> str:
    return f"Reassigned row ids: {plan.rows} in {plan.files} files of {plan.partitions} partitions."
