"""``CALL sys.compact_chain_table``: merge the chain of a partition into the snapshot branch."""

from __future__ import annotations

from paimon_sql.errors import InvalidInputError
from paimon_sql.procedures.base import Context, Long, OfTable, Procedure, Timed, column, detail, optional, required
from paimon_sql.procedures.partition_choice import chosen_partitions
from paimon_sql.storage.compact.layouts.chain import (
    CompactedChain,
    chain_to_compact,
    compact_chain,
    plan_chain_compaction,
)


class CompactChainTable(Procedure):
    """Writes the merged rows of a partition to the snapshot branch."""

    summary = "Compact a partition of a chain table, so that reads need not merge the changes."
    example = "CALL sys.compact_chain_table(table => 'db.t', partition => 'dt=\"20250811\"')"

    class Arguments(OfTable, kw_only=True):
        partition: str = required('The partition, as \'dt="20250811",hour="08"\'; columns may be left out.')
        overwrite: bool = optional("Whether to rewrite a partition that is compacted already.", default=False)

    class Result(Timed, kw_only=True):
        result: bool = column("false if it is compacted already, or has no changes")
        compacted_partitions: Long = detail("partitions that were compacted or rewritten")
        old_files: Long = detail("files of both branches that were merged")
        old_bytes: Long = detail("their size in bytes")
        new_files: Long | None = detail("files that were written; null in a dry run")
        new_bytes: Long | None = detail("their size in bytes; null in a dry run")
        snapshot_id: Long | None = detail("the snapshot created in the snapshot branch; null without one")

    def call(self, context: Context, arguments: Arguments) -> Result:
        spec = arguments.partition.strip()
        if not spec.strip(";"):
            raise InvalidInputError("No partition is given.", remedy="Write partition => 'dt=\"20250811\"'.")
        if ";" in spec.rstrip(";"):
            raise InvalidInputError(
                f"compact_chain_table takes one partition, not several: {spec}.", remedy="Call it for each of them."
            )
        table = context.table(arguments.table)
        chain = chain_to_compact(table)
        chosen = chosen_partitions(table, spec, None, context.zone)
        assert chosen is not None
        plan = plan_chain_compaction(chain, chosen, overwrite=arguments.overwrite)
        done = (
            CompactedChain([], None) if arguments.dry_run or not plan.tasks else compact_chain(plan, context.executor)
        )
        files = [f for m in done.messages for f in m.new_files]
        used = {f.file_name: f.file_size for task in plan.tasks for f in task.split.files}
        note = None
        if plan.skipped:
            note = f"it is in {plan.table.name} already; overwrite => true rewrites it"
        elif not plan.tasks:
            note = "it has no changes"
        elif done.snapshot is None and not arguments.dry_run:
            note = "it has no rows left"
        return self.Result(
            result=bool(plan.tasks),
            compacted_partitions=len(plan.partitions),
            old_files=len(used),
            old_bytes=sum(used.values()),
            new_files=None if arguments.dry_run else len(files),
            new_bytes=None if arguments.dry_run else sum(f.file_size for f in files),
            snapshot_id=done.snapshot.id if done.snapshot else None,
            note=note,
        )
