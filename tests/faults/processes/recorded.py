"""The history of a round as its journal has it: the same model as for parties that take turns, fed by records."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.faults.actions.job import Read
from tests.faults.history import MAIN, History, Mark, Operation, Outcome, Role, Seen, Snap
from tests.faults.injected import KINDS
from tests.faults.model import Effect, Row, State
from tests.faults.processes.journal import Event


class RecordedHistory(History):
    """A history that looks at a journal's records where others look at files.

    Args:
        root: the table's directory.
        empty: the state of a table without snapshots.
    """

    def __init__(self, root: Path, empty: State) -> None:
        super().__init__(root, empty)
        self.reads: list[tuple[Operation, Read]] = []
        self.sure: set[str] = set()
        self.faults: Counter[str] = Counter()
        self.file_operations = 0
        self._now: Event = {"standing": [], "marks": {}, "branches": [MAIN], "identity": "", "exists": True}
        self._described: dict[str, dict[str, Any]] = {}

    def replay(self, events: list[Event]) -> None:
        """Take in all records."""
        for event in events:
            getattr(self, f"_on_{event['event']}")(event)
        for operation in self.operations.values():
            if operation.outcome is Outcome.RUNNING:
                operation.outcome = Outcome.UNKNOWN

    # What records say.

    def _on_begin(self, event: Event) -> None:
        self._look(event)
        token, branch = event["token"], event["branch"]
        operation = Operation(token, event["party"], event["name"], Role(event["role"]), branch)
        operation.effect = Effect.of(event["effect"])
        operation.seen, operation.identity = self.seen_now(branch), self.identity()
        known = self.operations.get(token)
        if known is not None:
            operation = replace(known, identity=operation.identity)
        self.begin(operation)
        self.log.append(f"{self.changes}: {token} begins {operation.name} on {branch} {operation.effect}")

    def _on_opened(self, event: Event) -> None:
        self.operations[event["token"]].identity = event["identity"]

    def _on_intend(self, event: Event) -> None:
        operation = self.operations[event["token"]]
        operation.effect = Effect.of(event["effect"])
        self.log.append(f"{self.changes}: {operation.token} intends {operation.effect}")

    def _on_read(self, event: Event) -> None:
        rows = [Row(*row) for row in event["rows"]]
        self.reads.append((self.operations[event["token"]], Read(event["uuid"], rows)))

    def _on_sure(self, event: Event) -> None:
        self.sure.add(event["token"])

    def _on_end(self, event: Event) -> None:
        operation = self.operations[event["token"]]
        operation.outcome, operation.error = Outcome(event["outcome"]), event["error"]
        operation.ended = self.changes
        lines = operation.error.splitlines() or [""]
        self.log.append(f"{self.changes}: {operation.token} {operation.outcome.value} {lines[0]}")
        if event["is_wrong"]:
            self.violations.append(f"{operation.token} {operation.name} raised no PaimonError: {operation.error}")

    def _on_fault(self, event: Event) -> None:
        self.faults[event["name"]] += 1
        if event["name"] in KINDS and KINDS[event["name"]].is_late:
            self.late.add(event["token"])
        if event["at"].startswith("delete"):
            self.hindered.add(event["token"])
        self.log.append(f"{self.changes}: {event['token']}: {event['name']} at {event['at']}")

    def _on_tagged(self, event: Event) -> None:
        self.tagged_by[event["path"]] = event["token"]

    def _on_count(self, event: Event) -> None:
        self.file_operations += event["operations"]

    def _on_saw(self, event: Event) -> None:
        self._look(event)
        self.observe(self.operations.get(event["token"]))

    def _look(self, event: Event) -> None:
        self._now = event
        self._described.update(event["snapshots"])

    def observe(self, by: Operation | None) -> None:
        if by is None or by.role not in (Role.REWIND, Role.DROP):
            super().observe(by)
            return
        # Snapshots that had expired before go with the history that they belong to.
        before = self._reached()
        super().observe(by)
        for branch, line in self.lines.items():
            if standing := self.standing(branch):
                newest = max(standing)
                self.lines[branch] = {n: uuid for n, uuid in line.items() if n <= newest}
        for uuid in before - self._reached():
            self.snaps[uuid].cut = self.snaps[uuid].cut or by

    def _reached(self) -> set[str]:
        return {snap.uuid for branch in self.lines for snap in self.chain(self.newest(branch))}

    # What `History` asks of the disk.

    @property
    def branches(self) -> list[str]:
        return list(self._now["branches"])

    def _has(self, branch: str) -> bool:
        return branch in self.branches and (branch != MAIN or self._now["exists"])

    def _mark(self, branch: str) -> Mark:
        return Mark(*self._now["marks"].get(branch, ()))

    def identity(self) -> str:
        return str(self._now["identity"])

    def _listed(self, by: Operation | None) -> dict[tuple[str, int], Seen]:
        found: dict[tuple[str, int], Seen] = {}
        for branch, number, inode, uuid, generation in self._now["standing"]:
            if uuid not in self.snaps:
                stored = self._described[uuid]
                if "torn" in stored:
                    self.snaps[uuid] = Snap(uuid, branch, number, None, "TORN", None)
                else:
                    self.snaps[uuid] = self._new(stored, branch, number, by, generation)
            found[branch, number] = Seen(inode, uuid, generation)
        return found
