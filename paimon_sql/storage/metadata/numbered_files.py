"""Directories of numbered files (`snapshot-7`, `schema-3`) and the hints that save listing them."""

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
_GREATEST = 2**63 - 2
_ATTEMPTS = 20
_MOST_PROBED = 1000
"""Wider gaps between numbers are believed."""


class NumberedDirectory:
    """Files ``<prefix><number>`` in one directory, each written once and never changed.

    Args:
        file_io: the file system.
        directory: the directory.
        prefix: what the names begin with.
        counts: whether a hint may name a number; all of them by default.
    """

    def __init__(
        self, file_io: FileIO, directory: str, prefix: str, counts: Callable[[int], bool] | None = None
    ) -> None:
        self.file_io = file_io
        self.directory = directory
        self.prefix = prefix
        self._is_counted = counts
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
        numbered = ((int(match[1]), status) for match, status in listed if match)
        return dict(sorted(((n, status) for n, status in numbered if n <= _GREATEST), key=itemgetter(0)))

    def exists(self, version: int) -> bool:
        """Whether that version stands there."""
        return self.file_io.exists(self.path(version))

    def read(self, version: int) -> bytes:
        """That version's content; MissingFileError if it is not there."""
        return self.file_io.read_bytes(self.path(version))

    def latest(self) -> int | None:
        """The last number that follows the hint's without a gap, the greatest one of a listing without a hint.

        None in an empty directory. The hint may be missing, stale or half-written; it is never believed without
        looking. A file behind a gap is none of the history: a rollback had dropped what it was built on when it came
        (`commit/standing.py`).
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
        """Whether a version has expired, and its file has come back by a loss of power; object stores lose none."""
        if self.file_io.is_object_store(self.directory):
            return False
        return version < (self.hint(EARLIEST) or 0)

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

    def missing(self) -> list[range]:
        """The numbers from the earliest to the latest, as files and the hint of the latest say, that are not there.

        Ranges of them, as a file or a hint may bear any number; those of small ones are looked at one by one, because
        a listing may be older than a file.
        """
        numbers = self.versions()
        if not numbers:
            return []
        first, last = self.earliest() or numbers[0], max(numbers[-1], self.lost_latest() or 0)
        bounds = [first - 1, *(n for n in numbers if n >= first), last + 1]
        gaps = [range(low + 1, high) for low, high in pairwise(bounds) if low + 1 < high]
        return [left for gap in gaps for left in self._absent(gap)]

    def _absent(self, gap: range) -> list[range]:
        if len(gap) > _MOST_PROBED:
            return [gap]
        return [range(n, n + 1) for n in gap if not self.exists(n)]

    def lost_latest(self) -> int | None:
        """The number that the hint of the latest says, if that file is lost; None if all is well.

        A hint follows the file that it names and leaves before it, so it never names one that is still to come.
        """
        hint = self.hint(LATEST)
        if hint is None or self.exists(hint) or self.hint(LATEST) != hint:
            return None
        return hint if hint > max(self.versions(), default=0) else None

    def advance_hint(self, name: str, version: int) -> int:
        """Let a hint say at least that number; it never falls, whatever other processes write. The number it says now.

        A greater number counts only while its file stands: a rollback may have taken it away.
        """
        path = f"{self.directory}/{name}"
        for _ in range(_ATTEMPTS):
            stored = self._stored(path)
            said = _number(stored)
            if said is not None and (said == version or (said > version and self.exists(said))):
                return said
            if self.file_io.replace_if(path, stored, str(version).encode()):
                if name == LATEST:
                    self.settle_latest(version)  # rivals may have gone on, or back, between the look and the write
                    return self.hint(name) or version
                return version
        return self.hint(name) or version

    def settle_latest(self, sure: int | None = None) -> None:
        """Let the hint of the latest name the newest file, after rollbacks have set it back or taken its file away.

        Args:
            sure: a number that counts for certain.
        """
        path = f"{self.directory}/{LATEST}"
        for _ in range(_ATTEMPTS):
            stored = self._stored(path)
            said = _number(stored)
            is_last = said is not None and self.exists(said) and not self.exists(said + 1)
            if said is not None and is_last and (said == sure or self._counts(said)):
                return
            newest = next((n for n in reversed(self.versions()) if self._counts(n)), None)
            if newest is None or self.file_io.replace_if(path, stored, str(newest).encode()):
                return

    def settle_earliest(self, target: int) -> None:
        """Let the hint of the earliest name a file that stands and is no later than the target of a rollback.

        An expiry that came past the target may go on removing what is older.
        """
        said = self.hint(EARLIEST)
        if said is None or (said <= target and self.exists(said)):
            return
        numbers = self.versions()
        if numbers:
            self.reset_hint(EARLIEST, target if target in numbers else numbers[0])

    def _counts(self, number: int) -> bool:
        return self._is_counted is None or self._is_counted(number)

    def withdraw_hint(self, name: str, version: int, before: int | None) -> None:
        """Take a number back that this process has just written, unless another has written the hint since."""
        path = f"{self.directory}/{name}"
        if before is not None:
            self.file_io.replace_if(path, str(version).encode(), str(before).encode())

    def reset_hint(self, name: str, version: int) -> None:
        """Set a hint to a number that may be smaller: for rollbacks, fast-forwards and repairs alone."""
        self.file_io.write_bytes(f"{self.directory}/{name}", str(version).encode())

    def sync_hint(self, name: str) -> None:
        """Make a hint survive a loss of power as it is now, before something is done that rests on it."""
        with suppress(MissingFileError):
            self.file_io.sync([f"{self.directory}/{name}"], self.directory)

    def delete_hint(self, name: str) -> None:
        """Remove a hint."""
        self.file_io.delete(f"{self.directory}/{name}")

    def hint(self, name: str) -> int | None:
        """The number that a hint says; None for one that is missing, unreadable or no possible number."""
        try:
            return _number(self._stored(f"{self.directory}/{name}"))
        except PaimonError:
            return None

    def _stored(self, path: str) -> bytes | None:
        try:
            return self.file_io.read_bytes(path)
        except MissingFileError:
            return None


def _number(stored: bytes | None) -> int | None:
    """The number in a hint; None for what is no possible number."""
    try:
        number = int(stored or b"")
    except ValueError:
        return None
    return number if 0 <= number <= _GREATEST else None
