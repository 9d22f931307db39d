"""``CALL sys.rescale``: change the number of buckets of partitions with rows."""

from __future__ import annotations

from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.metadata.snapshot import Operation
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.procedures.base import Committed, Context, Done, Int, Long, OfTable, Procedure, detail, optional
from paimon_sql.procedures.partition_choice import PARTITIONS, WHERE, chosen_partitions
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.data_files.live_files import filter_partitions, live_files
from paimon_sql.storage.operations import operations
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.rescale import plan_rescale, rescaled


class Rescale(Procedure):
    """New rows are then written to these buckets, too."""

    summary = "Rewrite a table or some of its partitions with another number of buckets."
    example = "CALL sys.rescale(table => 'db.t', bucket_num => 16, partitions => 'dt=2024-01-01')"

    class Arguments(OfTable, kw_only=True):
        bucket_num: Int | None = optional("The number of buckets; by default that of the option 'bucket'.")
        partitions: str | None = optional(PARTITIONS)
        where: str | None = optional(WHERE)

    class Result(Done, Committed, kw_only=True):
        rescaled_partitions: Long = detail("rewritten partitions")
        old_files: Long = detail("files that were replaced")
        old_bytes: Long = detail("their size in bytes")
        new_files: Long | None = detail("files that replaced them; null in a dry run")
        new_bytes: Long | None = detail("their size in bytes; null in a dry run")

    def call(self, context: Context, arguments: Arguments) -> Result:
        table = context.table(arguments.table)
        buckets = _target_buckets(table, arguments.bucket_num)
        chosen = chosen_partitions(table, arguments.partitions, arguments.where, context.zone)
        snapshot = table.snapshots.latest()
        if snapshot is None:
            raise InvalidInputError(f"{table.name} is empty, so there is nothing to rescale.")
        live = filter_partitions(table, live_files(table, snapshot).entries, chosen)
        plan = plan_rescale(table, snapshot, dict.fromkeys(live["partition"].to_pylist(), buckets))
        committed, files = None, []
        if plan.replaced and not arguments.dry_run:
            with Transaction(table, Operation.OVERWRITE) as transaction:
                messages = transaction.staged.own(rescaled(table, plan, context.executor))
                committed = operations.overwrite(transaction, messages, lambda latest: plan.removed, same_rows=True)
            files = [f for m in messages for f in m.new_files]
        return self.Result(
            rescaled_partitions=len({e.partition for e in plan.replaced}),
            old_files=len(plan.replaced),
            old_bytes=sum(e.file.file_size for e in plan.replaced),
            new_files=None if arguments.dry_run else len(files),
            new_bytes=None if arguments.dry_run else sum(f.file_size for f in files),
            snapshot_id=committed.id if committed else None,
            note=None if plan.replaced else f"every selected partition has {buckets} buckets already, or no rows",
        )


def _target_buckets(table: Table, given: int | None) -> int:
    option: int = table.options.get(BUCKET)
    if option == -1:
        raise UnsupportedError(
            f"{table.name} has no fixed buckets ('bucket' is -1), so it cannot be rescaled.",
            remedy="Dynamic buckets grow automatically; see 'dynamic-bucket.target-row-num'.",
        )
    if given is None and option < 0:
        raise InvalidInputError(
            f"{table.name} has postponed buckets, so the number of buckets must be specified.",
            remedy="CALL sys.rescale(table => .., bucket_num => ..).",
        )
    buckets = option if given is None else given
    if buckets < 1:
        raise InvalidInputError(f"bucket_num cannot be {buckets}.", remedy="Use a number greater than 0.")
    return buckets
