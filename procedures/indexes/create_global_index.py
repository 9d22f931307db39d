"""``CALL sys.create_global_index``: build a global index of a column."""

from __future__ import annotations

from paimon_sql.format.schema.records import Long
from paimon_sql.procedures.base import Committed, Context, Done, OfTable, Procedure, detail, optional, required
from paimon_sql.procedures.partition_choice import PARTITIONS, chosen_partitions
from paimon_sql.procedures.values import OPTIONS, options_of
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.indexes.global_index import build_index, index_column, plan_index
from paimon_sql.storage.operations import operations

THE_COLUMN = "The column."
THE_TYPE = "The type of the index: btree, bitmap or multivalue."


class CreateGlobalIndex(Procedure):
    """Rows that an index of that type covers are skipped, unless the column was changed since."""

    summary = "Build a global index over a column of a table with data evolution, for rows without one."
    example = "CALL sys.create_global_index(table => 'db.t', index_column => 'name', index_type => 'btree')"

    class Arguments(OfTable, kw_only=True):
        index_column: str = required(THE_COLUMN)
        index_type: str = required(THE_TYPE)
        partitions: str | None = optional(PARTITIONS)
        options: str | None = optional(OPTIONS)

    class Result(Done, Committed, kw_only=True):
        rows: Long = detail("number of indexed rows, including deleted ones")
        new_files: Long | None = detail("created index files; null in a dry run")
        new_bytes: Long | None = detail("their size in bytes; null in a dry run")
        old_files: Long = detail("removed index files, whose values were changed since")

    def call(self, context: Context, arguments: Arguments) -> Result:
        table = context.table(arguments.table).with_options(options_of(arguments.options))
        column = index_column(table, arguments.index_column, arguments.index_type)
        chosen = chosen_partitions(table, arguments.partitions, None, context.zone)
        plan = plan_index(table, column, table.snapshots.latest(), chosen)
        committed, files = None, []
        if plan.tasks and not arguments.dry_run:
            with Transaction(table) as transaction:
                messages = transaction.staged.own(build_index(table, context.executor, plan))
                committed = operations.change_indexes(transaction, messages)
            files = [f for m in messages for f in m.new_indexes]
        nothing = "all rows are indexed already" if table.snapshots.latest() else "the table is empty"
        return self.Result(
            rows=plan.rows,
            new_files=None if arguments.dry_run else len(files),
            new_bytes=None if arguments.dry_run else sum(f.file_size for f in files),
            old_files=len(plan.replaced),
            snapshot_id=committed.id if committed else None,
            note=None if plan.tasks else nothing,
        )
