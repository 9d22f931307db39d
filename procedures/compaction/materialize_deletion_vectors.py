"""``CALL sys.materialize_deletion_vectors``: files without the rows that are marked as deleted."""

from __future__ import annotations

import time
from typing import Any

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options.operations.compaction import WRITE_ONLY
from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED
from paimon_sql.format.options.table.row_tracking import DATA_EVOLUTION_ENABLED
from paimon_sql.format.schema.types import BigIntType, BooleanType, DoubleType, string_type
from paimon_sql.procedures.base import TABLE, Context, Procedure, result
from paimon_sql.procedures.partition_choice import PARTITIONS, WHERE, chosen_partitions
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE, OPTIONS, options_of
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.compact.layouts.data_evolution import plan_materialization, run_evolved
from paimon_sql.storage.compact.scope import Scope
from paimon_sql.storage.operations import operations


class MaterializeDeletionVectors(Procedure):
    """Files with deleted rows are written anew without them; the rows that are left get new ids."""

    name = "materialize_deletion_vectors"
    summary = "Write files of a table with data evolution anew, without the rows that are marked as deleted."
    arguments = (TABLE, PARTITIONS, OPTIONS, WHERE, DRY_RUN)
    results = (result("result", BooleanType(), "always true"),)
    details = (
        result("deleted_rows", BigIntType(), "rows marked as deleted that went"),
        result("old_files", BigIntType(), "files that were replaced"),
        result("old_bytes", BigIntType(), "their bytes"),
        result("new_files", BigIntType(), "files that replace them; null in a dry run"),
        result("new_bytes", BigIntType(), "their bytes; null in a dry run"),
        result("snapshot_id", BigIntType(), "the snapshot made; null if nothing was to do"),
        result("seconds", DoubleType(), "how long it took"),
        result("note", string_type(), "why nothing was to do"),
    )
    example = "CALL sys.materialize_deletion_vectors(table => 'db.t', where => 'dt >= ''2024-01-01''')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        started, dry_run = time.monotonic(), bool(arguments["dry_run"])
        table = context.table(arguments["table"]).with_options(options_of(arguments["options"]))
        # A table that is written to only leaves to procedures what its commits do not do, expiry among it.
        table = table.with_options({WRITE_ONLY.key: "false"})
        for option in (DATA_EVOLUTION_ENABLED, DELETION_VECTORS_ENABLED):
            if not table.options.get(option):
                raise InvalidInputError(
                    f"{table.name} has not '{option.key}' = 'true'.",
                    remedy="CALL sys.compact leaves deleted rows out of tables without data evolution.",
                )
        chosen = chosen_partitions(table, arguments["partitions"], arguments["where"], context.zone)
        base = table.snapshots.latest()
        tasks = plan_materialization(table, base, Scope(chosen))
        before = [f for task in tasks for f in task.files]
        after, made = [], None
        if tasks and not dry_run:
            with Transaction(table) as transaction:
                messages = transaction.staged.take(run_evolved(table, context.executor, base, tasks))
                made = operations.compact(transaction, messages)
            after = [f for m in messages for f in m.compact_after]
        return [
            (
                True,
                sum(d.range.cardinality or 0 for task in tasks for d in task.deletions.values()),
                len(before),
                sum(f.file_size for f in before),
                None if dry_run else len(after),
                None if dry_run else sum(f.file_size for f in after),
                made.id if made else None,
                round(time.monotonic() - started, 3),
                "no rows are marked as deleted" if not tasks else NOTHING_DONE if dry_run else None,
            )
        ]
