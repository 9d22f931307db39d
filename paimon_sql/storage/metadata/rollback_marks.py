"""Rollback marks: identify late snapshots of writers whose base snapshot was rolled back.

A rollback frees the numbers of the snapshots that it drops. A writer that built on a dropped snapshot and was paused
meanwhile can create its snapshot under a number that the history reaches again: a late snapshot, called a stray, which
the writer withdraws after its next check (`commit/snapshot/standing.py`). Until then no commit may build on it.

So a rollback first writes a mark: its generation, its target snapshot, and the maximum number of a stray. Our snapshots
in that range record the generation that their writer knew. One of an earlier generation is a stray: no reader takes it
for the latest, and writers wait until it is deleted. Snapshots of other engines are always valid, as are those of a
branch that another engine fast-forwarded, whose writers knew only their branch's mark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from paimon_sql.errors import CommitConflictError, CorruptFileError, MissingFileError, NoSuchSnapshotError
from paimon_sql.format.layout.paths import MAIN_BRANCH, is_branch_root
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.file_io import FileIO

WRITER_VERSION = "paimon-sql"
"""The writer version in our snapshots."""
GENERATION = "paimon-sql.generation"
"""Snapshot property: the number of rollbacks of the history that its writer knew."""
MADE_ON = "paimon-sql.branch"
"""Snapshot property: the branch that the snapshot was created on."""
_ATTEMPTS = 10


@dataclass(frozen=True)
class Rollback:
    """The last rollback of a history.

    Attributes:
        generation: number of rollbacks so far, from 1.
        target: the snapshot that was rolled back to, 0 for none.
        until: the maximum number of a snapshot that a writer with a dropped base can create.
        of_main: whether it is the table's own, not a branch's.
    """

    generation: int
    target: int
    until: int
    of_main: bool = True

    def covers(self, snapshot_id: int) -> bool:
        """Whether a snapshot of the number may be a stray."""
        return self.target < snapshot_id <= self.until

    def judges(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot records the rollbacks that its writer knew; all others are valid."""
        is_from_branch = self.of_main and MADE_ON in (snapshot.properties or {})
        return snapshot.writer_version == WRITER_VERSION and not is_from_branch

    def is_late(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot was dropped, or built on a dropped one."""
        if not self.covers(snapshot.id) or not self.judges(snapshot):
            return False
        generation = (snapshot.properties or {}).get(GENERATION, "0")
        return int(generation) < self.generation if generation.isdecimal() else True


class RollbackMark:
    """The file that records the last rollback of a table or branch.

    It is in a directory where other engines do not look for orphan files.

    Args:
        file_io: the file system.
        root: the directory of the table or branch.
    """

    def __init__(self, file_io: FileIO, root: str) -> None:
        self._file_io = file_io
        self._of_main = not is_branch_root(root)
        self.path = f"{root}/REWIND"

    def read(self) -> Rollback | None:
        """Read the mark; None without a rollback so far.

        Raises:
            CorruptFileError: the file is invalid.
        """
        stored = self._stored()
        return None if stored is None else self._parse(stored)

    def write(self, target: Snapshot | None, until: int) -> Rollback:
        """Begin a new generation, durably, before anything is dropped.

        Args:
            target: the target snapshot, None for the state before the first one.
            until: the maximum number that a writer without knowledge of the rollback can create.

        Raises:
            NoSuchSnapshotError: another rollback dropped the target; the mark is not changed.
            CommitConflictError: concurrent rollbacks.
        """

        def next_generation(old: Rollback) -> Rollback:
            if target is not None and old.is_late(target):
                raise NoSuchSnapshotError(
                    f"Snapshot {target.id} is none of the history any more: another job has rolled back to snapshot"
                    f" {old.target} meanwhile.",
                    name=str(target.id),
                    remedy="Look at $snapshots before you roll back again.",
                )
            base = 0 if target is None else target.id
            return replace(old, generation=old.generation + 1, target=base, until=max(old.until, until))

        return self._change(next_generation)

    def extend(self, until: int) -> Rollback:
        """Increase the maximum number of strays, because writers continued before they read the mark."""
        return self._change(lambda old: replace(old, until=max(old.until, until)))

    def take_back(self, rewind: Rollback) -> None:
        """Delete a mark that was written into the directory of another table."""
        if self._stored() == _serialize(rewind):
            self._file_io.delete_durably(self.path)

    def _change(self, change: Callable[[Rollback], Rollback]) -> Rollback:
        for _ in range(_ATTEMPTS):
            stored = self._stored()
            old = Rollback(0, 0, 0, self._of_main) if stored is None else self._parse(stored)
            new = change(old)
            if self._file_io.replace_if(self.path, stored, _serialize(new), durable=True):
                return new
        raise CommitConflictError(f"{self.path}: others roll the table back at the same time.", remedy="Run it again.")

    def _stored(self) -> bytes | None:
        try:
            return self._file_io.read_bytes(self.path)
        except MissingFileError:
            return None

    def _parse(self, stored: bytes) -> Rollback:
        try:
            found = json.loads(stored)
            return Rollback(int(found["generation"]), int(found["target"]), int(found["until"]), self._of_main)
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptFileError("it is no mark of a rollback", path=self.path) from error


def _serialize(rewind: Rollback) -> bytes:
    stored = {"generation": rewind.generation, "target": rewind.target, "until": rewind.until}
    return json.dumps(stored).encode()


def with_generation(
    properties: Mapping[str, str], snapshot_id: int, rewind: Rollback | None, branch: str
) -> dict[str, str]:
    """Return the properties of a snapshot of the number, with its branch, and the generation if covered by the mark."""
    result = {key: value for key, value in properties.items() if key not in (GENERATION, MADE_ON)}
    if rewind is not None and rewind.covers(snapshot_id):
        result[GENERATION] = str(rewind.generation)
    if branch != MAIN_BRANCH:
        result[MADE_ON] = branch
    return result
