"""Rewinds: what tells the snapshots of writers that a rollback has overtaken from those of the history.

A rollback gives the numbers of what it drops free. A writer that has built on a dropped snapshot and stands still
meanwhile can create its own under a number that the history comes to once more: a stray, which it withdraws as soon as
it looks (`commit/standing.py`). Until then nobody may build upon it.

So a rollback first leaves a mark: its generation, the snapshot that it goes back to, and the last number that a stray
can have. A snapshot of ours in between carries the generation that its writer knew. One of an earlier generation is a
stray: no reader takes it for the newest, and writers wait until it has gone. Snapshots of other engines are believed,
and so are those of branches that another engine's fast-forward has brought, which know of no mark but their branch's.
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
"""What snapshots of ours say of their writer."""
GENERATION = "paimon-sql.generation"
"""The property of a snapshot that says after how many rewinds it was made."""
MADE_ON = "paimon-sql.branch"
"""The property of a snapshot that was made on a branch: its name."""
_ATTEMPTS = 10


@dataclass(frozen=True)
class Rewind:
    """The last time that a history went back.

    Attributes:
        generation: how often it did, from 1 on.
        target: the snapshot that it went back to, 0 for none.
        until: the greatest number that a writer which built on a dropped snapshot can create.
        of_main: whether it is that of the table itself, and of no branch.
    """

    generation: int
    target: int
    until: int
    of_main: bool = True

    def covers(self, snapshot_id: int) -> bool:
        """Whether a snapshot of that number may be a stray."""
        return self.target < snapshot_id <= self.until

    def judges(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot says which rewinds of this history its writer knew; all others are believed."""
        is_brought = self.of_main and MADE_ON in (snapshot.properties or {})
        return snapshot.writer_version == WRITER_VERSION and not is_brought

    def is_stray(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot was built on one that was dropped, or was itself dropped."""
        if not self.covers(snapshot.id) or not self.judges(snapshot):
            return False
        known = (snapshot.properties or {}).get(GENERATION, "0")
        return int(known) < self.generation if known.isdecimal() else True


class RollbackMark:
    """The file that says when the history of a table or branch last went back.

    It stands in no directory in which other engines look for orphan files.

    Args:
        file_io: the file system.
        root: the directory of the table or branch.
    """

    def __init__(self, file_io: FileIO, root: str) -> None:
        self._file_io = file_io
        self._of_main = not is_branch_root(root)
        self.path = f"{root}/REWIND"

    def read(self) -> Rewind | None:
        """What the mark says; None if the history never went back.

        Raises:
            CorruptFileError: the file says nothing that can be understood.
        """
        stored = self._stored()
        return None if stored is None else self._parsed(stored)

    def write(self, target: Snapshot | None, until: int) -> Rewind:
        """Begin a new generation, on the disk before anything is dropped.

        Args:
            target: the snapshot that the history goes back to, None for before the first one.
            until: the greatest number that a writer which knows nothing of it can create.

        Raises:
            NoSuchSnapshotError: another rewind has taken the target out of the history; the mark stays as it is.
            CommitConflictError: others go back at the same time.
        """

        def next_generation(old: Rewind) -> Rewind:
            if target is not None and old.is_stray(target):
                raise NoSuchSnapshotError(
                    f"Snapshot {target.id} is none of the history any more: another job has rolled back to snapshot"
                    f" {old.target} meanwhile.",
                    name=str(target.id),
                    remedy="Look at $snapshots before you roll back again.",
                )
            base = 0 if target is None else target.id
            return replace(old, generation=old.generation + 1, target=base, until=max(old.until, until))

        return self._change(next_generation)

    def extend(self, until: int) -> Rewind:
        """Take greater numbers for those of strays, as writers had gone on before they saw the mark."""
        return self._change(lambda old: replace(old, until=max(old.until, until)))

    def take_back(self, rewind: Rewind) -> None:
        """Remove a mark that came into the directory of another table."""
        if self._stored() == _written(rewind):
            self._file_io.delete_durably(self.path)

    def _change(self, change: Callable[[Rewind], Rewind]) -> Rewind:
        for _ in range(_ATTEMPTS):
            stored = self._stored()
            old = Rewind(0, 0, 0, self._of_main) if stored is None else self._parsed(stored)
            new = change(old)
            if self._file_io.replace_if(self.path, stored, _written(new), durable=True):
                return new
        raise CommitConflictError(f"{self.path}: others roll the table back at the same time.", remedy="Run it again.")

    def _stored(self) -> bytes | None:
        try:
            return self._file_io.read_bytes(self.path)
        except MissingFileError:
            return None

    def _parsed(self, stored: bytes) -> Rewind:
        try:
            found = json.loads(stored)
            return Rewind(int(found["generation"]), int(found["target"]), int(found["until"]), self._of_main)
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptFileError("it is no mark of a rollback", path=self.path) from error


def _written(rewind: Rewind) -> bytes:
    stored = {"generation": rewind.generation, "target": rewind.target, "until": rewind.until}
    return json.dumps(stored).encode()


def with_generation(
    properties: Mapping[str, str], snapshot_id: int, rewind: Rewind | None, branch: str
) -> dict[str, str]:
    """The properties of a snapshot of that number, with its branch, and the generation where it tells something."""
    found = {key: value for key, value in properties.items() if key not in (GENERATION, MADE_ON)}
    if rewind is not None and rewind.covers(snapshot_id):
        found[GENERATION] = str(rewind.generation)
    if branch != MAIN_BRANCH:
        found[MADE_ON] = branch
    return found
