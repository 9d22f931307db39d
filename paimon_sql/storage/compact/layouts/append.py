"""The compaction of append tables: small files are put together, and rows that are marked as deleted left out.

A table without buckets knows no order of its rows, so files are packed by size. In a fixed bucket rows keep their
order: only neighbours are put together (spec: Append Table, Compaction).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from paimon_sql.format.metadata.data_file import DataFileMeta, FileSource
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.operations.compaction import (
    COMPACTION_DELETE_RATIO_THRESHOLD,
    COMPACTION_MIN_FILE_NUM,
    COMPACTION_SMALL_FILE_RATIO,
)
from paimon_sql.format.options.operations.scan import SOURCE_SPLIT_OPEN_FILE_COST
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.storage.compact.layouts.bucket_files import BucketFiles, by_bucket
from paimon_sql.storage.compact.scope import EVERYTHING, Scope
from paimon_sql.storage.compact.touched_buckets import touched_files
from paimon_sql.storage.data_files.deletion_vectors import Deletion
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.row_level.vectors import forget
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.overwrite import Overwrite
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.files.rolling import write_all
from paimon_sql.storage.write.settings import WriteSettings

_FEW = 3
"""From how many files on a bucket is compacted in full, as the peer does."""


@dataclass(frozen=True)
class AppendCompactTask:
    """Puts some files of a bucket together."""

    moved: BucketFiles

    @property
    def size(self) -> int:
        """The bytes to be read."""
        return self.moved.size

    def run(self) -> CommitMessage:
        """Do it; the files made are seen by nobody until the message is committed, and on an error none is left."""
        moved = self.moved
        writer = moved.writer(source=FileSource.COMPACT, first_sequence=moved.files[0].min_sequence_number)
        after = tuple(write_all(writer, moved.rows()))
        return CommitMessage(
            moved.partition, moved.bucket, moved.total_buckets, compact_before=moved.files, compact_after=after
        )


def run_append_task(task: AppendCompactTask) -> CommitMessage:
    """Run one task; a function of the module, so that it can be sent to a worker."""
    return task.run()


def plan_append_compaction(table: Table, *, full: bool, scope: Scope = EVERYTHING) -> list[AppendCompactTask]:
    """The tasks that compact an append table as it stands.

    Args:
        table: the table.
        full: whether fixed buckets are put together as far as they can be; otherwise only what is due.
        scope: which buckets.
    """
    live = scope.of(table, live_files(table, table.snapshots.latest()).entries)
    return _tasks(table, entries(live), full=full)


def plan_append_triggered(
    table: Table, base: Snapshot | None, messages: Sequence[CommitMessage], overwrite: Overwrite | None = None
) -> list[AppendCompactTask]:
    """The tasks that new files make due in fixed buckets; arguments as of `files_of_touched_buckets`."""
    touched = files_of_touched_buckets(table, base, messages, overwrite)
    return _tasks(table, touched, full=False) if touched else []


def files_of_touched_buckets(
    table: Table, latest: Snapshot | None, messages: Sequence[CommitMessage], overwrite: Overwrite | None
) -> list[ManifestEntry]:
    """All files of the fixed buckets that a write adds files to.

    Args: as of `touched_files`.
    """
    replaced, added_to = touched_files(table, latest, messages, overwrite)
    return [*replaced, *added_to]


def with_vectors(table: Table, base: Snapshot | None, messages: Sequence[CommitMessage]) -> list[CommitMessage]:
    """The messages of append compactions, and those that let go of the deletion vectors of the files that go.

    Args:
        table: the table.
        base: a snapshot from before the compactions were planned: vectors that came later must not be let go of.
        messages: the messages.
    """
    gone = [
        ManifestEntry(FileKind.DELETE, m.partition, m.bucket, m.total_buckets, f)
        for m in messages
        for f in m.compact_before
    ]
    forgotten = (
        replace(
            m,
            new_indexes=(),
            deleted_indexes=(),
            compact_new_indexes=m.new_indexes,
            compact_deleted_indexes=m.deleted_indexes,
        )
        for m in forget(table, base, gone)
    )
    return [*messages, *forgotten]


def _tasks(table: Table, files: Iterable[ManifestEntry], *, full: bool) -> list[AppendCompactTask]:
    packing = _Packing(table)
    found = []
    packs: Iterable[list[DataFileMeta]]
    for held in by_bucket(table, files, table.snapshots.latest()):
        if table.options.get(BUCKET) <= 0:
            packs = packing.unordered(held.files, held.deletions)
        else:
            whole = list(packing.whole(held.files, held.deletions)) if full else []
            packs = whole or packing.neighbours(held.files)
        found += [AppendCompactTask(held.only(pack)) for pack in packs]
    return found


class _Packing:
    """Which files of a bucket are put together, as the table's options say."""

    def __init__(self, table: Table) -> None:
        options = table.options
        self._target = WriteSettings(table.schema).target_file_size
        self._small = self._target * options.get(COMPACTION_SMALL_FILE_RATIO)
        self._least = options.get(COMPACTION_MIN_FILE_NUM)
        self._deleted = options.get(COMPACTION_DELETE_RATIO_THRESHOLD)
        self._open_cost = options.get(SOURCE_SPLIT_OPEN_FILE_COST)

    def unordered(
        self, files: Sequence[DataFileMeta], deletions: Mapping[str, Deletion]
    ) -> Iterator[list[DataFileMeta]]:
        """Small files together, the smallest first; those with deleted rows in any case, big ones if they are many."""
        stale = [f for f in files if f.file_name in deletions and self._is_stale(f, deletions[f.file_name])]
        small = [f for f in files if f.file_size < self._small and f.file_name not in deletions]
        yield from self._packs(stale, least=1)
        yield from self._packs(small, least=max(self._least, 2))

    def whole(self, files: Sequence[DataFileMeta], deletions: Mapping[str, Deletion]) -> Iterator[list[DataFileMeta]]:
        """All files of a bucket from the first on that is small, if enough of them are."""
        ordered = sorted(files, key=lambda f: f.min_sequence_number)
        while ordered and ordered[0].file_size >= self._small and ordered[0].file_name not in deletions:
            ordered.pop(0)
        small = sum(f.file_size < self._small for f in ordered)
        if any(f.file_name in deletions for f in ordered) or (small > len(ordered) - small and len(ordered) >= _FEW):
            yield ordered

    def neighbours(self, files: Sequence[DataFileMeta]) -> Iterator[list[DataFileMeta]]:
        """The first small files that follow each other and are enough to be put together."""
        candidates: list[DataFileMeta] = []
        for f in sorted(files, key=lambda f: f.min_sequence_number):
            if f.file_size >= self._small:
                candidates = []
                continue
            candidates.append(f)
            if len(candidates) >= max(self._least, 2):
                yield candidates
                return
            while len(candidates) > 1 and sum(c.file_size for c in candidates) >= self._target:
                candidates.pop(0)

    def _is_stale(self, file: DataFileMeta, deletion: Deletion) -> bool:
        count = deletion.range.cardinality
        return file.file_size < self._small or count is None or count > file.row_count * self._deleted

    def _packs(self, files: Sequence[DataFileMeta], least: int) -> Iterator[list[DataFileMeta]]:
        pack: list[DataFileMeta] = []
        for f in sorted(files, key=lambda f: (f.file_size, f.min_sequence_number, f.file_name)):
            pack.append(f)
            if len(pack) > 1 and sum(p.file_size + self._open_cost for p in pack) >= 2 * self._target:
                yield pack
                pack = []
        if len(pack) >= least and pack:
            yield sorted(pack, key=lambda f: (f.min_sequence_number, f.creation_time_millis or 0, f.file_name))
