"""``CALL sys.repair_earliest_snapshot``: abandon the snapshots before a gap."""

from __future__ import annotations

from paimon_sql.procedures.base import Context, Long, OfTable, Procedure, Record, column, detail, required
from paimon_sql.procedures.values import NOTHING_DONE
from paimon_sql.storage.repair.repair import give_up_before


class RepairEarliestSnapshot(Procedure):
    """For tables whose snapshots were deleted manually: snapshots before the gap are abandoned."""

    summary = "Set the earliest snapshot after snapshots were lost."
    example = "CALL sys.repair_earliest_snapshot(table => 'db.t', snapshot_id => 12)"

    class Arguments(OfTable, kw_only=True):
        snapshot_id: Long = required("The first snapshot after the gap; all later snapshots must exist.")

    class Result(Record):
        previous_earliest_snapshot_id: Long = column("the earliest snapshot before", nullable=False)
        current_earliest_snapshot_id: Long = column("the earliest snapshot now", nullable=False)
        given_up_snapshots: Long = detail("earlier snapshots, which can no longer be read")
        note: str | None = detail("what happens to them")

    def call(self, context: Context, arguments: Arguments) -> Result:
        table, first = context.table(arguments.table), arguments.snapshot_id
        previous, given_up = give_up_before(table, first, dry_run=arguments.dry_run)
        note = "the next expiration deletes them, and the files that only they use" if given_up else None
        if previous == first:
            note = "it was the earliest already"
        return self.Result(previous, first, given_up, f"{NOTHING_DONE}; {note}" if arguments.dry_run and note else note)
