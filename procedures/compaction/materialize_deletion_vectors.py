"""``CALL sys.materialize_deletion_vectors``: rewrite files without the rows of their deletion vectors."""

from __future__ import annotations

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options.operations.compaction import WRITE_ONLY
from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED
from paimon_sql.format.options.table.row_tracking import DATA_EVOLUTION_ENABLED
from paimon_sql.procedures.base import Committed, Context, Done, Long, OfTable, Procedure, detail, optional
from paimon_sql.procedures.partition_choice import PARTITIONS, WHERE, chosen_partitions
from paimon_sql.procedures.values import OPTIONS, options_of
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.compact.compaction import Scope
from paimon_sql.storage.compact.layouts.data_evolution import plan_materialization, run_evolved
from paimon_sql.storage.operations import operations


class MaterializeDeletionVectors(Procedure):
    """The remaining rows of rewritten files get new row ids."""

    summary = "Rewrite files of a table with data evolution without the rows that are marked as deleted."
    example = "CALL sys.materialize_deletion_vectors(table => 'db.t', where => 'dt >= ''2024-01-01''')"

    class Arguments(OfTable, kw_only=True):
        partitions: str | None = optional(PARTITIONS)
        options: str | None = optional(OPTIONS)
        where: str | None = optional(WHERE)

    class Result(Done, Committed, kw_only=True):
        deleted_rows: Long = detail("removed rows that were marked as deleted")
        old_files: Long = detail("files that were replaced")
        old_bytes: Long = detail("their size in bytes")
        new_files: Long | None = detail("files that replaced them; null in a dry run")
        new_bytes: Long | None = detail("their size in bytes; null in a dry run")

    def call(self, context: Context, arguments: Arguments) -> Result:
        table = context.table(arguments.table).with_options(options_of(arguments.options))
        # On a write-only table, procedures do what commits do not, such as expiration.
        table = table.with_options({WRITE_ONLY.key: "false"})
        for option in (DATA_EVOLUTION_ENABLED, DELETION_VECTORS_ENABLED):
            if not table.options.get(option):
                raise InvalidInputError(
                    f"{table.name} has not '{option.key}' = 'true'.",
                    remedy="For tables without data evolution, CALL sys.compact removes deleted rows.",
                )
        chosen = chosen_partitions(table, arguments.partitions, arguments.where, context.zone)
        base = table.snapshots.latest()
        tasks = plan_materialization(table, base, Scope(chosen))
        before = [f for task in tasks for f in task.files]
        after, committed = [], None
        if tasks and not arguments.dry_run:
            with Transaction(table) as transaction:
                messages = transaction.staged.own(run_evolved(table, context.executor, base, tasks))
                committed = operations.compact(transaction, messages)
            after = [f for m in messages for f in m.compact_after]
        return self.Result(
            deleted_rows=sum(d.range.cardinality or 0 for task in tasks for d in task.deletions.values()),
            old_files=len(before),
            old_bytes=sum(f.file_size for f in before),
            new_files=None if arguments.dry_run else len(after),
            new_bytes=None if arguments.dry_run else sum(f.file_size for f in after),
            snapshot_id=committed.id if committed else None,
            note=None if tasks else "no rows are marked as deleted",
        )
