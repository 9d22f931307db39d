"""What has become of a table, seen from outside: each snapshot that ever stood, what it was built on, how it went.

Nothing of the product is asked. The files are looked at after each change; a snapshot's parent is the one that stood
under the number before it when its file came, or that had expired from there. So the rows of each snapshot follow from
those of its parent and from what its operation was to do.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from paimon_sql.storage.metadata.snapshots import GENERATION
from tests.faults.model import NOTHING, Effect, State

MAIN = "main"
SAME_ROWS = ("COMPACT", "ANALYZE")
_BATCH = 2**63 - 1


class Role(Enum):
    """How an operation changes the history."""

    WRITE = "write"
    EXPIRE = "expire"
    REWIND = "rewind"
    """Rollback, fast-forward, purge: snapshots may go that were acknowledged."""
    DROP = "drop"
    """The table or a branch goes as a whole."""
    OTHER = "other"


class Outcome(Enum):
    """How an operation ended, as its party was told."""

    RUNNING = "running"
    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    UNKNOWN = "unknown"


NOT_JUDGED = "rounds with late arrivals, not judged"
"""What figures call rounds in which `History.has_late_arrivals`."""
_INTERRUPTS = ("KeyboardInterrupt", "MemoryError")


@dataclass
class Operation:
    """One operation of a party.

    Attributes:
        token: its name, which its snapshots bear as their commit user.
        party: the party.
        name: what kind of operation it is.
        role: how it changes the history.
        branch: the branch that it works on.
        effect: what it does to the rows.
        seen: the commits that it could see when it began.
        identity: the table's identity when it began.
        outcome: how it ended.
        error: the error that it ended with.
        ended: the number of the last change that was seen when it ended.
    """

    token: str
    party: str
    name: str
    role: Role = Role.WRITE
    branch: str = MAIN
    effect: Effect = NOTHING
    seen: frozenset[str] = frozenset()
    identity: str = ""
    outcome: Outcome = Outcome.RUNNING
    error: str = ""
    ended: int = 0

    @property
    def may_come_late(self) -> bool:
        """Whether a request of it may be carried out after its end: its process was killed, or got no answer."""
        return self.outcome is Outcome.UNKNOWN and self.error not in _INTERRUPTS

    @property
    def was_cut_short(self) -> bool:
        """Whether it may not have come to its end: its process was killed, or an interrupt or a fault met it."""
        return self.outcome in (Outcome.RUNNING, Outcome.UNKNOWN) or self.error == "Killed"


@dataclass
class Snap:
    """A snapshot that stood at some time.

    Attributes:
        uuid: its identity.
        branch: the branch that it was made on.
        number: its id.
        operation: the operation that made it; None for one of no known operation.
        kind: the kind of its commit.
        parent: the identity of what it was built on; None for a first one.
        misplaced: whether it was created where no history led to.
        creator: the operation that was at work when it came.
        cut: the operation that took it out of the history.
        schema: the id of its schema.
        state: the rows, once they were worked out.
    """

    uuid: str
    branch: str
    number: int
    operation: Operation | None
    kind: str
    parent: str | None
    misplaced: bool = False
    creator: Operation | None = None
    cut: Operation | None = None
    withdrawn: bool = False
    schema: int = 0
    identity: str = ""
    state: State | None = field(default=None, repr=False)


@dataclass
class Seen:
    """A file of a snapshot as it stands."""

    inode: int
    uuid: str
    generation: int


@dataclass(frozen=True)
class Mark:
    """What a rollback has left: later snapshots of an earlier generation are none of the history."""

    generation: int = 0
    target: int = 0
    until: int = 0

    def excludes(self, number: int, generation: int) -> bool:
        """Whether a snapshot of that number, made after so many rollbacks, is none of the history."""
        return self.target < number <= self.until and generation < self.generation


class History:
    """The history of one table and its branches.

    Args:
        root: the table's directory.
        empty: the state of a table without snapshots.
    """

    def __init__(self, root: Path, empty: State) -> None:
        self.root = root
        self.empty = empty
        self.snaps: dict[str, Snap] = {}
        self.operations: dict[str, Operation] = {}
        self.late: set[str] = set()
        """The operations that have given a request up which is carried out all the same."""
        self.hindered: set[str] = set()
        """The operations whose deletions a fault has met, so that files of theirs may be left."""
        self.tagged_by: dict[str, str] = {}
        """Whose request last changed the file of a tag, by its path."""
        self.lines: dict[str, dict[int, str]] = {MAIN: {}}
        self.violations: list[str] = []
        self.changes = 0
        self.log: list[str] = []
        self._standing: dict[tuple[str, int], Seen] = {}
        self._marks: dict[str, Mark] = {}
        self._marked_by: dict[str, Operation | None] = {}
        self._cut_by_mark: dict[str, dict[int, str]] = {}

    # What parties say.

    def begin(self, operation: Operation) -> None:
        """An operation begins."""
        self.operations[operation.token] = operation

    def chain(self, uuid: str | None) -> Iterator[Snap]:
        """A snapshot and those that it was built on, the newest first."""
        while uuid is not None:
            snap = self.snaps[uuid]
            yield snap
            uuid = snap.parent

    def newest(self, branch: str = MAIN) -> str | None:
        """The newest snapshot of a branch's history; None without any."""
        line = self.lines.get(branch, {})
        return line[max(line)] if line else None

    def seen_now(self, branch: str) -> frozenset[str]:
        """The commits that someone who begins now can see."""
        return frozenset(snap.uuid for snap in self.chain(self.newest(branch)))

    def state(self, uuid: str | None) -> State:
        """The rows of a snapshot."""
        waiting: list[Snap] = []
        while uuid is not None and self.snaps[uuid].state is None:
            waiting.append(self.snaps[uuid])
            uuid = self.snaps[uuid].parent
        state = self.empty if uuid is None else self.snaps[uuid].state
        assert state is not None
        for snap in reversed(waiting):
            operation = snap.operation
            if operation is not None and snap.kind not in SAME_ROWS:
                state = state.after(operation.effect, snap.uuid, operation.seen)
            snap.state = state
        return state

    def standing(self, branch: str = MAIN) -> dict[int, str]:
        """The snapshots whose files stand, by number."""
        return {n: seen.uuid for (b, n), seen in sorted(self._standing.items()) if b == branch}

    @property
    def branches(self) -> list[str]:
        """The branches that there are, main first."""
        folder = self.root / "branch"
        names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
        return [MAIN, *sorted(n.removeprefix("branch-") for n in names if n.startswith("branch-"))]

    def _has(self, branch: str) -> bool:
        return branch in self.branches and (branch != MAIN or (self.root / "schema").is_dir())

    def identity(self) -> str:
        """What tells the table from another one of its name."""
        try:
            stored = json.loads((self.root / "schema" / "schema-0").read_bytes())
        except (OSError, ValueError):
            return ""
        return str(stored.get("timeMillis"))

    # What happens to files.

    def observe(self, by: Operation | None) -> None:
        """Look at the snapshots' files after a change.

        Args:
            by: the operation that made the change; None where the power failed.
        """
        self.changes += 1
        for branch in filter(self._has, self.branches):
            self._heed_mark(branch, by)
        found = self._listed(by)
        gone = [key for key, seen in self._standing.items() if found.get(key) != seen]
        come = [key for key, seen in found.items() if self._standing.get(key) != seen]
        before, self._standing = self._standing, found
        for branch, number in sorted(gone):
            self._left(branch, number, before[branch, number].uuid, by)
        for branch, number in sorted(come):
            self._came(branch, number, found[branch, number].uuid, by)
        for branch in [b for b in self.lines if b not in self.branches]:
            del self.lines[branch]
            self._marks.pop(branch, None)
        if by is not None and by.role is Role.DROP and not self._has(MAIN):
            for uuid in self.lines.get(MAIN, {}).values():
                self.snaps[uuid].cut = by  # those that had expired, too
            self.lines = {MAIN: {}}
            self._marks.clear()
        if by is not None and by.role is Role.REWIND and self._has(MAIN):
            self._cut_expired(by)

    @property
    def has_late_arrivals(self) -> bool:
        """Whether a dead writer's snapshot came into another table of that name, and nobody can take it back.

        Its request was on its way, or its process was killed before it could look, while the table was dropped and made
        anew. Nothing in the new table says that the snapshot is none of it.
        """
        came = [(s.operation, s.identity) for s in self.snaps.values() if s.operation is not None]
        return any(o.may_come_late and o.identity not in ("", identity) for o, identity in came)

    def _heed_mark(self, branch: str, by: Operation | None) -> None:
        """A mark takes what is later out of the history at once, and brings it back where it is taken back."""
        before, now = self._marks.get(branch, Mark()), self._mark(branch)
        if now == before:
            return
        self._marks[branch], self._marked_by[branch] = now, by
        line = self.lines.setdefault(branch, {})
        if now.generation < before.generation:
            for number, uuid in self._cut_by_mark.pop(branch, {}).items():
                line[number] = uuid
                self.snaps[uuid].cut = None
            return
        if now.generation > before.generation:
            self._cut_by_mark[branch] = {}
        for number in sorted(line):
            seen = self._standing.get((branch, number))
            if now.excludes(number, -1 if seen is None else seen.generation):
                uuid = self._cut_by_mark[branch][number] = line.pop(number)
                self.snaps[uuid].cut = by
        self.log.append(f"{self.changes}: {by.token if by else '-'} marks {branch} as rolled back to {now.target}")

    def _comes_back(self, branch: str, number: int) -> bool:
        """Whether a rollback that is at work goes back to a snapshot, which it brings back if an expiry takes it."""
        by = self._marked_by.get(branch)
        return by is not None and by.outcome is Outcome.RUNNING and self._marks.get(branch, Mark()).target == number

    def _mark(self, branch: str) -> Mark:
        try:
            return read_mark(self._folder(branch).parent)
        except ValueError:
            return self._marks.get(branch, Mark())  # torn

    def _folder(self, branch: str) -> Path:
        return (self.root if branch == MAIN else self.root / "branch" / f"branch-{branch}") / "snapshot"

    def _cut_expired(self, by: Operation) -> None:
        """A rollback past snapshots that have expired takes them out of the history, too."""
        for branch, line in self.lines.items():
            standing = self.standing(branch)
            while standing and line and max(line) > max(standing):
                self.snaps[line.pop(max(line))].cut = by

    def _listed(self, by: Operation | None) -> dict[tuple[str, int], Seen]:
        found: dict[tuple[str, int], Seen] = {}
        for branch in self.branches:
            try:
                listed = list(os.scandir(self._folder(branch)))
            except OSError:
                continue
            for entry in listed:
                name, _, digits = entry.name.partition("-")
                if name != "snapshot" or not digits.isdigit():
                    continue
                key = branch, int(digits)
                known = self._standing.get(key)
                if known is not None and known.inode == entry.inode():
                    found[key] = known
                else:
                    uuid, generation = self._read(Path(entry.path), branch, int(digits), by)
                    found[key] = Seen(entry.inode(), uuid, generation)
        return found

    def _read(self, path: Path, branch: str, number: int, by: Operation | None) -> tuple[str, int]:
        try:
            stored = json.loads(path.read_bytes())
        except (OSError, ValueError):
            uuid = f"torn-{branch}-{number}"
            self.snaps.setdefault(uuid, Snap(uuid, branch, number, None, "TORN", None))
            return uuid, 0
        uuid = str(stored["uuid"])
        if uuid not in self.snaps:
            self.snaps[uuid] = self._new(stored, branch, number, by, generation_of(stored))
        return uuid, generation_of(stored)

    def _new(self, stored: dict[str, Any], branch: str, number: int, by: Operation | None, generation: int) -> Snap:
        token = str(stored["commitUser"])
        if stored["commitIdentifier"] != _BATCH:
            token = f"{token}:{stored['commitIdentifier']}"
        line = self.lines.setdefault(branch, {})
        parent = line.get(number - 1)
        misplaced = (parent is None and bool(line)) or number in line or (not line and number != 1)
        misplaced = misplaced or self._marks.get(branch, Mark()).excludes(number, generation)
        snap = Snap(
            str(stored["uuid"]),
            branch,
            number,
            self.operations.get(token, by),
            str(stored["commitKind"]),
            parent,
            misplaced,
            creator=by,
            schema=int(str(stored["schemaId"])),
            identity=self.identity(),
        )
        self.log.append(
            f"{self.changes}: {token} {snap.kind} creates {branch}/{number} {snap.uuid[:6]} on"
            f" {(parent or '-')[:6]}{' MISPLACED' if misplaced else ''}"
        )
        return snap

    def _came(self, branch: str, number: int, uuid: str, by: Operation | None) -> None:
        snap, line = self.snaps[uuid], self.lines.setdefault(branch, {})
        if snap.kind == "TORN":
            self.violations.append(f"snapshot {branch}/{number} was torn by a loss of power")
            return
        if by is not None and by.role is Role.REWIND and snap.creator is not by:
            if snap.identity == self.identity():  # otherwise its table was dropped meanwhile
                line[number] = uuid  # what a rollback brings back, or a fast-forward brings over
        elif self._marks.get(branch, Mark()).excludes(number, self._standing[branch, number].generation):
            return  # the table has its name again, and with it what a rollback that did not end has left
        elif not snap.misplaced or snap.branch != branch:
            if snap.cut is not None and by is None and snap.cut.outcome is Outcome.ACKNOWLEDGED:
                self.violations.append(f"snapshot {branch}/{number} is back after a loss of power: {snap.cut.name}")
            line[number] = uuid

    def _left(self, branch: str, number: int, uuid: str, by: Operation | None) -> None:
        snap, line = self.snaps[uuid], self.lines.get(branch, {})
        self.log.append(
            f"{self.changes}: {by.token if by else 'the loss of power'} {by.name if by else ''} removes"
            f" {branch}/{number} {uuid[:6]}"
        )
        self._cut_by_mark.get(branch, {}).pop(number, None)
        in_line = line.get(number) == uuid
        made_by = snap.operation
        if by is not None and by.role is Role.OTHER and not self._has(branch):
            return  # the branch or the table has another name now
        if by is not None and by.role is Role.REWIND and not self._has(MAIN):
            return  # what it has brought back where the table had been
        if by is None:
            if in_line and made_by is not None and made_by.outcome is Outcome.ACKNOWLEDGED:
                self.violations.append(f"snapshot {branch}/{number} of {made_by.token} is lost with the power")
            if in_line:
                del line[number]
            return
        if by.role in (Role.REWIND, Role.DROP):
            is_copy = by.role is Role.DROP and branch != snap.branch  # the snapshot itself stays
            if (in_line or snap.cut is None) and not is_copy:
                snap.cut = by
            if in_line:
                del line[number]
            return
        built_upon = line.get(number + 1)
        own = snap.creator is by and (built_upon is None or self.snaps[built_upon].parent != uuid)
        if own:
            snap.withdrawn = True
            if in_line:
                del line[number]
        elif in_line and number == max(line) and not self._comes_back(branch, number):
            self.violations.append(f"{by.token} ({by.name}) removed the newest snapshot {branch}/{number}")


def read_mark(folder: Path) -> Mark:
    """The mark in the directory of a table or branch.

    Raises:
        ValueError: it is torn.
    """
    try:
        stored = json.loads((folder / "REWIND").read_bytes())
        return Mark(stored["generation"], stored["target"], stored["until"])
    except (FileNotFoundError, NotADirectoryError):
        return Mark()


def generation_of(stored: dict[str, Any]) -> int:
    """After how many rollbacks a snapshot was made, as its file says."""
    return int((stored.get("properties") or {}).get(GENERATION, "0"))
