"""The files below a folder as rows of an object table: listed by several threads, folder by folder, in batches."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import pyarrow as pa

from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.storage.file_io import FileIO, FileStatus
from paimon_sql.storage.object_tables.definition import OBJECT_FIELDS

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
