"""Refresh of object tables: it replaces the files of the last one by the current files of the directory.

Changes are counted by a hash of each path and one of its length and time, 16 bytes per file and listing, so that no
complete listing is in memory.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.errors import NotFoundError
from paimon_sql.format.layout.paths import OF_ALL_BRANCHES, OF_EACH_BRANCH
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.expressions.kernels.name_hashes import name_hashes
from paimon_sql.storage.file_io import FileIO, FileStatus
from paimon_sql.storage.object_tables.definition import OBJECT_FIELDS, object_location
from paimon_sql.storage.operations import operations
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.staging.proposal import Overwrite, overwritten
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write

_SCHEMA = arrow_schema(OBJECT_FIELDS)
_BATCH_ROWS = 65_536


def list_objects(
    file_io: FileIO, location: str, threads: int, rows: int = _BATCH_ROWS, apart: re.Pattern[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """List the files below a directory recursively, in no particular order, without hidden ones (``.x``, ``_x``).

    In memory are the files of a batch, the listings in progress and the paths of pending directories.

    Args:
        file_io: the file system.
        location: the directory.
        threads: the number of directories that are listed concurrently.
        rows: the number of rows of a batch.
        apart: the names of direct children of the directory that are skipped.
    """
    pending, found = deque([location]), list[FileStatus]()
    running: set[Future[list[FileStatus]]] = set()

    def is_visible(status: FileStatus) -> bool:
        top = "/" not in status.path[len(location) + 1 :]
        return not (status.name.startswith((".", "_")) or (apart and top and apart.fullmatch(status.name)))

    with ThreadPoolExecutor(threads) as pool:
        try:
            while pending or running:
                while pending and len(running) < threads:
                    running.add(pool.submit(file_io.list, pending.popleft()))
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for listed in (future.result() for future in done):
                    visible = [s for s in listed if is_visible(s)]
                    pending.extend(s.path for s in visible if s.is_dir)
                    found += [s for s in visible if not s.is_dir]
                while len(found) >= rows:
                    yield _batch(found[:rows], location)
                    del found[:rows]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    if found:
        yield _batch(found, location)


def _batch(files: Sequence[FileStatus], location: str) -> pa.RecordBatch:
    cut = len(location) + 1
    columns = [
        pa.array([s.path[cut:] for s in files], pa.string()),
        pa.array([s.name for s in files], pa.string()),
        pa.array([s.size for s in files], pa.int64()),
        pa.array([s.mtime_millis for s in files], pa.int64()),
        pa.repeat(pa.scalar(0, pa.int64()), len(files)),
        pa.nulls(len(files), pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


_LENGTH, _MTIME = "length", "mtime"
_OWN_FILES = re.compile("|".join((*OF_EACH_BRANCH, *OF_ALL_BRANCHES, "REWIND", r"bucket-\d+")))
"""The names of a table's own files and directories."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Refreshed:
    """The result of a refresh.

    Attributes:
        objects: the number of files.
        bytes: their total size.
        added: the number of new files.
        removed: the number of deleted files.
        changed: the number of files with another length or time than before.
        snapshot: the snapshot of the refresh; None if nothing changed, or in a dry run.
    """

    objects: int
    bytes: int
    added: int
    removed: int
    changed: int
    snapshot: Snapshot | None = None

    @property
    def is_same(self) -> bool:
        """Whether nothing changed."""
        return not (self.added or self.removed or self.changed)


@dataclass
class _Listing:
    """The hashes of one of the two compared listings."""

    paths: list[npt.NDArray[np.uint64]] = field(default_factory=list)
    states: list[npt.NDArray[np.uint64]] = field(default_factory=list)
    bytes: int = 0

    def observed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Collect the hashes of batches, and return these unchanged."""
        for batch in batches:
            lengths, times = (np.asarray(batch[name]).astype(np.uint64) for name in (_LENGTH, _MTIME))
            self.paths.append(name_hashes(batch["path"]))
            self.states.append(lengths * _FACTOR + times)
            self.bytes += int(lengths.sum())
            yield batch

    def joined(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """The hashes of paths, and those of length and time."""
        none = np.zeros(0, np.uint64)
        return np.concatenate([none, *self.paths]), np.concatenate([none, *self.states])


def refresh(table: Table, file_io: FileIO, threads: int, *, dry_run: bool = False) -> Refreshed:
    """List the directory of an object table, and commit its files if they have changed.

    Args:
        table: the table.
        file_io: the file system of the directory.
        threads: the number of directories that are listed concurrently.
        dry_run: only report what would change.

    Raises:
        NotFoundError: the directory does not exist; the table is unchanged.
    """
    location = object_location(table)
    if not file_io.is_object_store(location) and file_io.status(location) is None:
        raise NotFoundError(
            f"{table.name} lists {location}, which does not exist.", name=location, remedy="The table was not changed."
        )
    before, now = _Listing(), _Listing()
    for split in plan_scan(table).splits:
        deque(before.observed(ReadTask(table, split, ("path", _LENGTH, _MTIME)).batches()), maxlen=0)
    own = _OWN_FILES if location == table.path else None
    listed = now.observed(list_objects(file_io, location, threads, apart=own))
    if dry_run:
        deque(listed, maxlen=0)
        return _compared(before, now)
    everything = Overwrite()
    with Transaction(table) as transaction:
        messages = transaction.staged.own(plan_write(table, everything).run(listed))
        result = _compared(before, now)
        if result.is_same:
            return result
        snapshot = operations.overwrite(
            transaction, messages, lambda latest: overwritten(table, latest, everything, messages)
        )
        return replace(result, snapshot=snapshot)


def _compared(before: _Listing, now: _Listing) -> Refreshed:
    (old, old_states), (new, new_states) = before.joined(), now.joined()
    both, in_old, in_new = np.intersect1d(old, new, return_indices=True)
    changed = int(np.count_nonzero(old_states[in_old] != new_states[in_new]))
    return Refreshed(len(new), now.bytes, len(new) - len(both), len(old) - len(both), changed)
