"""Rescaling: the rows of a partition are rewritten to another number of buckets, in one snapshot.

The number of parallel tasks is the greatest common divisor of both numbers: the rows of old buckets with the same
remainder by it are those of the new buckets with this remainder, whatever the bucket function. Rows of primary-key
tables are merged to one sorted run per bucket, on the max level.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from paimon_sql.format.metadata.data_file import DataFileMeta, FileSource
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import Operation, Snapshot
from paimon_sql.format.options.operations.changelog import CHANGELOG_PRODUCER
from paimon_sql.format.schema.system_fields import SEQUENCE_NUMBER, VALUE_KIND
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.data_files.live_files import Deletion, deletions_of, grouped, live_files
from paimon_sql.storage.data_files.lsm_tree import max_level, sections_of
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.merge.sequence import is_ordered_by_snapshots
from paimon_sql.storage.operations import operations
from paimon_sql.storage.read.readers.merge import merge_section
from paimon_sql.storage.read.readers.splits import with_inserts
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.staging.commit_messages import CommitMessage, gather
from paimon_sql.storage.table.changelog_producers.none import NoChangelog
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.assignment.routers import PartitionRouter
from paimon_sql.storage.write.rolling import RollingWriter, aborted_on_error, write_all
from paimon_sql.storage.write.settings import WriteSettings
from paimon_sql.storage.write.task import WriteLayout
from paimon_sql.storage.write.writers import as_stored


@dataclass(frozen=True)
class RescaleTask:
    """Rewrites some buckets of a partition to other buckets.

    Attributes:
        table: the table.
        partition: the partition.
        buckets: the files of the old buckets, by bucket.
        total_buckets: the new number of buckets of the partition.
        deletions: deletion vectors, by file name.
    """

    table: Table
    partition: bytes
    buckets: Mapping[int, Sequence[DataFileMeta]]
    total_buckets: int
    deletions: Mapping[str, Deletion] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The bytes to read."""
        return sum(f.file_size for files in self.buckets.values() for f in files)

    def run(self) -> list[CommitMessage]:
        """Write the new files; on an error they are deleted."""
        router = PartitionRouter(self.table.schema, {self.partition: self.total_buckets})
        # The rows do not change, so there is no changelog; the option also affects how rows are merged.
        quiet = self.table.with_options({CHANGELOG_PRODUCER.key: NoChangelog.name})
        writer = WriteLayout.of(quiet).writer(quiet, {}, router)
        with aborted_on_error(writer):
            for batch in self._rows():
                writer.write_stored(batch)
            messages = writer.close()
            if self.table.schema.has_key:
                return self._settled(messages)
            return [replace(m, total_buckets=self.total_buckets) for m in messages]

    def _rows(self) -> Iterator[pa.RecordBatch]:
        """The rows, with their kinds in primary-key tables."""
        keyed, names = self.table.schema.has_key, self.table.schema.names
        with_kinds = (*names, VALUE_KIND.name)
        has_deletes = self.table.layout.keeps_deletes
        for bucket, files in sorted(self.buckets.items()):
            marked = {f.file_name: self.deletions[f.file_name] for f in files if f.file_name in self.deletions}
            sections = tuple(sections_of(self.table.schema, files)) if keyed else ()
            split = Split(self.partition, bucket, tuple(files), not keyed, sections, marked)
            for batch in ReadTask(self.table, split, with_kinds if has_deletes else names).batches():
                yield with_inserts(batch, with_kinds) if keyed and not has_deletes else batch

    def _settled(self, messages: list[CommitMessage]) -> list[CommitMessage]:
        """The files of each bucket as one sorted run on the max level."""
        written = grouped((m.bucket, f) for m in messages for f in m.new_files)
        return [
            CommitMessage(self.partition, bucket, self.total_buckets, new_files=self._one_run(bucket, tuple(files)))
            for bucket, files in written.items()
        ]

    def _one_run(self, bucket: int, files: tuple[DataFileMeta, ...]) -> tuple[DataFileMeta, ...]:
        level = max_level(self.table.options)
        sections = sections_of(self.table.schema, files)
        if all(len(section.runs) == 1 for section in sections):
            return tuple(f.upgrade(level) for f in files)
        settings = WriteSettings(self.table.schema)
        engine = merge_engine(self.table.schema)
        split = Split(self.partition, bucket, files, False, tuple(sections))
        columns = [*self.table.schema.names, SEQUENCE_NUMBER.name, VALUE_KIND.name]

        def merged() -> Iterator[pa.RecordBatch]:
            for section in sections:
                for window in merge_section(self.table, split, section, columns):
                    yield from as_stored(settings, engine.merge(window)).to_batches(max_chunksize=262_144)

        source = FileSource.APPEND if is_ordered_by_snapshots(self.table.schema) else FileSource.COMPACT
        writer = RollingWriter(self.table, settings, self.partition, bucket, level=level, source=source)
        result = write_all(writer, merged())
        locations = self.table.locations
        self.table.file_io.delete_many(p for f in files for p in locations.files_of(self.partition, bucket, f))
        return tuple(result)


@dataclass(frozen=True)
class RescalePlan:
    """The tasks of a rescaling, and the manifest entries of the files that they replace."""

    tasks: list[RescaleTask]
    replaced: list[ManifestEntry]

    @property
    def removed(self) -> list[ManifestEntry]:
        """The DELETE entries of the replaced files."""
        return [replace(e, kind=FileKind.DELETE) for e in self.replaced]


def plan_rescale(table: Table, snapshot: Snapshot | None, numbers: Mapping[bytes, int]) -> RescalePlan:
    """Plan a rescaling.

    Args:
        table: the table.
        snapshot: the snapshot whose rows are rewritten.
        numbers: the new number of buckets by partition; partitions that have this number are skipped.
    """
    parts: dict[tuple[bytes, int], dict[int, list[DataFileMeta]]] = {}
    replaced = []
    for e in entries(live_files(table, snapshot).entries):
        wanted = numbers.get(e.partition)
        if wanted is None or e.bucket < 0 or e.total_buckets == wanted:
            continue
        replaced.append(e)
        remainder = e.bucket % math.gcd(e.total_buckets, wanted)
        parts.setdefault((e.partition, remainder), {}).setdefault(e.bucket, []).append(e.file)
    deletions = grouped((p, (name, deletion)) for (p, _, name), deletion in deletions_of(table, snapshot).items())
    tasks = [
        RescaleTask(table, partition, buckets, numbers[partition], dict(deletions.get(partition, ())))
        for (partition, _), buckets in parts.items()
    ]
    return RescalePlan(tasks, replaced)


def rescaled(table: Table, plan: RescalePlan, executor: Executor) -> list[CommitMessage]:
    """Run a plan; return the messages that replace its files. On an error all new files are deleted."""
    return [m for written in gather(table, executor.run(plan.tasks), lambda ms: ms) for m in written]


def rescale(table: Table, numbers: Mapping[bytes, int], executor: Executor) -> list[CommitMessage]:
    """Rescale partitions and commit; return what was written, empty if nothing was to rescale.

    Raises:
        CommitConflictError: a concurrent commit wrote to one of the partitions; nothing was changed.
    """
    plan = plan_rescale(table, table.snapshots.latest(), numbers)
    with Transaction(table, Operation.OVERWRITE) as transaction:
        messages = transaction.staged.own(rescaled(table, plan, executor))
        if plan.replaced:
            operations.overwrite(transaction, messages, lambda latest: plan.removed, same_rows=True)
        return messages
