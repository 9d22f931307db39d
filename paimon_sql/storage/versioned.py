"""Directories of numbered files (`snapshot-7`, `schema-3`) and the hints that save listing them."""

from __future__ import annotations

import re
from operator import itemgetter

from paimon_sql.errors import PaimonError
from paimon_sql.storage.file_io import FileIO, FileStatus

EARLIEST = "EARLIEST"
LATEST = "LATEST"
_GREATEST = 2**63 - 2


class VersionedDirectory:
    """Files ``<prefix><number>`` in one directory, each written once and never changed."""

    def __init__(self, file_io: FileIO, directory: str, prefix: str) -> None:
        self.file_io = file_io
        self.directory = directory
        self.prefix = prefix
        self._pattern = re.compile(re.escape(prefix) + r"(\d+)")

    def path(self, version: int) -> str:
        """Where that version stands."""
        return f"{self.directory}/{self.prefix}{version}"

    def versions(self) -> list[int]:
        """All numbers there are, in ascending order; strange files are passed over."""
        return list(self.files())

    def files(self) -> dict[int, FileStatus]:
        """What a listing says of each number's file, in ascending order; strange files are passed over."""
        listed = ((self._pattern.fullmatch(s.name), s) for s in self.file_io.list(self.directory) if not s.is_dir)
        return dict(sorted(((int(match[1]), status) for match, status in listed if match), key=itemgetter(0)))

    def exists(self, version: int) -> bool:
        """Whether that version stands there."""
        return self.file_io.exists(self.path(version))

    def read(self, version: int) -> bytes:
        """That version's content; MissingFileError if it is not there."""
        return self.file_io.read_bytes(self.path(version))

    def latest(self) -> int | None:
        """The greatest number: the hint's, if none follows it, else that of a listing; None in an empty directory.

        The hint may be missing, stale or half-written; it is never believed without looking.
        """
        hint = self.hint(LATEST)
        if hint is not None and not self.exists(hint + 1) and self.exists(hint):
            return hint
        return max(self.versions(), default=None)

    def earliest(self) -> int | None:
        """The smallest number: the hint's, if that file stands, else that of a listing; None in an empty directory.

        Expiry moves the hint before it removes files. If the file is gone the hint may just have been moved, and a
        listing would show files that are about to go: so the hint is believed until it stays where it is.
        """
        hint, before = self.hint(EARLIEST), None
        while hint is not None and hint != before:
            if self.exists(hint):
                return hint
            hint, before = self.hint(EARLIEST), hint
        return min(self.versions(), default=None)

    def missing(self) -> list[int]:
        """The numbers from the earliest to the latest, as files and the hint of the latest say, that are not there."""
        numbers = self.versions()
        if not numbers:
            return []
        first, last = self.earliest() or numbers[0], max(numbers[-1], self.lost_latest() or 0)
        there = set(numbers)
        return [n for n in range(first, last + 1) if n not in there and not self.exists(n)]

    def lost_latest(self) -> int | None:
        """The number that the hint of the latest says, if that file is lost; None if all is well.

        A hint follows the file that it names and leaves before it, so it never names one that is still to come.
        """
        hint = self.hint(LATEST)
        if hint is None or self.exists(hint) or self.hint(LATEST) != hint:
            return None
        return hint if hint > max(self.versions(), default=0) else None

    def write_hint(self, name: str, version: int) -> None:
        """Set a hint; readers never depend on it, so it is replaced without ceremony."""
        self.file_io.write_bytes(f"{self.directory}/{name}", str(version).encode())

    def delete_hint(self, name: str) -> None:
        """Remove a hint."""
        self.file_io.delete(f"{self.directory}/{name}")

    def hint(self, name: str) -> int | None:
        """The number that a hint says; None for one that is missing, unreadable or no possible number."""
        try:
            number = int(self.file_io.read_bytes(f"{self.directory}/{name}"))
        except (PaimonError, ValueError):
            return None
        return number if 0 <= number <= _GREATEST else None
