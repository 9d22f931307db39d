"""Data files that a table's metadata names but that are not there any more: found, and taken out of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import pyarrow as pa

from paimon_sql.format.metadata.manifest import ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.operations.write import FILE_OPERATION_THREAD_NUM
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.execution.task_size import share
from paimon_sql.storage.execution.threads import spread
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.paths import name_of, parent_of
from paimon_sql.storage.operations import operations
from paimon_sql.storage.retention.files_to_delete import DEFAULT_THREADS
from paimon_sql.storage.row_level.vectors import forget
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.paths.data_file_paths import data_file_paths
from paimon_sql.storage.table.table import Table

_FOLDER_SIZE = 64 * 1024
"""What listing a folder counts as when an engine decides where tasks run, in bytes of reading."""
_LEAST_FOLDERS = 16


@dataclass(frozen=True)
class LookTask:
    """Folders, each with the paths of files that should stand there, to be looked for by one worker."""

    file_io: FileIO
    folders: tuple[tuple[str, tuple[str, ...]], ...]
    threads: int

    @property
    def size(self) -> int:
        """What the work is worth, in bytes."""
        return len(self.folders) * _FOLDER_SIZE


@dataclass(frozen=True)
class LostFile:
    """A data file that is not there: its path, and what the snapshot says of it."""

    path: str
    entry: ManifestEntry


def find_lost(table: Table, snapshot: Snapshot, executor: Executor, tasks: int | None = None) -> list[LostFile]:
    """The live data files of a snapshot that are not there, sorted by path.

    Args:
        table: the table.
        snapshot: the snapshot.
        executor: runs the tasks.
        tasks: how many tasks there are; as many as are worth it by default.
    """
    live = live_files(table, snapshot).entries
    paths = data_file_paths(table, live).to_pylist()
    folders = [(folder, tuple(group)) for folder, group in groupby(sorted(paths), parent_of)]
    threads: int = table.options.get(FILE_OPERATION_THREAD_NUM) or DEFAULT_THREADS
    step = share(len(folders), tasks, _LEAST_FOLDERS)
    plan = [LookTask(table.file_io, tuple(folders[at : at + step]), threads) for at in range(0, len(folders), step)]
    lost = {path for found in executor.map(look_for, plan) for path in found}
    places = [at for at, path in enumerate(paths) if path in lost]
    found = [
        LostFile(paths[at], e) for at, e in zip(places, entries(live.take(pa.array(places, pa.int64()))), strict=True)
    ]
    return sorted(found, key=lambda f: f.path)


def look_for(task: LookTask) -> list[str]:
    """Do one task: the paths at which nothing stands."""
    found = spread(lambda folder: _not_there(task.file_io, *folder), task.folders, task.threads)
    return [path for paths in found for path in paths]


def remove_lost(table: Table, base: Snapshot, lost: Sequence[LostFile]) -> Snapshot:
    """Take files that are lost out of the table, with what deletion vectors say of them.

    Args:
        table: the table.
        base: the snapshot in which they were found.
        lost: the files, at least one.

    Raises:
        CommitConflictError: others have changed these files or their deletion vectors meanwhile.
    """
    found = [file.entry for file in lost]
    messages = {(m.partition, m.bucket): m for m in forget(table, base, found)}
    for e in found:
        place = e.partition, e.bucket
        message = messages.get(place, CommitMessage(*place, e.total_buckets))
        messages[place] = replace(message, deleted_files=(*message.deleted_files, e.file))
    with Transaction(table, base=base) as transaction:
        return operations.append(transaction, list(messages.values()))[0]


def _not_there(file_io: FileIO, folder: str, paths: Sequence[str]) -> list[str]:
    there = {status.name for status in file_io.list(folder)}
    # A listing may be behind: what it does not tell is looked for by itself.
    return [path for path in paths if name_of(path) not in there and not file_io.exists(path)]
