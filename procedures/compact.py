"""``CALL sys.compact``: merge the files of a table."""

from __future__ import annotations

import time
from typing import Any

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.types import BigIntType, BooleanType, DoubleType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.storage.buckets.registry import POSTPONE, bucket_mode
from paimon_sql.storage.commit.committer import Committer
from paimon_sql.storage.compact.plan import plan_compaction, run_task
from paimon_sql.storage.compact.postponed import compact_postponed


class Compact(Procedure):
    """Merges sorted runs, so that reads have less to merge and space is freed once snapshots expire."""

    name = "compact"
    summary = "Merge the files of a table: fully onto the deepest level, or as far as is due."
    arguments = (
        TABLE,
        Argument("partitions", string_type(), "Partitions, as 'dt=x,h=1;dt=y,h=2'; all by default."),
        Argument("compact_strategy", string_type(), "full, the default, or minor: only what is due."),
        Argument("order_strategy", string_type(), "none, order, zorder or hilbert; for append tables."),
        Argument("order_by", string_type(), "The columns to order by, with commas."),
        Argument("where", string_type(), "A condition on partition columns."),
        Argument("options", string_type(), "Options for this call, as 'k=v,k=v'."),
        Argument("partition_idle_time", string_type(), "Only partitions without new data for so long."),
        Argument("buckets", string_type(), "Only these buckets, with commas."),
    )
    results = (result("result", BooleanType(), "always true"),)
    details = (
        result("compacted_files", BigIntType(), "files that were merged"),
        result("compacted_bytes", BigIntType(), "their bytes"),
        result("new_files", BigIntType(), "files that were made of them"),
        result("new_bytes", BigIntType(), "their bytes"),
        result("snapshot_id", BigIntType(), "the snapshot made; null if nothing was to do"),
        result("seconds", DoubleType(), "how long it took"),
        result("note", string_type(), "why nothing was to do"),
    )
    example = "CALL sys.compact(table => 'db.t', compact_strategy => 'full')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        started = time.monotonic()
        table = context.table(arguments["table"])
        strategy = (arguments["compact_strategy"] or "full").lower()
        if strategy not in ("full", "minor"):
            raise InvalidInputError(f"compact_strategy cannot be '{strategy}'.", remedy="It is 'full' or 'minor'.")
        if bucket_mode(table.schema) is POSTPONE:
            messages = compact_postponed(table, context.executor, full=arguments["compact_strategy"] is not None)
        else:
            tasks = plan_compaction(table, full=strategy == "full")
            messages = list(context.executor.map(run_task, tasks))
        snapshot = Committer(table).compact(messages)
        before = [f for m in messages for f in m.compact_before]
        after = [f for m in messages for f in m.compact_after]
        return [
            (
                True,
                len(before),
                sum(f.file_size for f in before),
                len(after),
                sum(f.file_size for f in after),
                snapshot.id if snapshot else None,
                round(time.monotonic() - started, 3),
                None if snapshot else "every bucket is compacted already",
            )
        ]
