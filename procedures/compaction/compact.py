"""``CALL sys.compact``: compact a table."""

from __future__ import annotations

import re

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options.operations.compaction import COMPACTION_SKIP_EXPIRED_PARTITIONS
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.procedures.base import Committed, Context, Done, Long, OfTable, Procedure, detail, optional
from paimon_sql.procedures.partition_choice import PARTITIONS, WHERE, chosen_partitions
from paimon_sql.procedures.values import OPTIONS, duration_of, options_of
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.compact.compaction import Scope, plan_table
from paimon_sql.storage.compact.layouts.clustered import plan_sort
from paimon_sql.storage.maintenance.partitions.expiration import expired_partitions
from paimon_sql.storage.operations import operations
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.base import bucket_mode
from paimon_sql.storage.write.clustering.clustering import clusters

NOTHING_MERGED = "no bucket has files to merge"
NOTHING_CLUSTERED = "all rows are clustered already"
NOTHING_DUE = "too few new rows to cluster; compact_strategy => 'full' clusters all rows"
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


class Compact(Procedure):
    """Reads then merge less; space is freed when the snapshots that use the old files expire."""

    summary = "Merge the files of a table: sorted runs of a primary-key table, small files of an append table."
    example = "CALL sys.compact(table => 'db.t', compact_strategy => 'full')"

    class Arguments(OfTable, kw_only=True):
        partitions: str | None = optional(PARTITIONS)
        compact_strategy: str | None = optional(
            "full, the default, or minor, which merges only what is due and is the default of clustered tables."
        )
        order_strategy: str | None = optional(
            "How to sort the rows of each partition: order, zorder, hilbert, or none, the default; for append"
            " tables without buckets."
        )
        order_by: str | None = optional("The columns to sort by, separated by commas.")
        where: str | None = optional(WHERE)
        options: str | None = optional(OPTIONS)
        partition_idle_time: str | None = optional("Only partitions without new files for this duration, as '1 d'.")
        buckets: str | None = optional("Only these buckets of a table with fixed buckets, as '0-3,7'.")

    class Result(Done, Committed, kw_only=True):
        compacted_files: Long = detail("files that were merged")
        compacted_bytes: Long = detail("their size in bytes")
        new_files: Long | None = detail("files that replaced them; null in a dry run")
        new_bytes: Long | None = detail("their size in bytes; null in a dry run")

    def call(self, context: Context, arguments: Arguments) -> Result:
        table = context.table(arguments.table).with_options(options_of(arguments.options))
        clustered = clusters(table)
        given = (arguments.compact_strategy or "").strip().lower()
        strategy = given or ("minor" if clustered else "full")
        if strategy not in ("full", "minor"):
            raise InvalidInputError(f"compact_strategy cannot be '{strategy}'.", remedy="Use 'full' or 'minor'.")
        skips_expired = table.options.get(COMPACTION_SKIP_EXPIRED_PARTITIONS)
        scope = Scope(
            chosen_partitions(table, arguments.partitions, arguments.where, context.zone),
            duration_of(arguments.partition_idle_time, "partition_idle_time"),
            _buckets(table, arguments.buckets),
            frozenset(expired_partitions(table) if skips_expired else ()),
        )
        order, columns = _order(arguments)
        if order is not None:
            if scope.idle is not None or scope.buckets is not None:
                raise InvalidInputError(
                    "order_strategy cannot be combined with partition_idle_time or buckets.",
                    remedy="Use partitions or where.",
                )
            plan = plan_sort(table, order, columns, scope=scope)
            nothing = "no rows to sort"
        else:
            plan = plan_table(table, full=strategy == "full", scope=scope, is_explicit=bool(given))
            nothing = (NOTHING_CLUSTERED if strategy == "full" else NOTHING_DUE) if clustered else NOTHING_MERGED
        before, after, committed = plan.files, None, None
        if not arguments.dry_run:
            with Transaction(table) as transaction:
                messages = transaction.staged.own(plan.run(context.executor))
                if order is None:
                    committed = operations.compact(transaction, messages)
                else:
                    committed = next(iter(operations.append(transaction, messages)), None)
            before = [f for m in messages for f in (*m.compact_before, *m.deleted_files)]
            after = [f for m in messages for f in (*m.compact_after, *m.new_files)]
        return self.Result(
            compacted_files=len(before),
            compacted_bytes=sum(f.file_size for f in before),
            new_files=None if after is None else len(after),
            new_bytes=None if after is None else sum(f.file_size for f in after),
            snapshot_id=committed.id if committed else None,
            note=None if committed or (arguments.dry_run and before) else nothing,
        )


def _order(arguments: Compact.Arguments) -> tuple[str | None, list[str]]:
    """The requested order, None without one, and its columns."""
    name = (arguments.order_strategy or "").strip().lower()
    columns = [part.strip().strip("`") for part in (arguments.order_by or "").split(",") if part.strip()]
    if name not in ("", "none"):
        return name, columns
    if columns:
        raise InvalidInputError(
            "order_by requires an order_strategy.", remedy="Write order_strategy => 'zorder', or leave order_by out."
        )
    return None, []


def _buckets(table: Table, text: str | None) -> frozenset[int] | None:
    """Parse bucket numbers, ``0-3,7``; None without text."""
    if text is None or not text.strip():
        return None
    if not bucket_mode(table.schema).is_fixed:
        raise InvalidInputError(f"{table.name} has no fixed number of buckets.", remedy="Leave buckets out.")
    total = table.options.get(BUCKET)
    found: set[int] = set()
    for part in (part.strip() for part in text.split(",")):
        match = _RANGE.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not first <= last < total:
            raise InvalidInputError(
                f"buckets: '{part}' is not one of the buckets 0 to {total - 1}.",
                remedy="Use numbers and ranges: 0-3,7.",
            )
        found.update(range(first, last + 1))
    return frozenset(found)
