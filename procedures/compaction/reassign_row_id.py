"""``CALL sys.reassign_row_id``: row ids that follow one another in each partition."""

from __future__ import annotations

import time
from typing import Any

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.types import BigIntType, DoubleType, string_type
from paimon_sql.procedures.base import TABLE, Context, Procedure, result
from paimon_sql.procedures.partition_choice import PARTITIONS, chosen_partitions
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.data_files.file_groups import check_data_evolution
from paimon_sql.storage.operations.row_id_reassignment import Reassignment, RowIdReassigner


class ReassignRowId(Procedure):
    """Gives the rows of partitions that were written in turns new ids, one after the other; no data file is touched."""

    name = "reassign_row_id"
    summary = "Give rows new ids, so that those of each partition follow one another."
    arguments = (TABLE, PARTITIONS, DRY_RUN)
    results = (result("result", string_type(), "what was done, or why nothing was"),)
    details = (
        result("partitions", BigIntType(), "partitions whose rows got new ids"),
        result("files", BigIntType(), "files that hold these rows"),
        result("rows", BigIntType(), "how many rows they are, deleted ones counted too"),
        result("next_row_id", BigIntType(), "the first id that is free afterwards"),
        result("snapshot_id", BigIntType(), "the snapshot made; null if nothing was to do"),
        result("seconds", DoubleType(), "how long it took"),
        result("note", string_type(), "why nothing was to do"),
    )
    example = "CALL sys.reassign_row_id(table => 'db.t', partitions => 'dt=2024-01-01')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        started, dry_run = time.monotonic(), bool(arguments["dry_run"])
        table = context.table(arguments["table"])
        check_data_evolution(table, "row ids that can be given anew")
        snapshot = table.snapshots.latest()
        if snapshot is None:
            raise InvalidInputError(f"{table.name} holds nothing yet, so there are no row ids.")
        chosen = chosen_partitions(table, arguments["partitions"], None, context.zone)
        made, plan, note = None, None, "the table has no partitions"
        if table.schema.partition_keys:
            reassigner = RowIdReassigner(table)
            made = reassigner.run(chosen, dry_run=dry_run)
            plan = reassigner.plan
            note = NOTHING_DONE if plan.rows else "the row ids of every partition follow one another already"
        return [
            (
                f"Success. {_counted(plan)}" if made is not None and plan is not None else f"Skipped: {note}.",
                plan.partitions if plan else 0,
                plan.files if plan else 0,
                plan.rows if plan else 0,
                plan.next_row_id if plan else snapshot.next_row_id,
                made.id if made else None,
                round(time.monotonic() - started, 3),
                None if made else note,
            )
        ]


def _counted(plan: Reassignment) -> str:
    return f"Row ids given anew: {plan.rows} in {plan.files} files of {plan.partitions} partitions."
