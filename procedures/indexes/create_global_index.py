"""``CALL sys.create_global_index``: which rows hold which values of a column, in files that reads ask first."""

from __future__ import annotations

import time
from typing import Any

from paimon_sql.format.schema.types import BigIntType, BooleanType, DoubleType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.partition_choice import PARTITIONS, chosen_partitions
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE, OPTIONS, options_of
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.indexes.global_index import build_index, index_column, plan_index
from paimon_sql.storage.operations import operations

INDEX_COLUMN = Argument("index_column", string_type(), "The column.", required=True)
INDEX_TYPE = Argument("index_type", string_type(), "The type of the index: btree, bitmap or multivalue.", required=True)


class CreateGlobalIndex(Procedure):
    """Rows that an index of that type covers already are left alone, unless the column was changed since."""

    name = "create_global_index"
    summary = "Build a global index over a column of a table with data evolution, for rows that have none yet."
    arguments = (TABLE, INDEX_COLUMN, INDEX_TYPE, PARTITIONS, OPTIONS, DRY_RUN)
    results = (result("result", BooleanType(), "always true"),)
    details = (
        result("rows", BigIntType(), "rows that were indexed, deleted ones counted too"),
        result("new_files", BigIntType(), "index files made; null in a dry run"),
        result("new_bytes", BigIntType(), "their bytes; null in a dry run"),
        result("old_files", BigIntType(), "index files that went, as values were changed since they were built"),
        result("snapshot_id", BigIntType(), "the snapshot made; null if nothing was to do"),
        result("seconds", DoubleType(), "how long it took"),
        result("note", string_type(), "why nothing was to do"),
    )
    example = "CALL sys.create_global_index(table => 'db.t', index_column => 'name', index_type => 'btree')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        started, dry_run = time.monotonic(), bool(arguments["dry_run"])
        table = context.table(arguments["table"]).with_options(options_of(arguments["options"]))
        column = index_column(table, arguments["index_column"], arguments["index_type"])
        chosen = chosen_partitions(table, arguments["partitions"], None, context.zone)
        plan = plan_index(table, column, table.snapshots.latest(), chosen)
        made, files = None, []
        if plan.tasks and not dry_run:
            with Transaction(table) as transaction:
                messages = transaction.staged.take(build_index(table, context.executor, plan))
                made = operations.change_indexes(transaction, messages)
            files = [f for m in messages for f in m.new_indexes]
        nothing = "all rows are indexed already" if table.snapshots.latest() else "the table holds nothing yet"
        return [
            (
                True,
                plan.rows,
                None if dry_run else len(files),
                None if dry_run else sum(f.file_size for f in files),
                len(plan.replaced),
                made.id if made else None,
                round(time.monotonic() - started, 3),
                nothing if not plan.tasks else NOTHING_DONE if dry_run else None,
            )
        ]
