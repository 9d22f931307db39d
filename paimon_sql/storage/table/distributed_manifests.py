"""Manifests read where it is best: here, or, where they hold very many entries, by an engine's executors.

What is read here stays in the cache. Of what executors read, a plan that wants but some of it gets no more than that,
and nothing stays: to play a million entries back takes two gigabytes. What a plan wants whole stays if there is room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa

from paimon_sql.errors import PaimonError
from paimon_sql.format.metadata.manifest import ManifestFileMeta
from paimon_sql.storage.execution.progress import begun
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.execution.task_size import share
from paimon_sql.storage.metadata.manifests import CACHE
from paimon_sql.storage.table.table import Table

MANY_BYTES = 256 * 1024 * 1024
"""From how much on, decoded, executors are sooner done than the process by itself: half a million files of 4 columns.

A job takes half a second, and what comes back a third of the time that decoding it here does.
"""

_TASK_BYTES = 16 * 1024 * 1024
_ENTRY_BYTES, _COLUMN_BYTES = 300, 50
"""What an entry takes in memory, about, and its statistics of each column."""

Choice = Callable[[pa.Table], pa.Table]
"""Leaves out of some entries ADDs that are not wanted, and DELETEs of such files; it travels to executors."""


@dataclass(frozen=True)
class ManifestEntries:
    """What manifests hold.

    Attributes:
        tables: the entries, of ``MANIFEST_SCHEMA``, in the order of the manifests.
        whole: whether none was left out.
    """

    tables: list[pa.Table]
    whole: bool = True


@dataclass(frozen=True)
class ManifestTask:
    """Some manifests that follow each other, to be read by an executor.

    Attributes:
        table: the table.
        names: their names.
        choice: what is wanted of their entries; None is all.
        size: about how many bytes the entries take in memory.
    """

    table: Table
    names: tuple[str, ...]
    choice: Choice | None
    size: int

    def read(self) -> list[pa.Table]:
        """The entries: a table a manifest, or one of what is wanted of all."""
        tables = [self.table.manifests.read_once(name) for name in self.names]
        return tables if self.choice is None else [self.choice(pa.concat_tables(tables))]


def run_manifest_task(task: ManifestTask) -> list[bytes] | None:
    """The tables of a task as Arrow streams; None if the manifests cannot be read, which the driver tells better."""
    try:
        return [_packed(entries) for entries in task.read()]
    except (PaimonError, OSError):
        return None


def read_manifests(
    table: Table, manifests: Sequence[ManifestFileMeta], choice: Choice | None = None
) -> ManifestEntries:
    """The entries of manifests, perhaps without such as are not wanted.

    Args:
        table: the table; its executor reads where there is much to read.
        manifests: the manifests, in the order of their commits.
        choice: what is wanted of them; None is all.

    Raises:
        OSError: a manifest is missing.
        CorruptFileError: one of them is none.
    """
    names = [m.file_name for m in manifests]
    if table.executor is None or _size(table, manifests) < MANY_BYTES:
        return ManifestEntries(table.manifests.read_all(names))
    held = {name: entries for name in names if (entries := table.manifests.held(name)) is not None}
    missing = [m for m in manifests if m.file_name not in held]
    if _size(table, missing) < MANY_BYTES:
        return ManifestEntries(table.manifests.read_all(names))
    if choice is not None or _size(table, manifests) > CACHE.capacity:
        parts = _read_by(table.executor, table, manifests, choice)
        return ManifestEntries([*chain.from_iterable(parts)], choice is None)
    for name, entries in zip(
        (m.file_name for m in missing), chain.from_iterable(_read_by(table.executor, table, missing, None)), strict=True
    ):
        table.manifests.hold(name, entries)
        held[name] = entries
    return ManifestEntries([held[name] for name in names])


def _read_by(
    executor: Executor, table: Table, manifests: Sequence[ManifestFileMeta], choice: Choice | None
) -> list[list[pa.Table]]:
    """What executors read of manifests, a list a task."""
    tasks = _tasks(table, manifests, choice)
    with begun(f"plan of {table.name}") as work:
        answers = executor.watched(work).map(run_manifest_task, tasks)
        return [
            task.read() if answer is None else [*map(_unpacked, answer)]
            for task, answer in zip(tasks, answers, strict=True)
        ]


def _tasks(table: Table, manifests: Sequence[ManifestFileMeta], choice: Choice | None) -> list[ManifestTask]:
    least = share(_size(table, manifests), None, _TASK_BYTES)
    tasks: list[ManifestTask] = []
    names: list[str] = []
    size = 0
    for number, manifest in enumerate(manifests, 1):
        names.append(manifest.file_name)
        size += _size(table, [manifest])
        if size >= least or number == len(manifests):
            tasks.append(ManifestTask(table, tuple(names), choice, size))
            names, size = [], 0
    return tasks


def _size(table: Table, manifests: Sequence[ManifestFileMeta]) -> int:
    """About how many bytes their entries take in memory."""
    entries = sum(m.num_added_files + m.num_deleted_files for m in manifests)
    return entries * (_ENTRY_BYTES + _COLUMN_BYTES * len(table.schema.fields))


def _packed(entries: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, entries.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(entries)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def _unpacked(data: bytes) -> pa.Table:
    with pa.ipc.open_stream(data) as stream:
        return stream.read_all()
