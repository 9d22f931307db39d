"""Directories of numbered files (`snapshot-7`, `schema-3`), and the hint files that save listing them."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from itertools import count, pairwise
from operator import itemgetter

from paimon_sql.errors import MissingFileError, PaimonError
from paimon_sql.storage.file_io import FileIO, FileStatus

EARLIEST = "EARLIEST"
LATEST = "LATEST"
_MAX_NUMBER = 2**63 - 2
_ATTEMPTS = 20
_MAX_PROBED_GAP = 1000
"""Wider gaps between numbers are taken from the listing, without checking each file."""


class NumberedDirectory:
    """Files ``<prefix><number>`` in one directory, each written once and never changed.

    Args:
        file_io: the file system.
        directory: the directory.
        prefix: prefix of the names.
        counts: whether a hint may name a number; all of them by default.
        before_lowering: called with the number of the earliest hint before the hint is lowered or deleted.
    """

    def __init__(
        self,
        file_io: FileIO,
        directory: str,
        prefix: str,
        counts: Callable[[int], bool] | None = None,
        before_lowering: Callable[[int], None] | None = None,
    ) -> None:
        self.file_io = file_io
        self.directory = directory
        self.prefix = prefix
        self._is_counted = counts
        self._before_lowering = before_lowering
        self._pattern = re.compile(re.escape(prefix) + r"(\d+)")

    def path(self, version: int) -> str:
        """Return the path of a version."""
        return f"{self.directory}/{self.prefix}{version}"

    def versions(self) -> list[int]:
        """Return all numbers, ascending; other files are ignored."""
        return list(self.files())

    def files(self) -> dict[int, FileStatus]:
        """Return the listed status of each number's file, ascending; other files are ignored."""
        listed = ((self._pattern.fullmatch(s.name), s) for s in self.file_io.list(self.directory) if not s.is_dir)
        numbered = ((int(match[1]), status) for match, status in listed if match)
        return dict(sorted(((n, status) for n, status in numbered if n <= _MAX_NUMBER), key=itemgetter(0)))

    def exists(self, version: int) -> bool:
        """Whether the version exists."""
        return self.file_io.exists(self.path(version))

    def read(self, version: int) -> bytes:
        """Read a version; MissingFileError if it does not exist."""
        return self.file_io.read_bytes(self.path(version))

    def find(self, version: int) -> bytes | None:
        """Read a version; None if it does not exist."""
        return self.file_io.read_if_exists(self.path(version))

    def latest(self) -> int | None:
        """Return the last number that follows the hint's without a gap, without a hint the maximum of a listing.

        None in an empty directory. The hint may be missing, stale or partially written; it is always verified. A file
        after a gap is not part of the history: a rollback had dropped its base when it was written
        (`commit/snapshot/snapshot_commit.py`).
        """
        hint = self.hint(LATEST)
        if hint is not None and self._is_expired(hint):
            hint = None
        if hint is not None and not self.exists(hint + 1) and self.exists(hint):
            return hint
        numbers = set(self.versions())
        if hint not in numbers:
            return max(numbers, default=None)
        return next(number for number in count(hint) if number + 1 not in numbers)

    def _is_expired(self, version: int) -> bool:
        """Whether a version has expired, and its file reappeared after a loss of power; not in object stores."""
        if self.file_io.is_object_store(self.directory):
            return False
        return version < (self.hint(EARLIEST) or 0)

    def earliest(self) -> int | None:
        """Return the smallest number: the hint's if its file exists, else that of a listing; None without files."""
        hint, previous = self.hint(EARLIEST), None
        while hint is not None and hint != previous:
            if self.exists(hint):
                return hint
            hint, previous = self.hint(EARLIEST), hint
        return min(self.versions(), default=None)

    def missing(self) -> list[range]:
        """Return the missing numbers from the earliest to the latest, according to files and the hint of the latest.

        The result is ranges, because a file or a hint may have any number; small gaps are checked number by number,
        because a listing may be older than a file.
        """
        numbers = self.versions()
        if not numbers:
            return []
        first, last = self.earliest() or numbers[0], max(numbers[-1], self.lost_latest() or 0)
        bounds = [first - 1, *(n for n in numbers if n >= first), last + 1]
        gaps = [range(low + 1, high) for low, high in pairwise(bounds) if low + 1 < high]
        return [absent for gap in gaps for absent in self._absent(gap)]

    def _absent(self, gap: range) -> list[range]:
        if len(gap) > _MAX_PROBED_GAP:
            return [gap]
        return [range(n, n + 1) for n in gap if not self.exists(n)]

    def lost_latest(self) -> int | None:
        """Return the number of the latest hint if its file is lost; otherwise None.

        The hint is written after the file that it names and withdrawn before its deletion, so it never names a future
        file.
        """
        hint = self.hint(LATEST)
        if hint is None or self.exists(hint) or self.hint(LATEST) != hint:
            return None
        return hint if hint > max(self.versions(), default=0) else None

    def advance_hint(self, name: str, version: int) -> int:
        """Advance a hint to at least the number, and return its number now; concurrent writes never decrease it."""
        path = f"{self.directory}/{name}"
        for _ in range(_ATTEMPTS):
            stored = self.file_io.read_if_exists(path)
            hinted = _number(stored)
            if hinted is not None and (hinted == version or (hinted > version and self.exists(hinted))):
                return hinted
            if self.file_io.replace_if(path, stored, str(version).encode()):
                if name == LATEST:
                    self.settle_latest(version)  # others may have committed or rolled back between check and write
                    return self.hint(name) or version
                return version
        return self.hint(name) or version

    def settle_latest(self, sure: int | None = None) -> None:
        """Set the latest hint to the newest file, after rollbacks have reset it or deleted its file.

        Args:
            sure: a number that is known to be valid.
        """
        path = f"{self.directory}/{LATEST}"
        for _ in range(_ATTEMPTS):
            stored = self.file_io.read_if_exists(path)
            hinted = _number(stored)
            is_last = hinted is not None and self.exists(hinted) and not self.exists(hinted + 1)
            if hinted is not None and is_last and (hinted == sure or self._counts(hinted)):
                return
            newest = next((n for n in reversed(self.versions()) if self._counts(n)), None)
            if newest is None or self.file_io.replace_if(path, stored, str(newest).encode()):
                return

    def settle_earliest(self, target: int) -> None:
        """Set the earliest hint to an existing file that is not later than the target of a rollback.

        A concurrent expiration that passed the target may continue to delete older files.
        """
        hinted = self.hint(EARLIEST)
        if hinted is None or (hinted <= target and self.exists(hinted)):
            return
        numbers = self.versions()
        if numbers:
            self.reset_hint(EARLIEST, target if target in numbers else numbers[0])

    def _counts(self, number: int) -> bool:
        return self._is_counted is None or self._is_counted(number)

    def withdraw_hint(self, name: str, version: int, before: int | None) -> None:
        """Restore the number before this process wrote the hint, unless another process has written it since."""
        path = f"{self.directory}/{name}"
        if before is not None:
            self.file_io.replace_if(path, str(version).encode(), str(before).encode())

    def reset_hint(self, name: str, version: int) -> None:
        """Set a hint to a number that may be smaller: only for rollbacks, fast-forwards and repairs."""
        self._announce_lowering(name, version)
        self.file_io.write_bytes(f"{self.directory}/{name}", str(version).encode())

    def sync_hint(self, name: str) -> None:
        """Make a hint durable, before an action that relies on it."""
        with suppress(MissingFileError):
            self.file_io.sync([f"{self.directory}/{name}"], self.directory)

    def delete_hint(self, name: str) -> None:
        """Delete a hint."""
        self._announce_lowering(name, 0)
        self.file_io.delete(f"{self.directory}/{name}")

    def _announce_lowering(self, name: str, version: int) -> None:
        if self._before_lowering is None or name != EARLIEST:
            return
        hinted = self.hint(EARLIEST)
        if hinted is not None and hinted > version:
            self._before_lowering(hinted)

    def hint(self, name: str) -> int | None:
        """Return the number of a hint; None if it is missing, unreadable or invalid."""
        try:
            return _number(self.file_io.read_if_exists(f"{self.directory}/{name}"))
        except PaimonError:
            return None


def _number(stored: bytes | None) -> int | None:
    """Parse the number of a hint; None if invalid."""
    try:
        number = int(stored or b"")
    except ValueError:
        return None
    return number if 0 <= number <= _MAX_NUMBER else None
