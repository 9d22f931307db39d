"""``CALL sys.compact_chain_table``: make a partition of a chain table whole."""

from __future__ import annotations

import time
from typing import Any

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.types import BigIntType, BooleanType, DoubleType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.partition_choice import chosen_partitions
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.compact.chain_compaction import (
    CompactedChain,
    chain_to_compact,
    compact_chain,
    plan_chain_compaction,
)


class CompactChainTable(Procedure):
    """Writes the rows of a partition that is read as a chain to the branch of whole partitions."""

    name = "compact_chain_table"
    summary = "Make a partition of a chain table whole, so that reads of it need not merge the changes any more."
    arguments = (
        TABLE,
        Argument(
            "partition",
            string_type(),
            'The partition, as \'dt="20250811",hour="08"\'; columns may be left out.',
            required=True,
        ),
        Argument("overwrite", BooleanType(), "Whether a partition that is whole already is made anew."),
        DRY_RUN,
    )
    results = (
        result("result", BooleanType(), "false if it is whole already and stays, or there are no changes of it"),
    )
    details = (
        result("compacted_partitions", BigIntType(), "partitions that became whole, or were made anew"),
        result("old_files", BigIntType(), "files of both branches that were merged"),
        result("old_bytes", BigIntType(), "their bytes"),
        result("new_files", BigIntType(), "files that were written; null in a dry run"),
        result("new_bytes", BigIntType(), "their bytes; null in a dry run"),
        result("snapshot_id", BigIntType(), "the snapshot made in the branch of whole partitions; null without one"),
        result("seconds", DoubleType(), "how long it took"),
        result("note", string_type(), "why nothing was to do"),
    )
    example = "CALL sys.compact_chain_table(table => 'db.t', partition => 'dt=\"20250811\"')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        started = time.monotonic()
        said = str(arguments["partition"]).strip()
        if not said.strip(";"):
            raise InvalidInputError("No partition is given.", remedy="Write partition => 'dt=\"20250811\"'.")
        if ";" in said.rstrip(";"):
            raise InvalidInputError(
                f"compact_chain_table takes one partition, not several: {said}.", remedy="Call it for each of them."
            )
        table = context.table(arguments["table"])
        chain = chain_to_compact(table)
        chosen = chosen_partitions(table, said, None, context.zone)
        assert chosen is not None
        plan = plan_chain_compaction(chain, chosen, overwrite=bool(arguments["overwrite"]))
        dry_run = bool(arguments["dry_run"])
        done = CompactedChain([], None) if dry_run or not plan.tasks else compact_chain(plan, context.executor)
        files = [f for m in done.messages for f in m.new_files]
        used = {f.file_name: f.file_size for task in plan.tasks for f in task.split.files}
        note = None
        if plan.skipped:
            note = f"it is in {plan.table.name} already; overwrite => true makes it anew"
        elif not plan.tasks:
            note = "no changes of it are there"
        elif dry_run:
            note = NOTHING_DONE
        elif done.snapshot is None:
            note = "no row of it is left"
        return [
            (
                bool(plan.tasks),
                len(plan.partitions),
                len(used),
                sum(used.values()),
                None if dry_run else len(files),
                None if dry_run else sum(f.file_size for f in files),
                done.snapshot.id if done.snapshot else None,
                round(time.monotonic() - started, 3),
                note,
            )
        ]
