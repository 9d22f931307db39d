"""``CALL sys.reset_consumer``: set the next snapshot of a consumer, or remove it."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.procedures.base import Context, Long, OfTable, Procedure, Record, column, detail, optional, required
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.table.time_travel.resolve import retained_snapshot


class ResetConsumer(Procedure):
    """Snapshots from the next one on do not expire; without a snapshot the consumer is removed."""

    summary = "Set the next snapshot of a consumer, or remove it."
    example = "CALL sys.reset_consumer(table => 'db.t', consumerId => 'app-1', nextSnapshotId => 12)"

    class Arguments(OfTable, kw_only=True):
        consumerId: str = required("The consumer's name.")  # noqa: N815
        nextSnapshotId: Long | None = optional("The snapshot that it reads next; if omitted, the consumer is removed.")  # noqa: N815
        dry_run: bool | None = optional(DRY_RUN)

    class Result(Record):
        result: bool = column("always true")
        previous_snapshot_id: Long | None = detail("its next snapshot before; null for a new consumer")
        removed: bool = detail("whether it was removed")
        note: str | None = detail("why nothing was done")

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        table, name, following = context.table(arguments.table), arguments.consumerId, arguments.nextSnapshotId
        before = table.consumers.find(name)
        previous = None if before is None else before.next_snapshot
        dry_run = bool(arguments.dry_run)
        note = NOTHING_DONE if dry_run else None
        if following is None:
            removed = before is not None and (dry_run or table.consumers.remove(name))
            return [self.Result(True, previous, removed, note if removed else "there is no such consumer")]
        retained_snapshot(table, following)
        if not dry_run:
            table.consumers.reset(name, following)
        return [self.Result(True, previous, False, note)]
