"""A refresh of an object table: the files of its folder as they are now take the place of those that it knew.

What changed is counted by a hash of each path and one of its length and time, sixteen bytes a file and side, so that
neither listing is ever held as a whole.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.errors import NotFoundError
from paimon_sql.format.layout.paths import (
    BRANCH,
    CHANGELOG,
    CONSUMER,
    INDEX,
    MANIFEST,
    SCHEMA,
    SNAPSHOT,
    STATISTICS,
    TAG,
)
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.expressions.kernels.name_hashes import name_hashes
from paimon_sql.storage.file_io import FileIO, FileStatus
from paimon_sql.storage.object_tables.definition import OBJECT_FIELDS, object_location
from paimon_sql.storage.operations import operations
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.staging.overwrite import Overwrite, overwritten
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write

_SCHEMA = arrow_schema(OBJECT_FIELDS)
_ROWS = 65_536


def list_objects(
    file_io: FileIO, location: str, threads: int, rows: int = _ROWS, apart: re.Pattern[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The files below a folder at any depth, in no particular order; hidden ones (``.x``, ``_x``) are left out.

    What is held at a time are the files of a batch, the folders that are being listed and the names of those that
    wait.

    Args:
        file_io: the file system.
        location: the folder.
        threads: how many folders are listed at a time.
        rows: how many rows a batch has, the last one fewer.
        apart: the names of files and folders that are left out where they stand in the folder itself.
    """
    waiting, found = deque([location]), list[FileStatus]()
    running: set[Future[list[FileStatus]]] = set()

    def is_shown(status: FileStatus) -> bool:
        top = "/" not in status.path[len(location) + 1 :]
        return not (status.name.startswith((".", "_")) or (apart and top and apart.fullmatch(status.name)))

    with ThreadPoolExecutor(threads) as pool:
        try:
            while waiting or running:
                while waiting and len(running) < threads:
                    running.add(pool.submit(file_io.list, waiting.popleft()))
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for listed in (one.result() for one in done):
                    shown = [s for s in listed if is_shown(s)]
                    waiting.extend(s.path for s in shown if s.is_dir)
                    found += [s for s in shown if not s.is_dir]
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
_OWN = re.compile(
    "|".join((SNAPSHOT, CHANGELOG, SCHEMA, TAG, CONSUMER, BRANCH, MANIFEST, INDEX, STATISTICS, "REWIND", r"bucket-\d+"))
)
"""What a table keeps in its folder for itself."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Refreshed:
    """What a refresh found.

    Attributes:
        objects: how many files there are.
        bytes: their size.
        added: files that were not known.
        removed: files that are gone.
        changed: files of another length or time than before.
        snapshot: the snapshot that holds them; None where nothing changed, or nothing was to be done.
    """

    objects: int
    bytes: int
    added: int
    removed: int
    changed: int
    snapshot: Snapshot | None

    @property
    def is_same(self) -> bool:
        """Whether there is nothing new."""
        return not (self.added or self.removed or self.changed)


@dataclass
class _Side:
    """One listing, as far as two of them are compared."""

    paths: list[npt.NDArray[np.uint64]] = field(default_factory=list)
    states: list[npt.NDArray[np.uint64]] = field(default_factory=list)
    bytes: int = 0

    def looked_at(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches themselves, taken note of."""
        for batch in batches:
            lengths, times = (np.asarray(batch[name]).astype(np.uint64) for name in (_LENGTH, _MTIME))
            self.paths.append(name_hashes(batch["path"]))
            self.states.append(lengths * _FACTOR + times)
            self.bytes += int(lengths.sum())
            yield batch

    def joined(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """The hashes of paths and those of what is known of each file."""
        none = np.zeros(0, np.uint64)
        return np.concatenate([none, *self.paths]), np.concatenate([none, *self.states])


def refresh(table: Table, file_io: FileIO, threads: int, *, dry_run: bool = False) -> Refreshed:
    """List the folder of an object table, and commit what it holds if that is something else than before.

    Args:
        table: the table.
        file_io: the file system that holds the folder.
        threads: how many folders are listed at a time.
        dry_run: only say what would be done.

    Raises:
        NotFoundError: there is no such folder; the table keeps what it knows.
    """
    location = object_location(table)
    if not file_io.is_object_store(location) and file_io.status(location) is None:
        raise NotFoundError(
            f"{table.name} lists {location}, which is not there.", name=location, remedy="The table is as it was."
        )
    before, now = _Side(), _Side()
    for split in plan_scan(table).splits:
        for _ in before.looked_at(ReadTask(table, split, ("path", _LENGTH, _MTIME)).batches()):
            pass
    own = _OWN if location == table.path else None
    listed = now.looked_at(list_objects(file_io, location, threads, apart=own))
    if dry_run:
        for _ in listed:
            pass
        return _compared(before, now, None)
    with Transaction(table) as transaction:
        messages = transaction.staged.take(plan_write(table, overwrite=True).run(listed))
        found = _compared(before, now, None)
        if found.is_same:
            return found
        everything = Overwrite()
        made = operations.overwrite(
            transaction, messages, lambda latest: overwritten(table, latest, everything, messages)
        )
        return _compared(before, now, made)


def _compared(before: _Side, now: _Side, snapshot: Snapshot | None) -> Refreshed:
    (old, old_states), (new, new_states) = before.joined(), now.joined()
    both, in_old, in_new = np.intersect1d(old, new, return_indices=True)
    changed = int(np.count_nonzero(old_states[in_old] != new_states[in_new]))
    return Refreshed(len(new), now.bytes, len(new) - len(both), len(old) - len(both), changed, snapshot)
