"""The files that COPY INTO has loaded into a table, so that the next one passes them over.

Each load of a file is a small file ``copy-into/history/load-<hash of its path>-<time>`` in the table's folder. Name and
content are those of Apache Paimon's connector (``CopyLoadHistoryManager``), so that each knows the other's loads.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from paimon_sql.errors import MissingFileError
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.paths import join, spellings
from paimon_sql.storage.threads import spread

FOLDER = "copy-into/history"
_NAME = re.compile(r"load-([0-9a-f]{16})-\d+")
_THREADS = 8


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


class LoadHistory:
    """The loads of one table.

    Args:
        file_io: the file system that holds it.
        table_path: its folder.
    """

    def __init__(self, file_io: FileIO, table_path: str) -> None:
        self._file_io = file_io
        self._folder = join(table_path, FOLDER)

    def loaded(self, files: Collection[SourceFile]) -> set[SourceFile]:
        """Those of the files that were loaded as they are now, whatever scheme of their store was said then.

        A record that cannot be read counts for none.
        """
        spelled = {file: [replace(file, path=path) for path in spellings(file.path)] for file in files}
        hashes = {_hash(f.path) for same in spelled.values() for f in same}
        listed = ((s.path, _NAME.fullmatch(s.name)) for s in self._file_io.list(self._folder))
        paths = [path for path, match in listed if match and match[1] in hashes]
        recorded = {*spread(self._read, paths, _THREADS)}
        return {file for file, same in spelled.items() if not recorded.isdisjoint(same)}

    def record(self, loaded: Sequence[tuple[SourceFile, int]], snapshot_id: int, now_millis: int) -> None:
        """Remember loads.

        Args:
            loaded: each file with the number of its rows that are in the table.
            snapshot_id: the table's newest snapshot afterwards.
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
            self._file_io.write_bytes(path, text.encode())

        spread(write, loaded, _THREADS)

    def _read(self, path: str) -> SourceFile | None:
        try:
            body = json.loads(self._file_io.read_bytes(path))
            return SourceFile(str(body["filePath"]), int(body["fileSize"]), int(body["lastModified"]))
        except (MissingFileError, ValueError, LookupError, TypeError):
            return None


def _hash(path: str) -> str:
    return hashlib.sha256(path.encode()).hexdigest()[:16]
