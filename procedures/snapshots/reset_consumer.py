"""``CALL sys.reset_consumer``: say from where a consumer reads on, or forget it."""

from __future__ import annotations

from typing import Any

from paimon_sql.format.schema.types import BigIntType, BooleanType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.table.time_travel.resolve import retained_snapshot


class ResetConsumer(Procedure):
    """Snapshots from there on wait for the consumer; without a snapshot the consumer is removed."""

    name = "reset_consumer"
    summary = "Say from which snapshot a consumer reads on, or remove it."
    arguments = (
        TABLE,
        Argument("consumerId", string_type(), "The consumer's name.", required=True),
        Argument("nextSnapshotId", BigIntType(), "The snapshot that it reads next; left out, the consumer is removed."),
        DRY_RUN,
    )
    results = (result("result", BooleanType(), "always true"),)
    details = (
        result("previous_snapshot_id", BigIntType(), "what it was to read next before; null for a new one"),
        result("removed", BooleanType(), "whether it was removed"),
        result("note", string_type(), "why nothing was done"),
    )
    example = "CALL sys.reset_consumer(table => 'db.t', consumerId => 'app-1', nextSnapshotId => 12)"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        table, name, following = context.table(arguments["table"]), arguments["consumerId"], arguments["nextSnapshotId"]
        before = table.consumers.find(name)
        previous = None if before is None else before.next_snapshot
        dry_run = bool(arguments["dry_run"])
        note = NOTHING_DONE if dry_run else None
        if following is None:
            removed = before is not None and (dry_run or table.consumers.remove(name))
            return [(True, previous, removed, note if removed else "there is no such consumer")]
        retained_snapshot(table, following)
        if not dry_run:
            table.consumers.reset(name, following)
        return [(True, previous, False, note)]
