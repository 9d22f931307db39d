"""``python -m bench.expire_many``: what the expiry of many snapshots of a table of many files costs.

Two tables are made whose data files are empty: one whose every commit replaces as many files as it brings, so that
expiry deletes all that the snapshots left, and one that only grows, so that next to nothing is to be deleted. Each is
expired in one call in a process of its own, which has read nothing before; then again with three times the files that
stand there from before, to show that the manifests read grow with the range and not with the table.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa

from bench import commits
from bench.own_process import answer_of
from paimon_sql.format.metadata.data_file import DataFileMeta, FileSource
from paimon_sql.format.metadata.snapshot import CommitKind
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField, IntType
from paimon_sql.storage.file_io import FileStatus, LocalFileIO
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.staging.commit_messages import CommitMessage, append_changes
from paimon_sql.storage.table.table import Table

_PARTITION = b"\x00\x00\x00\x00" + b"\x00" * 8
_FILE_BYTES = 1_000_000
_BUCKETS = 16
_KEPT = 1


class CountingFileIO(LocalFileIO):
    """Counts file operations by what is done and to which folder."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def _count(self, what: str, path: str) -> None:
        parent = path.rsplit("/", 2)[-2]
        with self._lock:
            self.counts[f"{what} {'data' if parent.startswith('bucket-') else parent}"] += 1

    def read_bytes(self, path: str) -> bytes:
        self._count("read", path)
        return super().read_bytes(path)

    def open_input(self, path: str) -> pa.NativeFile:
        self._count("read", path)
        return super().open_input(path)

    def write_bytes(self, path: str, data: bytes) -> None:
        self._count("write", path)
        super().write_bytes(path, data)

    def status(self, path: str) -> FileStatus | None:
        self._count("look at", path)
        return super().status(path)

    def list(self, path: str) -> list[FileStatus]:
        self._count("list", f"{path}/")
        return super().list(path)

    def delete(self, path: str) -> bool:
        self._count("delete", path)
        return super().delete(path)

    def delete_if(self, path: str, is_meant: Callable[[bytes], bool], *, durable: bool = False) -> bool:
        self._count("delete", path)
        return super().delete_if(path, is_meant, durable=durable)


def make(path: Path, snapshots: int, per_snapshot: int, standing: int, *, replaces: bool) -> None:
    """Make a table of empty data files.

    Args:
        path: its folder.
        snapshots: how many snapshots are to expire.
        per_snapshot: how many files each of them brings.
        standing: how many files stand there before.
        replaces: whether each takes as many away again.
    """
    schema = new_schema([DataField(0, "id", IntType())], options={"write-only": "true"})
    table = Table("bench", str(path), LocalFileIO(), schema)
    table.schemas.try_add(schema)
    run, number = uuid.uuid4(), 0

    def files(count: int) -> list[DataFileMeta]:
        nonlocal number
        made = []
        for _ in range(count):
            made.append(DataFileMeta(f"data-{run}-{number}.parquet", _FILE_BYTES, 1, file_source=FileSource.APPEND))
            folder = Path(table.locations.bucket(_PARTITION, number % _BUCKETS))
            folder.mkdir(parents=True, exist_ok=True)
            (folder / made[-1].file_name).touch()
            number += 1
        return made

    def commit(new: Sequence[DataFileMeta], gone: Sequence[DataFileMeta]) -> None:
        buckets: dict[int, tuple[list[DataFileMeta], list[DataFileMeta]]] = {}
        for which, some in ((0, new), (1, gone)):
            for file in some:
                place = int(file.file_name.rpartition("-")[2].partition(".")[0]) % _BUCKETS
                buckets.setdefault(place, ([], []))[which].append(file)
        messages = [
            CommitMessage(_PARTITION, bucket, -1, new_files=tuple(come), deleted_files=tuple(go))
            for bucket, (come, go) in buckets.items()
        ]
        kind = CommitKind.OVERWRITE if gone else CommitKind.APPEND
        commits.commit(table, kind, append_changes(messages))

    commit(files(standing), [])
    before = files(per_snapshot)
    commit(before, [])
    for _ in range(snapshots - 1):
        new = files(per_snapshot)
        commit(new, before if replaces else [])
        before = new


def peak_bytes() -> int:
    """The most memory that this process has had so far; Linux's own figure, as others count what started it too."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def expire(path: Path) -> dict[str, object]:
    """Expire all snapshots of a table but one, in one call: what it took."""
    counting = CountingFileIO()
    schema = Table("bench", str(path), counting, new_schema([DataField(0, "id", IntType())])).schemas.get(0)
    table = Table("bench", str(path), counting, schema)
    before = peak_bytes()
    started = time.perf_counter()
    done = expire_snapshots(table, Retention(_KEPT, _KEPT, 2**62, 2**31 - 1))
    seconds = time.perf_counter() - started
    return {
        "snapshots": len(done.snapshots),
        "files": done.files.count,
        "data files": done.files.data,
        "seconds": round(seconds, 2),
        "peak memory over the beginning, MB": round((peak_bytes() - before) / 1e6, 1),
        "operations": dict(sorted(counting.counts.items())),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it, and print what was found as one JSON object a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.expire_many", description=__doc__)
    parser.add_argument("--snapshots", type=int, default=1000, help="snapshots that expire (1000)")
    parser.add_argument("--files", type=int, default=20_000, help="data files of the table (20000)")
    parser.add_argument("--folder", type=Path, default=None, help="where the tables are made")
    parser.add_argument("--table", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.table is not None:
        print(json.dumps(expire(asked.table)))
        return 0
    folder = Path(tempfile.mkdtemp(prefix="paimon-sql-expire-", dir=asked.folder))
    per_snapshot = max(1, asked.files // asked.snapshots)
    try:
        for replaces in (True, False):
            for times in (1, 3):
                standing = times * (asked.files - (0 if replaces else asked.snapshots))
                path = folder / f"{replaces}-{times}"
                make(path, asked.snapshots, per_snapshot if replaces else 1, standing, replaces=replaces)
                found = json.loads(answer_of("bench.expire_many", "--table", path))
                what = "each commit replaces files" if replaces else "each commit adds a file"
                print(json.dumps({"table": what, "standing files": standing, **found}, indent=2), flush=True)
                shutil.rmtree(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
