"""``CALL sys.compact``: merge the files of a table."""

from __future__ import annotations

import time
from typing import Any

from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.types import BigIntType, BooleanType, DoubleType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.partition_choice import PARTITIONS, WHERE, chosen_partitions
from paimon_sql.procedures.values import OPTIONS, options_of
from paimon_sql.storage.commit.committer import Committer
from paimon_sql.storage.compact.run import compact_table

_NOT_YET = ("order_strategy", "order_by", "partition_idle_time", "buckets")


class Compact(Procedure):
    """Reads have less to merge afterwards; space is freed once the snapshots expire that still use the old files."""

    name = "compact"
    summary = (
        "Merge the files of a table: sorted runs as deep as asked or due, small files of an append table together."
    )
    arguments = (
        TABLE,
        PARTITIONS,
        Argument(
            "compact_strategy", string_type(), "How far: full, the default, or minor, which does only what is due."
        ),
        Argument(
            "order_strategy",
            string_type(),
            "The order of rows: none, order, zorder or hilbert; only none is offered yet.",
        ),
        Argument("order_by", string_type(), "The columns to order by, with commas; not yet offered."),
        WHERE,
        OPTIONS,
        Argument(
            "partition_idle_time", string_type(), "Only partitions without new data for so long; not yet offered."
        ),
        Argument("buckets", string_type(), "Only these buckets, with commas; not yet offered."),
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
        if asked := [name for name in _NOT_YET if (arguments[name] or "none").lower() != "none"]:
            raise UnsupportedError(
                f"compact does not take {' and '.join(asked)} yet.",
                remedy="Leave it out: files are merged in the order of the key, in all buckets.",
            )
        table = context.table(arguments["table"]).with_options(options_of(arguments["options"]))
        strategy = (arguments["compact_strategy"] or "full").lower()
        if strategy not in ("full", "minor"):
            raise InvalidInputError(f"compact_strategy cannot be '{strategy}'.", remedy="It is 'full' or 'minor'.")
        chosen = chosen_partitions(table, arguments["partitions"], arguments["where"], context.zone)
        told = arguments["compact_strategy"] is not None
        messages = compact_table(table, context.executor, full=strategy == "full", partitions=chosen, asked=told)
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
                None if snapshot else "no bucket has files that are worth merging",
            )
        ]
