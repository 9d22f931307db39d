"""Lost files: data files that the metadata names but that do not exist; their search, and removal from the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import pyarrow as pa

from paimon_sql.format.metadata.manifest import ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.paths import name_of, parent_of
from paimon_sql.storage.operations import operations
from paimon_sql.storage.retention.files_to_delete import operation_threads
from paimon_sql.storage.row_level.vectors import drop_vectors
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.data_file_paths import data_file_paths
from paimon_sql.storage.table.table import Table

_LISTING_SIZE = 64 * 1024
"""The cost of listing a directory, in bytes of reading, by which the engine decides where tasks run."""
_MIN_DIRECTORIES = 16


@dataclass(frozen=True)
class ExistenceCheckTask:
    """Directories for one worker to list, each with the paths of the files that must be there."""

    file_io: FileIO
    folders: tuple[tuple[str, tuple[str, ...]], ...]
    threads: int

    @property
    def size(self) -> int:
        """The cost of the task, in bytes."""
        return len(self.folders) * _LISTING_SIZE

    def run(self) -> list[str]:
        """Return the paths that do not exist."""
        found = map_in_threads(lambda directory: _missing(self.file_io, *directory), self.folders, self.threads)
        return [path for paths in found for path in paths]


@dataclass(frozen=True)
class LostFile:
    """A missing data file: its path and its manifest entry."""

    path: str
    entry: ManifestEntry


def find_lost(table: Table, snapshot: Snapshot, executor: Executor, tasks: int | None = None) -> list[LostFile]:
    """Return the live data files of a snapshot that do not exist, sorted by path.

    Args:
        table: the table.
        snapshot: the snapshot.
        executor: runs the tasks.
        tasks: the number of tasks; by default chosen by the number of directories.
    """
    live = live_files(table, snapshot).entries
    paths = data_file_paths(table, live).to_pylist()
    directories = [(directory, tuple(group)) for directory, group in groupby(sorted(paths), parent_of)]
    threads = operation_threads(table)

    def task_of(part: Sequence[tuple[str, tuple[str, ...]]]) -> ExistenceCheckTask:
        return ExistenceCheckTask(table.file_io, tuple(part), threads)

    shares = executor.run_shares(directories, task_of, _MIN_DIRECTORIES, tasks)
    lost = {path for found in shares for path in found}
    indexes = [i for i, path in enumerate(paths) if path in lost]
    lost_entries = entries(live.take(pa.array(indexes, pa.int64())))
    return sorted(map(LostFile, [paths[i] for i in indexes], lost_entries), key=lambda f: f.path)


def remove_lost(table: Table, base: Snapshot, lost: Sequence[LostFile]) -> Snapshot:
    """Remove lost files and their deletion vectors from the table.

    Args:
        table: the table.
        base: the snapshot that names them.
        lost: the files, at least one.

    Raises:
        CommitConflictError: these files or their deletion vectors were changed concurrently.
    """
    found = [file.entry for file in lost]
    messages = {(m.partition, m.bucket): m for m in drop_vectors(table, base, found)}
    for e in found:
        bucket = e.partition, e.bucket
        message = messages.get(bucket, CommitMessage(*bucket, e.total_buckets))
        messages[bucket] = replace(message, deleted_files=(*message.deleted_files, e.file))
    with Transaction(table, base=base) as transaction:
        return operations.append(transaction, list(messages.values()))[0]


def _missing(file_io: FileIO, directory: str, paths: Sequence[str]) -> list[str]:
    listed = {status.name for status in file_io.list(directory)}
    # A listing may be stale, so that each missing file is checked separately.
    return [path for path in paths if name_of(path) not in listed and not file_io.exists(path)]
