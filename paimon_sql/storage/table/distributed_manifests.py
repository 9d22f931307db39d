"""Distributed reading of manifests: by the process itself, or by an engine's executors if they are very large.

What the process reads is cached. Of what executors read, a plan that needs only a part gets only that, uncached: a
million entries take two gigabytes. Complete results are cached if they fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

import pyarrow as pa

from paimon_sql.errors import PaimonError
from paimon_sql.format.metadata.manifest import ManifestFileMeta
from paimon_sql.storage.execution.arrow_streams import packed, unpacked
from paimon_sql.storage.execution.task_executor import Executor, items_per_task, register_work
from paimon_sql.storage.metadata.manifests import manifest_cache
from paimon_sql.storage.table.table import Table

MANY_BYTES = 256 * 1024 * 1024
"""Decoded size from which executors are faster than the process: half a million files of 4 columns.

A job takes half a second, and decoding its results a third of the time of decoding the manifests.
"""

_TASK_BYTES = 16 * 1024 * 1024
_ENTRY_BYTES, _COLUMN_BYTES = 300, 50
"""Approximate memory of an entry, and of its statistics per column."""


class Choice(Protocol):
    """Which entries a plan needs; it is pickled for executors."""

    def __call__(self, entries: pa.Table) -> pa.Table:
        """Drop ADD entries that are not needed, and the DELETEs of their files."""

    def bounds(self, names: Sequence[str], tables: Sequence[pa.Table]) -> pa.Table | None:
        """What to remember of whole manifests, given their names and entries; None for nothing."""


@dataclass(frozen=True)
class ManifestEntries:
    """The entries of manifests.

    Attributes:
        tables: the entries, of ``MANIFEST_SCHEMA``, in the order of the manifests.
        whole: whether no entry was dropped.
        bounds: what to remember of whole manifests (`Choice.bounds`).
    """

    tables: list[pa.Table]
    whole: bool = True
    bounds: Sequence[pa.Table] = ()


@dataclass(frozen=True)
class ManifestTask:
    """Consecutive manifests for an executor to read.

    Attributes:
        table: the table.
        names: names of the manifests.
        choice: selects entries; None selects all.
        size: approximate memory of the entries in bytes.
    """

    table: Table
    names: tuple[str, ...]
    choice: Choice | None
    size: int

    def read(self) -> list[pa.Table]:
        """Read one table per manifest, or a table of the selected entries and one of what to remember."""
        tables = [self.table.manifests.read_once(name) for name in self.names]
        if self.choice is None:
            return tables
        bounds = self.choice.bounds(self.names, tables)
        return [self.choice(pa.concat_tables(tables)), *([] if bounds is None else [bounds])]


def run_manifest_task(task: ManifestTask) -> list[bytes] | None:
    """Return a task's tables as Arrow streams; None on an error, which the driver reports better."""
    try:
        return [packed(found) for found in task.read()]
    except (PaimonError, OSError):
        return None


def read_manifests(
    table: Table, manifests: Sequence[ManifestFileMeta], choice: Choice | None = None
) -> ManifestEntries:
    """Return the entries of manifests, possibly without those that are not needed.

    Args:
        table: the table; its executor reads large manifests.
        manifests: the manifests, in the order of their commits.
        choice: selects entries; None selects all.

    Raises:
        OSError: a manifest is missing.
        CorruptFileError: a manifest is invalid.
    """
    names = [m.file_name for m in manifests]
    if table.executor is None or _size(table, manifests) < MANY_BYTES:
        return _read_here(table, names, choice)
    cached = {name: entries for name in names if (entries := table.manifests.cached(name)) is not None}
    missing = [m for m in manifests if m.file_name not in cached]
    if _size(table, missing) < MANY_BYTES:
        return _read_here(table, names, choice)
    if choice is not None:
        parts = _read_by(table.executor, table, manifests, choice)
        return ManifestEntries([part[0] for part in parts], whole=False, bounds=[b for part in parts for b in part[1:]])
    if _size(table, manifests) > manifest_cache().capacity:
        return ManifestEntries([*chain.from_iterable(_read_by(table.executor, table, manifests, None))])
    for name, entries in zip(
        (m.file_name for m in missing), chain.from_iterable(_read_by(table.executor, table, missing, None)), strict=True
    ):
        table.manifests.cache(name, entries)
        cached[name] = entries
    return ManifestEntries([cached[name] for name in names])


def _read_here(table: Table, names: Sequence[str], choice: Choice | None) -> ManifestEntries:
    tables = table.manifests.read_all(names)
    bounds = choice.bounds(names, tables) if choice is not None and names else None
    return ManifestEntries(tables, bounds=() if bounds is None else (bounds,))


def _read_by(
    executor: Executor, table: Table, manifests: Sequence[ManifestFileMeta], choice: Choice | None
) -> list[list[pa.Table]]:
    """Read manifests on executors: the tables of each task (`ManifestTask.read`)."""
    tasks = _tasks(table, manifests, choice)
    with register_work(f"plan of {table.name}") as work:
        answers = executor.watched(work).map(run_manifest_task, tasks)
        return [
            task.read() if answer is None else [*map(unpacked, answer)]
            for task, answer in zip(tasks, answers, strict=True)
        ]


def _tasks(table: Table, manifests: Sequence[ManifestFileMeta], choice: Choice | None) -> list[ManifestTask]:
    min_size = items_per_task(_size(table, manifests), None, _TASK_BYTES)
    tasks: list[ManifestTask] = []
    names: list[str] = []
    size = 0
    for number, manifest in enumerate(manifests, 1):
        names.append(manifest.file_name)
        size += _size(table, [manifest])
        if size >= min_size or number == len(manifests):
            tasks.append(ManifestTask(table, tuple(names), choice, size))
            names, size = [], 0
    return tasks


def _size(table: Table, manifests: Sequence[ManifestFileMeta]) -> int:
    """Return the approximate memory of the manifests' entries in bytes."""
    entries = sum(m.num_added_files + m.num_deleted_files for m in manifests)
    return entries * (_ENTRY_BYTES + _COLUMN_BYTES * len(table.schema.fields))
