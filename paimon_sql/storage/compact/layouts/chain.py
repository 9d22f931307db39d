"""Compaction of chain tables: partitions that are read as chains are merged and written to the snapshot branch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from paimon_sql.errors import CommitConflictError, UnsupportedError
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.operations import scan
from paimon_sql.format.schema.system_fields import VALUE_KIND
from paimon_sql.storage.branches.chains import Chain
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.compact.compaction import compact_due
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.operations import operations
from paimon_sql.storage.read.readers.splits import with_inserts
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.files_to_read import BranchFiles, ChainFiles, check_columns
from paimon_sql.storage.scan.split import SPLIT_BYTES, Split
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.proposal import Overwrite, Proposal, Validation, overwritten
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.rolling import aborted_on_error
from paimon_sql.storage.write.writers import KeyValueWriter


@dataclass(frozen=True)
class ChainCompactionTask:
    """Writes the merged rows of a split to the snapshot branch."""

    table: Table
    split: Split

    @property
    def size(self) -> int:
        """The bytes to read."""
        return self.split.size

    def run(self) -> list[CommitMessage]:
        """Write the files; on an error they are deleted."""
        writer = KeyValueWriter(self.table, {})
        with aborted_on_error(writer):
            for rows in ReadTask(self.table, self.split, self.table.schema.names).batches():
                writer.write_stored(with_inserts(rows, (*rows.schema.names, VALUE_KIND.name)))
            return writer.close()


@dataclass(frozen=True)
class ChainCompaction:
    """A plan of a chain compaction.

    Attributes:
        table: the snapshot branch.
        tasks: the tasks.
        partitions: the partitions that are read as chains.
        existing: the chosen partitions that the snapshot branch already has.
        skipped: whether nothing is done because of them.
    """

    table: Table
    tasks: list[ChainCompactionTask]
    partitions: frozenset[bytes]
    existing: frozenset[bytes]
    skipped: bool


def chain_to_compact(table: Table) -> Chain:
    """The chains of a table; UnsupportedError if it is not a chain table, or is one of its branches."""
    chain = Chain.read_by(table)
    if chain is None:
        raise UnsupportedError(
            f"{table.name} is not a chain table with its branches.",
            remedy=f"Set '{scan.CHAIN_TABLE_ENABLED.key}', '{scan.SCAN_FALLBACK_SNAPSHOT_BRANCH.key}' and"
            f" '{scan.SCAN_FALLBACK_DELTA_BRANCH.key}', and specify the table itself.",
        )
    return chain


def plan_chain_compaction(chain: Chain, chosen: Predicate, *, overwrite: bool) -> ChainCompaction:
    """Plan a chain compaction.

    Args:
        chain: the chains.
        chosen: a condition on the partitions.
        overwrite: whether partitions that the snapshot branch already has are replaced, from the partitions before
            them; otherwise nothing is done if there is one.

    Raises:
        InvalidOptionError: a branch does not exist or has other columns.
        UnsupportedError: the partitions of a chain have different numbers of buckets.
    """
    found = []
    for branch, option in (
        (chain.snapshots(), scan.SCAN_FALLBACK_SNAPSHOT_BRANCH),
        (chain.deltas(), scan.SCAN_FALLBACK_DELTA_BRANCH),
    ):
        check_columns(chain.table, branch, option.key)
        latest = branch.snapshots.latest()
        found.append(BranchFiles(branch, latest, live_files(branch, latest, chosen)))
    snapshots, deltas = found
    whole, delta_partitions = (frozenset(branch.live.partitions) for branch in found)
    if whole and not overwrite:
        return ChainCompaction(snapshots.table, [], frozenset(), whole, skipped=True)
    splits = ChainFiles.of(chain, snapshots, deltas, sorted(delta_partitions)).splits(SPLIT_BYTES, None)
    tasks = [ChainCompactionTask(snapshots.table, split) for split in splits]
    return ChainCompaction(snapshots.table, tasks, delta_partitions if tasks else frozenset(), whole, skipped=False)


@dataclass(frozen=True)
class CompactedChain:
    """The messages of a chain compaction, and its snapshot; None if no rows remained."""

    messages: list[CommitMessage]
    snapshot: Snapshot | None


def compact_chain(plan: ChainCompaction, executor: Executor) -> CompactedChain:
    """Run a plan. Partitions of the snapshot branch without remaining rows are not changed.

    Raises:
        CommitConflictError: a concurrent job wrote one of the partitions; nothing was changed.
    """
    table = plan.table
    with Transaction(table) as transaction:
        messages = transaction.staged.own(m for written in executor.run(plan.tasks) for m in written)
        overwrite = Overwrite(dynamic=True) if plan.existing else None
        due = transaction.staged.own(compact_due(table, messages, executor, overwrite))
        if overwrite is not None:
            snapshot = operations.overwrite(
                transaction, [*messages, *due], lambda latest: overwritten(table, latest, overwrite, messages)
            )
            return CompactedChain(messages, snapshot)
        are_new = partial(_check_new_partitions, {m.partition for m in messages})
        transaction.require(Validation("partitions that are made whole are new", are_new))
        snapshots = operations.append(transaction, [*messages, *due])
        return CompactedChain(messages, snapshots[-1] if snapshots else None)


def _check_new_partitions(partitions: set[bytes], proposal: Proposal) -> None:
    if partitions.intersection(live_files(proposal.table, proposal.latest).partitions):
        raise CommitConflictError(
            f"{proposal.table.name}: another job wrote a partition while it was being compacted.",
            remedy="Read it, because it is whole now, or call with overwrite => true.",
        )
