"""The files that COPY INTO has loaded into a table, so that the next one passes them over.

Each load of a file is a small file ``copy-into/history/load-<hash of its path>-<time>`` in the table's folder. Name and
content are those of Apache Paimon's connector (``CopyLoadHistoryManager``), so that each knows the other's loads.

Rows and records become visible at once: the files of a load are listed in ``copy-into/pending`` before its commit, and
the snapshot names that list. A list that a snapshot names counts as loaded; it is then turned into records.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from paimon_sql.errors import CommitConflictError, MissingFileError
from paimon_sql.format.bytes.bounded import load_json
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.text.instants import present_millis
from paimon_sql.storage.commit.snapshot.carried_properties import LOADS, snapshot_before
from paimon_sql.storage.execution.threads import spread
from paimon_sql.storage.file_io.paths import join, name_of, spellings
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.table.table import Table

FOLDER = "copy-into/history"
PENDING = "copy-into/pending"
_NAME = re.compile(r"load-([0-9a-f]{16})-\d+")
_THREADS = 8
_GIVEN_UP_MILLIS = 24 * 3_600_000
"""How old a list is that no commit will name any more, as for orphan files."""
_SKEW_MILLIS = 3_600_000
"""How far the clocks of two writers may differ."""


class FilesLoadedError(CommitConflictError):
    """Another job has loaded some of the files meanwhile."""


@dataclass(frozen=True)
class SourceFile:
    """A file that rows are loaded from; another size or time makes it another file.

    Attributes:
        path: its full path, scheme and all.
        size: its bytes.
        mtime_millis: when it was changed last, in milliseconds since the epoch.
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
    """The files of one load, written down before its commit.

    Attributes:
        id: what the snapshot names it by.
        path: the path of the list.
        branch: the branch that the files are loaded into.
        loads: each file with the number of its rows that are in the table.
        millis: the time of the load, in milliseconds since the epoch.
    """

    id: str
    path: str
    branch: str
    loads: tuple[tuple[SourceFile, int], ...]
    millis: int

    @property
    def properties(self) -> Mapping[str, str]:
        """What the snapshot keeps."""
        return {LOADS.key: LOADS.written([self.id])}


class LoadHistory:
    """The loads of one table and its branches."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._file_io = table.file_io
        self._folder = join(table.path, FOLDER)
        self._pending_folder = join(table.path, PENDING)

    def loaded(self, files: Collection[SourceFile]) -> set[SourceFile]:
        """Those of the files that were loaded as they are now, whatever scheme of their store was said then.

        A record that cannot be read counts for none.
        """
        spelled = {file: [replace(file, path=path) for path in spellings(file.path)] for file in files}
        # Lists are looked at before records, which are written before a list goes.
        recorded = {file for pending, _ in self._committed().values() for file, _ in pending.loads}
        hashes = {_hash(f.path) for same in spelled.values() for f in same}
        listed = ((s.path, _NAME.fullmatch(s.name)) for s in self._file_io.list(self._folder))
        paths = [path for path, match in listed if match and match[1] in hashes]
        recorded |= {found for found in spread(self._read, paths, _THREADS) if found is not None}
        return {file for file, same in spelled.items() if not recorded.isdisjoint(same)}

    def not_loaded(self, files: Collection[SourceFile]) -> Validation:
        """No other job has loaded one of the files; `FilesLoadedError` from the validation if one has."""

        def check(proposal: Proposal) -> None:
            if found := LoadHistory(proposal.table).loaded(files):
                raise FilesLoadedError(
                    f"{proposal.table.name}: another job has loaded {min(f.name for f in found)} meanwhile.",
                    remedy="Run the statement again.",
                )

        return Validation("no other job has loaded these files", check)

    def prepared(self, loads: Sequence[tuple[SourceFile, int]]) -> PendingLoad:
        """Write down what is about to be loaded; nothing counts as loaded until a snapshot names it.

        Args:
            loads: each file with the number of its rows that will be in the table.
        """
        name, millis = str(uuid.uuid4()), present_millis()
        pending = PendingLoad(name, join(self._pending_folder, name), self._table.branch, tuple(loads), millis)
        body = {
            "branch": pending.branch,
            "millis": pending.millis,
            "loads": [{**asdict(file), "rows": rows} for file, rows in pending.loads],
        }
        self._file_io.write_durably(pending.path, json.dumps(body, ensure_ascii=False).encode())
        return pending

    def finish(self) -> None:
        """Turn the lists of loads that were committed into records; lists of loads that were given up go."""
        committed = self._committed()
        for status in self._file_io.list(self._pending_folder):
            if status.path in committed:
                pending, snapshot_id = committed[status.path]
                self.record(pending.loads, snapshot_id, pending.millis)
            elif present_millis() - status.mtime_millis < _GIVEN_UP_MILLIS:
                continue
            self._file_io.delete(status.path)

    def record(self, loaded: Sequence[tuple[SourceFile, int]], snapshot_id: int, now_millis: int) -> None:
        """Remember loads.

        Args:
            loaded: each file with the number of its rows that are in the table.
            snapshot_id: the snapshot that has them, or the table's newest one.
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
            path = join(self._folder, f"load-{_hash(file.path)}-{now_millis}")
            self._file_io.write_durably(path, text.encode())

        spread(write, loaded, _THREADS)

    def _committed(self) -> dict[str, tuple[PendingLoad, int]]:
        """The lists that a snapshot names, by their paths, each with such a snapshot's id."""
        lists = [one for s in self._file_io.list(self._pending_folder) if (one := self._list(s.path)) is not None]
        found: dict[str, tuple[PendingLoad, int]] = {}
        for branch in {pending.branch for pending in lists}:
            wanted = {pending.id: pending for pending in lists if pending.branch == branch}
            first = min(pending.millis for pending in wanted.values()) - _SKEW_MILLIS
            snapshots = replace(self._table, branch=branch).snapshots
            snapshot = snapshots.latest()
            # A list is named by the snapshot of its load and by those behind, so that mostly the newest one tells.
            while snapshot is not None and wanted and snapshot.time_millis >= first:
                for name in LOADS.read(snapshot.properties):
                    if (pending := wanted.pop(name, None)) is not None:
                        found[pending.path] = pending, snapshot.id
                snapshot = snapshot_before(replace(self._table, branch=branch), snapshot)
        return found

    def _list(self, path: str) -> PendingLoad | None:
        try:
            body = load_json(self._file_io.read_bytes(path))
            loads = tuple(
                (SourceFile(str(one["path"]), int(one["size"]), int(one["mtime_millis"])), int(one["rows"]))
                for one in body["loads"]
            )
            return PendingLoad(name_of(path), path, str(body.get("branch", MAIN_BRANCH)), loads, int(body["millis"]))
        except (MissingFileError, ValueError, LookupError, TypeError):
            return None

    def _read(self, path: str) -> SourceFile | None:
        try:
            body = load_json(self._file_io.read_bytes(path))
            return SourceFile(str(body["filePath"]), int(body["fileSize"]), int(body["lastModified"]))
        except (MissingFileError, ValueError, LookupError, TypeError):
            return None


def _hash(path: str) -> str:
    return hashlib.sha256(path.encode()).hexdigest()[:16]
