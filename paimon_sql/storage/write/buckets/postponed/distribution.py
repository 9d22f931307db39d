"""Rows that wait in the postponed bucket brought into real buckets.

The waiting files of a partition are taken in the order in which they were written, and cut into pieces that are worked
on side by side: each piece becomes sorted files of level 0 in the real buckets. A row's sequence number follows from
the rows of the pieces before, so that later rows stay the newer ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from paimon_sql.format.layout.paths import POSTPONE_BUCKET
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import ManifestEntry
from paimon_sql.format.schema.system_fields import VALUE_KIND
from paimon_sql.storage.read.readers.data_file import read_data_file
from paimon_sql.storage.scan.postponed import order
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.assignment.routers import PartitionRouter
from paimon_sql.storage.write.buffer import Target
from paimon_sql.storage.write.key_value_writer import KeyValueWriter

PIECE_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True)
class DistributeTask:
    """Brings the rows of some waiting files of a partition into its real buckets.

    Attributes:
        table: the table.
        partition: the partition.
        files: the files in the order of their rows.
        total_buckets: how many buckets the partition has.
        sequences: by partition and bucket the greatest sequence number before these rows.
    """

    table: Table
    partition: bytes
    files: tuple[DataFileMeta, ...]
    total_buckets: int
    sequences: Mapping[Target, int]

    @property
    def size(self) -> int:
        """The bytes to be read."""
        return sum(f.file_size for f in self.files)

    def run(self) -> list[CommitMessage]:
        """Do it; on an error no file is left."""
        router = PartitionRouter(self.table.schema, {self.partition: self.total_buckets})
        writer = KeyValueWriter(self.table, self.sequences, router)
        columns = [*self.table.schema.names, VALUE_KIND.name]
        try:
            for file in self.files:
                for batch in read_data_file(self.table, self.partition, POSTPONE_BUCKET, file, columns):
                    writer.write(batch)
            return writer.close()
        except BaseException:
            writer.abort()
            raise


def plan_distribution(
    table: Table, waiting: Iterable[ManifestEntry], totals: Mapping[bytes, int], sequences: Mapping[Target, int]
) -> list[DistributeTask]:
    """The tasks that bring waiting files into real buckets.

    Args:
        table: the table.
        waiting: files of postponed buckets, those of one writer in its order.
        totals: how many buckets each partition has or gets.
        sequences: by partition and bucket the greatest sequence number of the rows that are there.
    """
    partitions: dict[bytes, list[DataFileMeta]] = {}
    for e in waiting:
        partitions.setdefault(e.partition, []).append(e.file)
    tasks = []
    for partition, files in partitions.items():
        before = 0
        for piece in _pieces(sorted(files, key=order)):
            known = {(partition, b): sequences.get((partition, b), -1) + before for b in range(totals[partition])}
            tasks.append(DistributeTask(table, partition, tuple(piece), totals[partition], known))
            before += sum(f.row_count for f in piece)
    return tasks


def run_distribution(task: DistributeTask) -> list[CommitMessage]:
    """Run one task; a function of the module, so that it can be sent to a worker."""
    return task.run()


def as_compaction(
    table: Table, waiting: Iterable[ManifestEntry], placed: Iterable[CommitMessage], merged: Iterable[CommitMessage]
) -> list[CommitMessage]:
    """One compaction out of three steps: waiting files left, files placed in real buckets, some of them merged at once.

    Files that were placed and merged are of no use any more, and are removed.
    """
    merged = list(merged)
    gone = {(m.partition, m.bucket, f.file_name) for m in merged for f in m.compact_before}
    kept = {(m.partition, m.bucket, f.file_name) for m in merged for f in m.compact_after}
    messages = [CommitMessage(e.partition, POSTPONE_BUCKET, POSTPONE_BUCKET, compact_before=(e.file,)) for e in waiting]
    used: set[tuple[bytes, int, str]] = set()
    useless: list[str] = []
    for m in placed:
        left = []
        for f in m.new_files:
            place = (m.partition, m.bucket, f.file_name)
            if place not in gone:
                left.append(f)
                continue
            used.add(place)
            if place not in kept:
                useless.extend(table.locations.files_of(m.partition, m.bucket, f))
        messages.append(
            replace(
                m,
                new_files=(),
                changelog_files=(),
                compact_after=tuple(left),
                compact_changelog=(*m.compact_changelog, *m.changelog_files),
            )
        )
    for m in merged:
        before = tuple(f for f in m.compact_before if (m.partition, m.bucket, f.file_name) not in used)
        messages.append(replace(m, compact_before=before))
    table.file_io.delete_many(useless)
    return [m for m in messages if not m.is_empty()]


def _pieces(files: Sequence[DataFileMeta]) -> list[list[DataFileMeta]]:
    pieces: list[list[DataFileMeta]] = []
    size = 0
    for file in files:
        if not pieces or size + file.file_size > PIECE_BYTES:
            pieces.append([])
            size = 0
        pieces[-1].append(file)
        size += file.file_size
    return pieces
