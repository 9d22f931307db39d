"""Load history of COPY INTO: the files that were loaded into a table, which later statements skip.

Each load of a file is a small file ``copy-into/history/load-<hash of its path>-<time>`` in the table's directory. Name
and content are those of Apache Paimon's connector (``CopyLoadHistoryManager``), so that each skips the other's loads.

Rows and records become visible atomically: the files of a load are listed in ``copy-into/pending`` before its commit,
and the snapshot names that list. The files of a list that a snapshot names count as loaded; the list is then replaced
by records.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace

from paimon_sql.errors import CommitConflictError, MissingFileError
from paimon_sql.format.bytes.bounded import load_json
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.commit.snapshot.carried_properties import LOADS, loads_in, snapshot_before
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.file_io.paths import join, name_of, spellings
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.table.table import Table

FOLDER = "copy-into/history"
PENDING = "copy-into/pending"
_NAME = re.compile(r"load-([0-9a-f]{16})-\d+")
_THREADS = 8
_UNREADABLE = (MissingFileError, ValueError, LookupError, TypeError)
"""The errors of a file that was deleted or does not have the expected content."""
_GIVEN_UP_MILLIS = 24 * 3_600_000
"""The age after which a list that no snapshot names is deleted, as for orphan files."""
_SKEW_MILLIS = 3_600_000
"""The max difference between the clocks of two writers."""


class FilesLoadedError(CommitConflictError):
    """A concurrent job has loaded some of the files."""


@dataclass(frozen=True)
class SourceFile:
    """A file to load; with another size or modification time it is another file.

    Attributes:
        path: its full path, with scheme.
        size: its bytes.
        mtime_millis: its modification time, in milliseconds since the epoch.
    """

    path: str
    size: int
    mtime_millis: int

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class PendingLoad:
    """The files of one load, recorded before its commit.

    Attributes:
        id: the id by which the snapshot names it.
        path: the path of the list.
        branch: the branch that the files are loaded into.
        loads: the files, each with the number of rows loaded from it.
        millis: the time of the load, in milliseconds since the epoch.
    """

    id: str
    path: str
    branch: str
    loads: tuple[tuple[SourceFile, int], ...]
    millis: int

    @property
    def properties(self) -> Mapping[str, str]:
        """The properties of the snapshot that commits the load."""
        return {LOADS: self.id}


class LoadHistory:
    """The load history of a table and its branches."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._file_io = table.file_io
        self._directory = join(table.path, FOLDER)
        self._pending_directory = join(table.path, PENDING)

    def loaded(self, files: Collection[SourceFile]) -> set[SourceFile]:
        """Return the files that were already loaded with their current size and time, by any scheme of their store.

        Unreadable records are ignored.
        """
        spellings_of = {file: [replace(file, path=path) for path in spellings(file.path)] for file in files}
        # Lists are read before records: records are written before their list is deleted.
        recorded = {file for pending, _ in self._committed().values() for file, _ in pending.loads}
        hashes = {_hash(f.path) for same in spellings_of.values() for f in same}
        matches = ((s.path, _NAME.fullmatch(s.name)) for s in self._file_io.list(self._directory))
        paths = [path for path, match in matches if match and match[1] in hashes]
        recorded |= {found for found in map_in_threads(self._read, paths, _THREADS) if found is not None}
        return {file for file, same in spellings_of.items() if not recorded.isdisjoint(same)}

    def not_loaded(self, files: Collection[SourceFile]) -> Validation:
        """The validation that no concurrent job has loaded one of the files; it raises `FilesLoadedError`."""

        def check(proposal: Proposal) -> None:
            if found := LoadHistory(proposal.table).loaded(files):
                raise FilesLoadedError(
                    f"{proposal.table.name}: another job concurrently loaded {min(f.name for f in found)}.",
                    remedy="Run the statement again.",
                )

        return Validation("no other job has loaded these files", check)

    def prepared(self, loads: Sequence[tuple[SourceFile, int]]) -> PendingLoad:
        """Record the files of a load before its commit; they count as loaded when a snapshot names the list.

        Args:
            loads: the files, each with the number of rows loaded from it.
        """
        name, millis = str(uuid.uuid4()), current_millis()
        pending = PendingLoad(name, join(self._pending_directory, name), self._table.branch, tuple(loads), millis)
        body = {
            "branch": pending.branch,
            "millis": pending.millis,
            "loads": [{**asdict(file), "rows": rows} for file, rows in pending.loads],
        }
        self._file_io.write_durably(pending.path, json.dumps(body, ensure_ascii=False).encode())
        return pending

    def finish(self) -> None:
        """Replace the lists of committed loads by records, and delete the lists of abandoned loads."""
        committed = self._committed()
        for status in self._file_io.list(self._pending_directory):
            if status.path in committed:
                pending, snapshot_id = committed[status.path]
                self.record(pending.loads, snapshot_id, pending.millis)
            elif current_millis() - status.mtime_millis < _GIVEN_UP_MILLIS:
                continue
            self._file_io.delete(status.path)

    def record(self, loaded: Sequence[tuple[SourceFile, int]], snapshot_id: int, now_millis: int) -> None:
        """Write the records of loads.

        Args:
            loaded: the files, each with the number of rows loaded from it.
            snapshot_id: the snapshot that committed them, or the table's latest one.
            now_millis: the time, in milliseconds since the epoch.
        """

        def write(one: tuple[SourceFile, int]) -> None:
            file, rows = one
            body = {
                "filePath": file.path,
                "fileSize": file.size,
                "lastModified": file.mtime_millis,
                "loadedAt": now_millis,
                "snapshotId": snapshot_id,
                "rowsLoaded": rows,
            }
            text = json.dumps(body, indent=2, separators=(",", " : "), ensure_ascii=False)
            path = join(self._directory, f"load-{_hash(file.path)}-{now_millis}")
            self._file_io.write_durably(path, text.encode())

        map_in_threads(write, loaded, _THREADS)

    def _committed(self) -> dict[str, tuple[PendingLoad, int]]:
        """The lists that snapshots name, by path, each with the id of such a snapshot."""
        lists = [one for s in self._file_io.list(self._pending_directory) if (one := self._list(s.path)) is not None]
        found: dict[str, tuple[PendingLoad, int]] = {}
        for branch in {pending.branch for pending in lists}:
            missing = {pending.id: pending for pending in lists if pending.branch == branch}
            first = min(pending.millis for pending in missing.values()) - _SKEW_MILLIS
            snapshots = replace(self._table, branch=branch).snapshots
            snapshot = snapshots.latest()
            # A list is named by the snapshot of its load and by later ones, so that mostly the latest one suffices.
            while snapshot is not None and missing and snapshot.time_millis >= first:
                for name in loads_in(snapshot.properties):
                    if (pending := missing.pop(name, None)) is not None:
                        found[pending.path] = pending, snapshot.id
                snapshot = snapshot_before(replace(self._table, branch=branch), snapshot)
        return found

    def _list(self, path: str) -> PendingLoad | None:
        with suppress(*_UNREADABLE):
            body = load_json(self._file_io.read_bytes(path))
            loads = tuple(
                (SourceFile(str(one["path"]), int(one["size"]), int(one["mtime_millis"])), int(one["rows"]))
                for one in body["loads"]
            )
            return PendingLoad(name_of(path), path, str(body.get("branch", MAIN_BRANCH)), loads, int(body["millis"]))
        return None

    def _read(self, path: str) -> SourceFile | None:
        with suppress(*_UNREADABLE):
            body = load_json(self._file_io.read_bytes(path))
            return SourceFile(str(body["filePath"]), int(body["fileSize"]), int(body["lastModified"]))
        return None


def _hash(path: str) -> str:
    return hashlib.sha256(path.encode()).hexdigest()[:16]
