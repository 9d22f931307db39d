"""Postponed buckets: the number of real buckets of their partitions, and the distribution of their rows to these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from paimon_sql.format.layout.paths import POSTPONE_BUCKET
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import ManifestEntry
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table import bucket
from paimon_sql.format.schema.system_fields import VALUE_KIND
from paimon_sql.storage.data_files.file_groups import FileSet
from paimon_sql.storage.data_files.live_files import grouped
from paimon_sql.storage.read.readers.data_file import DataFileReader
from paimon_sql.storage.scan.postponed import order
from paimon_sql.storage.scan.split import FileKey, pack
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.assignment.routers import PartitionRouter
from paimon_sql.storage.write.rolling import aborted_on_error
from paimon_sql.storage.write.writers import KeyValueWriter, Target


@dataclass(frozen=True)
class Amount:
    """A number of rows, and the bytes of their files."""

    rows: int = 0
    size: int = 0

    def buckets(self, options: TableOptions) -> int:
        """The number of buckets that these rows need, at least one."""
        rows: int | None = options.get(bucket.POSTPONE_TARGET_ROW_NUM_PER_BUCKET)
        target = rows or options.get(bucket.POSTPONE_TARGET_SIZE_PER_BUCKET)
        needed: int = -(-(self.rows if rows else self.size) // target)
        return max(1, needed)


def amounts(entries: Iterable[ManifestEntry]) -> dict[bytes, Amount]:
    """The amounts of files by partition."""
    found: dict[bytes, Amount] = {}
    for e in entries:
        known = found.get(e.partition, Amount())
        found[e.partition] = Amount(known.rows + e.file.row_count, known.size + e.file.file_size)
    return found


def numbers_for_compaction(
    options: TableOptions, waiting: Mapping[bytes, Amount], known: Mapping[bytes, int]
) -> dict[bytes, int]:
    """The numbers of buckets after a compaction, by partition with postponed rows.

    A partition keeps its number; a new one gets ``postpone.default-bucket-num``, or what its rows need.
    """
    default = options.get(bucket.POSTPONE_DEFAULT_BUCKET_NUM)
    return {p: known.get(p) or default or amount.buckets(options) for p, amount in waiting.items()}


def numbers_for_batch(
    options: TableOptions, batch: Mapping[bytes, Amount], known: Mapping[bytes, int]
) -> dict[bytes, int]:
    """The numbers of buckets for a batch, by partition.

    A partition keeps its number unless the batch needs more by a factor of
    ``postpone.batch-write-fixed-bucket.rescale-load-factor``; a new one gets a power of two.
    """
    default = options.get(bucket.POSTPONE_DEFAULT_BUCKET_NUM)
    limit: int = options.get(bucket.POSTPONE_BATCH_WRITE_FIXED_BUCKET_MAX_PARALLELISM)
    factor: int = options.get(bucket.POSTPONE_BATCH_WRITE_FIXED_BUCKET_RESCALE_LOAD_FACTOR)
    found = {}
    for partition, amount in batch.items():
        needed = amount.buckets(options)
        wanted = min(1 << (min(needed, limit) - 1).bit_length(), limit)
        current = known.get(partition)
        if current is None:
            found[partition] = default or wanted
        else:
            found[partition] = wanted if needed > current * factor and wanted > current else current
    return found


PIECE_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True)
class DistributeTask(FileSet):
    """Distributes the rows of some postponed files of a partition to its real buckets.

    Attributes:
        table: the table.
        partition: the partition.
        files: the files in the order of their writes.
        total_buckets: the number of buckets of the partition.
        sequences: the max sequence number before these rows, by partition and bucket.
    """

    table: Table
    partition: bytes
    files: tuple[DataFileMeta, ...]
    total_buckets: int
    sequences: Mapping[Target, int]

    def run(self) -> list[CommitMessage]:
        """Write the new files; on an error they are deleted."""
        router = PartitionRouter(self.table.schema, {self.partition: self.total_buckets})
        writer = KeyValueWriter(self.table, self.sequences, router)
        columns = [*self.table.schema.names, VALUE_KIND.name]
        with aborted_on_error(writer):
            for file in self.files:
                for batch in DataFileReader(self.table, self.partition, POSTPONE_BUCKET, file, columns).batches():
                    writer.write(batch)
            return writer.close()


def plan_distribution(
    table: Table, waiting: Iterable[ManifestEntry], totals: Mapping[bytes, int], sequences: Mapping[Target, int]
) -> list[DistributeTask]:
    """Plan the distribution of postponed files.

    Those of a partition are divided, in the order of their writes, into pieces that are processed in parallel: each
    piece becomes sorted files of level 0 in the real buckets. Sequence numbers continue after the rows of the pieces
    before, so that later rows are newer.

    Args:
        table: the table.
        waiting: the postponed files, those of one writer in its order.
        totals: the current or new number of buckets by partition.
        sequences: the max sequence number of existing rows, by partition and bucket.
    """
    tasks = []
    for partition, files in grouped((e.partition, e.file) for e in waiting).items():
        before = 0
        for piece in pack(sorted(files, key=order), lambda f: f.file_size, PIECE_BYTES):
            known = {(partition, b): sequences.get((partition, b), -1) + before for b in range(totals[partition])}
            tasks.append(DistributeTask(table, partition, tuple(piece), totals[partition], known))
            before += sum(f.row_count for f in piece)
    return tasks


def as_compaction(
    table: Table, waiting: Iterable[ManifestEntry], placed: Sequence[CommitMessage], merged: Sequence[CommitMessage]
) -> list[CommitMessage]:
    """Combine three steps to one compaction: postponed files deleted, files distributed, some of these merged.

    Distributed files that were merged are deleted at once, unless they are among the results.
    """

    def key(message: CommitMessage, file: DataFileMeta) -> FileKey:
        return message.partition, message.bucket, file.file_name

    inputs = {key(m, f) for m in merged for f in m.compact_before}
    outputs = {key(m, f) for m in merged for f in m.compact_after}
    new = [(m, f) for m in placed for f in m.new_files]
    used = inputs.intersection(key(m, f) for m, f in new)
    messages = [CommitMessage(e.partition, POSTPONE_BUCKET, POSTPONE_BUCKET, compact_before=(e.file,)) for e in waiting]
    for m in placed:
        rest = tuple(f for f in m.new_files if key(m, f) not in used)
        changes = (*m.compact_changelog, *m.changelog_files)
        messages.append(replace(m, new_files=(), changelog_files=(), compact_after=rest, compact_changelog=changes))
    messages += [replace(m, compact_before=tuple(f for f in m.compact_before if key(m, f) not in used)) for m in merged]
    useless = used - outputs
    table.file_io.delete_many(
        path for m, f in new if key(m, f) in useless for path in table.locations.files_of(m.partition, m.bucket, f)
    )
    return [m for m in messages if not m.is_empty()]
