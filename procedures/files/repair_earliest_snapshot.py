"""``CALL sys.repair_earliest_snapshot``: abandon the snapshots before a gap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from paimon_sql.procedures.base import THE_TABLE, Context, Procedure
from paimon_sql.procedures.declaration import Long, column, detail, optional, required
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.repair.repair import give_up_before


class RepairEarliestSnapshot(Procedure):
    """Where somebody removed snapshots by hand, what came before the gap is given up: the rest is whole again."""

    summary = "Say which snapshot is the first, after some in the middle were lost."
    example = "CALL sys.repair_earliest_snapshot(table => 'db.t', snapshot_id => 12)"

    @dataclass(frozen=True, kw_only=True)
    class Arguments:
        table: str = required(THE_TABLE)
        snapshot_id: Long = required("The first snapshot after the gap; from there to the newest none may be missing.")
        dry_run: bool | None = optional(DRY_RUN)

    @dataclass(frozen=True)
    class Result:
        previous_earliest_snapshot_id: Long = column("the first snapshot before", nullable=False)
        current_earliest_snapshot_id: Long = column("the first snapshot now", nullable=False)
        given_up_snapshots: Long = detail("snapshots before it, which cannot be read any more")
        note: str | None = detail("what becomes of them")

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        table, first, dry_run = context.table(arguments.table), arguments.snapshot_id, bool(arguments.dry_run)
        previous, given_up = give_up_before(table, first, dry_run=dry_run)
        note = "the next expiry deletes them with the files that only they need" if given_up else None
        if previous == first:
            note = "it was the first already"
        yield self.Result(previous, first, given_up, f"{NOTHING_DONE}; {note}" if dry_run and note else note)
