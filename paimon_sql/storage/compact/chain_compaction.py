"""Chains made whole: the rows of partitions that are read as chains are written to the branch of whole partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimon_sql.errors import CommitConflictError, UnsupportedError
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.operations.scan import (
    CHAIN_TABLE_ENABLED,
    SCAN_FALLBACK_DELTA_BRANCH,
    SCAN_FALLBACK_SNAPSHOT_BRANCH,
)
from paimon_sql.format.schema.system_fields import VALUE_KIND
from paimon_sql.storage.branches.chains import Chain
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.compact.run import compact_due
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.operations import operations
from paimon_sql.storage.read.readers.raw import with_inserts
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.branches.chain import ChainFiles, chained_partitions
from paimon_sql.storage.scan.branches.fallback import BranchFiles, check_columns
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.scan.split_size import SPLIT_BYTES
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.overwrite import Overwrite, overwritten
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.staging.staged_files import gather
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.key_value_writer import KeyValueWriter


@dataclass(frozen=True)
class ChainCompactionTask:
    """Writes the merged rows of a split to the branch of whole partitions."""

    table: Table
    split: Split

    @property
    def size(self) -> int:
        """The bytes to be read."""
        return self.split.size

    def run(self) -> list[CommitMessage]:
        """Do it; on an error no file is left."""
        writer = KeyValueWriter(self.table, {})
        try:
            for rows in ReadTask(self.table, self.split, self.table.schema.names).batches():
                writer.write_stored(with_inserts(rows, (*rows.schema.names, VALUE_KIND.name)))
            return writer.close()
        except BaseException:
            writer.abort()
            raise


@dataclass(frozen=True)
class ChainCompaction:
    """What makes chains whole.

    Attributes:
        table: the branch of whole partitions.
        tasks: what is to be written.
        partitions: the partitions that are read as chains.
        whole: those of the chosen partitions that are whole already.
        skipped: whether nothing is done because of them.
    """

    table: Table
    tasks: list[ChainCompactionTask]
    partitions: frozenset[bytes]
    whole: frozenset[bytes]
    skipped: bool


def chain_to_compact(table: Table) -> Chain:
    """The chains of a table; UnsupportedError if it is no chain table, or one of its branches."""
    chain = Chain.read_by(table)
    if chain is None:
        raise UnsupportedError(
            f"{table.name} is no chain table with its branches beside it.",
            remedy=f"Set '{CHAIN_TABLE_ENABLED.key}', '{SCAN_FALLBACK_SNAPSHOT_BRANCH.key}' and"
            f" '{SCAN_FALLBACK_DELTA_BRANCH.key}', and name the table itself.",
        )
    return chain


def plan_chain_compaction(chain: Chain, chosen: Predicate, *, overwrite: bool) -> ChainCompaction:
    """Plan to make partitions whole.

    Args:
        chain: the chains.
        chosen: true for the partitions.
        overwrite: whether partitions that are whole already are made anew from the whole ones before them; if not, one
            of them is enough that nothing is done.

    Raises:
        InvalidOptionError: a branch does not exist or has other columns.
        UnsupportedError: the partitions of a chain have different numbers of buckets.
    """
    found = []
    for other, option in (
        (chain.snapshots(), SCAN_FALLBACK_SNAPSHOT_BRANCH),
        (chain.deltas(), SCAN_FALLBACK_DELTA_BRANCH),
    ):
        check_columns(chain.table, other, option.key)
        latest = other.snapshots.latest()
        found.append(BranchFiles(other, latest, live_files(other, latest, chosen)))
    snapshots, deltas = found
    whole, asked = (frozenset(branch.live.partitions) for branch in found)
    if whole and not overwrite:
        return ChainCompaction(snapshots.table, [], frozenset(), whole, skipped=True)
    chained = chained_partitions(chain, snapshots, deltas, sorted(asked))
    splits = ChainFiles([], snapshots, deltas, chained).splits(SPLIT_BYTES, None)
    tasks = [ChainCompactionTask(snapshots.table, split) for split in splits]
    return ChainCompaction(snapshots.table, tasks, asked if tasks else frozenset(), whole, skipped=False)


@dataclass(frozen=True)
class CompactedChain:
    """What was written, and the snapshot that has it; None if no row was left."""

    messages: list[CommitMessage]
    snapshot: Snapshot | None


def compact_chain(plan: ChainCompaction, executor: Executor) -> CompactedChain:
    """Carry out a plan. Whole partitions of which no row is left stay as they are.

    Raises:
        CommitConflictError: another job wrote one of the partitions meanwhile; nothing was changed.
    """
    table = plan.table
    with Transaction(table) as transaction:
        answers = gather(table, executor.map(run_chain_compaction, plan.tasks), lambda written: written)
        messages = transaction.staged.take(message for written in answers for message in written)
        what = Overwrite(dynamic=True) if plan.whole else None
        due = transaction.staged.take(compact_due(table, messages, executor, what))
        if what is not None:
            made = operations.overwrite(
                transaction, [*messages, *due], lambda latest: overwritten(table, latest, what, messages)
            )
            return CompactedChain(messages, made)
        transaction.require(_partitions_are_new(messages))
        snapshots = operations.append(transaction, [*messages, *due])
        return CompactedChain(messages, snapshots[-1] if snapshots else None)


def _partitions_are_new(messages: Sequence[CommitMessage]) -> Validation:
    partitions = {m.partition for m in messages}

    def check(proposal: Proposal) -> None:
        table = proposal.table
        if partitions.intersection(live_files(table, proposal.latest).partitions):
            raise CommitConflictError(
                f"{table.name}: another job wrote a partition while it was being made whole.",
                remedy="Read it: it is whole now. Or call with overwrite => true.",
            )

    return Validation("partitions that are made whole are new", check)


def run_chain_compaction(task: ChainCompactionTask) -> list[CommitMessage]:
    """Run one task; a function of the module, so that it can be sent to a worker."""
    return task.run()
