"""What processes of one application know in common: the next epoch of each stream, what must have been committed."""

from __future__ import annotations

import fcntl
import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.faults.actions.definitions import AtWork
from tests.faults.processes.interrupts import deferred
from tests.faults.processes.journal import Journal


class SharedState(dict[str, Any]):
    """Values by name that all processes of a round share.

    Args:
        folder: the round's directory.
        journal: its journal.
    """

    def __init__(self, folder: Path, journal: Journal) -> None:
        super().__init__(
            {
                "epochs": SharedNumbers(folder / "epochs"),
                "sure": SureTokens(journal),
                "at work": SharedAtWork(folder / "at-work"),
                "clocks agree": False,
            }
        )


class SharedNumbers(dict[str, int]):
    """Numbers by name in a file; a number never falls, whichever process sets it.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def setdefault(self, name: str, value: int = 0) -> int:
        """The number of a name, `value` if there is none."""
        return self._changed(name, value)

    def __getitem__(self, name: str) -> int:
        return self._changed(name, 0)

    def __setitem__(self, name: str, value: int) -> None:
        self._changed(name, value)

    def _changed(self, name: str, value: int) -> int:
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            # One line for each change: half a line, of a process that was killed, counts for nothing.
            lines = os.pread(file, 1 << 20, 0).decode().splitlines()
            known = max((n for other, n in map(_parsed, lines) if other == name), default=-1)
            if value > known:
                os.pwrite(file, f"\n{json.dumps([name, value])}".encode(), os.fstat(file).st_size)
            return max(known, value)
        finally:
            os.close(file)


def _parsed(line: str) -> tuple[str, int]:
    try:
        name, number = json.loads(line)
    except ValueError:
        return "", -1
    return name, number


class SharedAtWork(AtWork):
    """Counts in a file who is at what; a process that is killed stays at it, as what it did may be half done.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def enter(self, what: str) -> Mapping[str, int]:
        return self._changed(what, 1)

    def leave(self, what: str) -> None:
        self._changed(what, -1)

    def _changed(self, what: str, by: int) -> Mapping[str, int]:
        with deferred(), self._path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(f"{what} {by}\n".encode())
            file.flush()
            file.seek(0)
            counts: Counter[str] = Counter()
            for line in file.read().decode().splitlines():
                name, number = line.split()
                counts[name] += int(number)
            return counts


class SureTokens(set[str]):
    """Tokens of operations that are committed for sure, recorded as they are added.

    Args:
        journal: the journal.
    """

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal

    def add(self, token: str) -> None:
        """Record a token."""
        self._journal.write("sure", token=token)
