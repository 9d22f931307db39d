"""The journal of a round: what parties want, what they were answered, and how the table's history changed meanwhile.

All processes append to one file, under a lock that is held while a change of the history and its record are made, so
that the records are in the order of the changes. A process that is killed between the two leaves its name in the
lock's file; the next one that takes the lock records the change in its place. The kernel keeps what a killed process
has written, so nothing needs to be flushed for that; the machine itself does not fail in this layer.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple
from pathlib import Path
from typing import Any

from tests.faults.history import MAIN, Mark, generation_of, read_mark
from tests.faults.processes.interrupts import deferred

Event = dict[str, Any]


class Journal:
    """The journal of one table.

    Args:
        folder: the round's directory; the journal stands in it.
        table: the table's directory.
    """

    def __init__(self, folder: Path, table: Path) -> None:
        self.path = folder / "journal"
        self._lock = folder / "journal-lock"
        self._table = table
        self._described: set[str] = set()
        self._known: dict[tuple[str, int], tuple[int, str, int]] = {}
        self._marks: dict[str, Mark] = {}

    def write(self, event: str, **members: Any) -> None:
        """Append a record."""
        with deferred(), self._locked():
            self._append({"event": event, **members})

    def begin(self, **members: Any) -> None:
        """Append the record of an operation that begins, with what it can see."""
        with deferred(), self._locked():
            self._append({"event": "begin", **members, **self._observed()})

    @contextmanager
    def watched(self, token: str) -> Iterator[None]:
        """Record what the block changes in the history as done by an operation."""
        with deferred(), self._locked() as lock:
            os.pwrite(lock, token.encode(), 0)
            try:
                yield
            finally:
                self._append({"event": "saw", "token": token, **self._observed()})
                os.ftruncate(lock, 0)

    def settle(self) -> None:
        """Record what a killed process has left unrecorded."""
        with self._locked():
            return

    def events(self) -> list[Event]:
        """All records in order; half a record, of a process that was killed within it, is left out."""
        found: list[Event] = []
        for line in self.path.read_bytes().splitlines() if self.path.exists() else []:
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        return found

    @contextmanager
    def _locked(self) -> Iterator[int]:
        lock = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if left := os.pread(lock, 200, 0):
                self._described.clear()
                self._append({"event": "saw", "token": left.decode(), **self._observed()})
                os.ftruncate(lock, 0)
            yield lock
        finally:
            # A child that was forked meanwhile has the file open, too, and would keep the lock.
            fcntl.flock(lock, fcntl.LOCK_UN)
            os.close(lock)

    def _append(self, event: Event) -> None:
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)
        try:
            os.write(file, b"\n" + json.dumps(event).encode())
        finally:
            os.close(file)

    def _observed(self) -> Event:
        """The history as it stands: snapshots by branch and number, and what their files say where it is new."""
        standing, described, marks = [], {}, dict(self._marks)
        branches = self._branches()
        known, self._known = self._known, {}
        for branch in branches:
            root = self._table if branch == MAIN else self._table / "branch" / f"branch-{branch}"
            for number, entry in _snapshots(root / "snapshot"):
                before = known.get((branch, number))
                if before is not None and before[0] == entry.inode():
                    _, uuid, generation = before
                else:
                    stored = _stored(entry)
                    uuid, generation = stored["uuid"], stored["generation"]
                    if uuid not in self._described:
                        self._described.add(uuid)
                        described[uuid] = stored
                self._known[branch, number] = entry.inode(), uuid, generation
                standing.append([branch, number, entry.inode(), uuid, generation])
            with suppress(ValueError):
                marks[branch] = read_mark(root)
        self._marks = marks
        return {
            "standing": standing,
            "snapshots": described,
            "branches": branches,
            "marks": {branch: astuple(mark) for branch, mark in marks.items() if branch in branches},
            "identity": self.identity(),
            "exists": (self._table / "schema").is_dir(),
        }

    def _branches(self) -> list[str]:
        """The branches that have a schema; others were not made, or not deleted, to the end."""
        found = (path.parent.name for path in self._table.glob("branch/branch-*/schema"))
        return [MAIN, *sorted(name.removeprefix("branch-") for name in found)]

    def identity(self) -> str:
        """What distinguishes the table from another one of its name."""
        try:
            return str(json.loads((self._table / "schema" / "schema-0").read_bytes()).get("timeMillis"))
        except (OSError, ValueError):
            return ""


def _snapshots(folder: Path) -> Iterator[tuple[int, os.DirEntry[str]]]:
    try:
        entries = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        name, _, digits = entry.name.partition("-")
        if name == "snapshot" and digits.isdigit():
            yield int(digits), entry


def _stored(entry: os.DirEntry[str]) -> dict[str, Any]:
    data = Path(entry.path).read_bytes()
    try:
        stored = json.loads(data)
        told = {name: stored[name] for name in ("uuid", "commitUser", "commitIdentifier", "commitKind", "schemaId")}
        return {**told, "generation": generation_of(stored)}
    except (ValueError, KeyError):
        return {"uuid": f"torn-{entry.inode()}", "torn": len(data), "generation": 0}
