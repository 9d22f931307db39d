"""Dynamic buckets: a key stays where it is, new keys open new buckets when those there are full."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from paimon_sql.format.options.table.bucket import (
    DYNAMIC_BUCKET_ASSIGNER_PARALLELISM,
    DYNAMIC_BUCKET_INITIAL_BUCKETS,
    DYNAMIC_BUCKET_MAX_BUCKETS,
    DYNAMIC_BUCKET_TARGET_ROW_NUM,
)
from paimon_sql.format.schema.system_fields import BUCKET
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.assignment.hash_assigner import HashAssigner
from paimon_sql.storage.write.buckets.assignment.indexed_writer import IndexedWriter
from paimon_sql.storage.write.buckets.base import BucketMode
from paimon_sql.storage.write.buckets.hash_indexes import HashIndexFile, check_hash_indexes
from paimon_sql.storage.write.buckets.state import WriteState
from paimon_sql.storage.write.buffer import Target
from paimon_sql.storage.write.key_value_writer import KeyValueWriter
from paimon_sql.storage.write.task import WriteTask


class Dynamic(BucketMode):
    """A table with ``bucket`` -1 whose primary key holds the partition columns."""

    name = "HASH_DYNAMIC"

    def plan(self, state: WriteState) -> WriteTask:
        return DynamicTask(state.table, state.sequences, state.hash_indexes, appends=state.overwrite is None)


@dataclass(frozen=True)
class DynamicTask(WriteTask):
    """Writes into dynamic buckets.

    Attributes:
        index: the hash index of each bucket as the write found it.
        appends: whether what stands in the table stays.
        lanes: how many assigners share the keys of a partition; None leaves it to the options.
        assigned: whether rows come with their bucket in ``_BUCKET``.
    """

    index: Mapping[Target, HashIndexFile] = field(default_factory=dict)
    appends: bool = True
    lanes: int | None = None
    assigned: bool = False

    def assigner(self) -> HashAssigner:
        """A new assigner; the rows of a lane in a partition must all come to one."""
        options = self.table.options
        return HashAssigner(
            self.table,
            self.index,
            self.lanes or lanes_of(self.table, 1),
            max(1, options.get(DYNAMIC_BUCKET_TARGET_ROW_NUM)),
            options.get(DYNAMIC_BUCKET_MAX_BUCKETS),
        )

    def placed(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if self.assigned:
            yield from rows
            return
        assigner = self.assigner()
        for batch in rows:
            yield batch.append_column(BUCKET.name, pa.array(assigner.assign(batch)))

    def writer(self) -> KeyValueWriter:
        return IndexedWriter(self.table, self.sequences, self.index)

    def validations(self, messages: Iterable[CommitMessage]) -> tuple[Validation, ...]:
        if not self.appends:
            return ()  # what rivals bring into the partitions that are replaced goes with them
        partitions = {m.partition for m in messages}
        seen = dict(self.index)

        def check(proposal: Proposal) -> None:
            check_hash_indexes(self.table, proposal.latest, seen, partitions)

        indexes = Validation("the hash indexes are those by which buckets were assigned", check)
        return *super().validations(messages), indexes


def lanes_of(table: Table, tasks: int) -> int:
    """How many assigners share the keys of a partition.

    Args:
        table: the table.
        tasks: how many can work at once, for tables whose options do not say a number.
    """
    options = table.options
    initial, said = options.get(DYNAMIC_BUCKET_INITIAL_BUCKETS), options.get(DYNAMIC_BUCKET_ASSIGNER_PARALLELISM)
    lanes: int = min(initial, said) if initial and said else initial or said or tasks
    most: int = options.get(DYNAMIC_BUCKET_MAX_BUCKETS)
    return max(1, lanes if most == -1 else min(lanes, most))
