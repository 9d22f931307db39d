"""``CALL sys.reset_consumer``: set the next snapshot of a consumer, or remove it."""

from __future__ import annotations

from paimon_sql.procedures.base import Context, Done, Long, Noted, OfTable, Procedure, detail, optional, required
from paimon_sql.storage.table.time_travel.resolve import retained_snapshot


class ResetConsumer(Procedure):
    """Snapshots from the next one on do not expire; without a snapshot the consumer is removed."""

    summary = "Set the next snapshot of a consumer, or remove it."
    example = "CALL sys.reset_consumer(table => 'db.t', consumerId => 'app-1', nextSnapshotId => 12)"

    class Arguments(OfTable, kw_only=True):
        consumerId: str = required("The consumer's name.")  # noqa: N815
        nextSnapshotId: Long | None = optional("The snapshot that it reads next; if omitted, the consumer is removed.")  # noqa: N815

    class Result(Done, Noted, kw_only=True):
        previous_snapshot_id: Long | None = detail("its next snapshot before; null for a new consumer")
        removed: bool = detail("whether it was removed")

    def call(self, context: Context, arguments: Arguments) -> Result:
        table, name, following = context.table(arguments.table), arguments.consumerId, arguments.nextSnapshotId
        before = table.consumers.find(name)
        previous = None if before is None else before.next_snapshot
        if following is None:
            removed = before is not None and (arguments.dry_run or table.consumers.remove(name))
            note = None if removed else "there is no such consumer"
            return self.Result(previous_snapshot_id=previous, removed=removed, note=note)
        retained_snapshot(table, following)
        if not arguments.dry_run:
            table.consumers.reset(name, following)
        return self.Result(previous_snapshot_id=previous, removed=False)
