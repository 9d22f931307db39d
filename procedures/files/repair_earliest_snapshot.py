"""``CALL sys.repair_earliest_snapshot``: give up the snapshots before a gap."""

from __future__ import annotations

from typing import Any

from paimon_sql.format.schema.types import BigIntType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.repair.repair import give_up_before


class RepairEarliestSnapshot(Procedure):
    """Where somebody removed snapshots by hand, what came before the gap is given up: the rest is whole again."""

    name = "repair_earliest_snapshot"
    summary = "Say which snapshot is the first, after some in the middle were lost."
    arguments = (
        TABLE,
        Argument(
            "snapshot_id",
            BigIntType(),
            "The first snapshot after the gap; from there to the newest none may be missing.",
            required=True,
        ),
        DRY_RUN,
    )
    results = (
        result("previous_earliest_snapshot_id", BigIntType(False), "the first snapshot before"),
        result("current_earliest_snapshot_id", BigIntType(False), "the first snapshot now"),
    )
    details = (
        result("given_up_snapshots", BigIntType(), "snapshots before it, which cannot be read any more"),
        result("note", string_type(), "what becomes of them"),
    )
    example = "CALL sys.repair_earliest_snapshot(table => 'db.t', snapshot_id => 12)"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        table, first, dry_run = context.table(arguments["table"]), arguments["snapshot_id"], bool(arguments["dry_run"])
        previous, given_up = give_up_before(table, first, dry_run=dry_run)
        note = "the next expiry deletes them with the files that only they need" if given_up else None
        if previous == first:
            note = "it was the first already"
        return [(previous, first, given_up, f"{NOTHING_DONE}; {note}" if dry_run and note else note)]
