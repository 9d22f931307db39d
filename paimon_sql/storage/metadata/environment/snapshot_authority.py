"""What keeps a table's versions in the place of its folder: a server that makes snapshots and branches itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paimon_sql.format.metadata.snapshot import Snapshot


@dataclass(frozen=True)
class PartitionChange:
    """How one commit changed a partition.

    Attributes:
        values: the partition's columns and their values as text.
        rows: rows of the files that came, less those of the files that went.
        size: their bytes, likewise.
        files: their number, likewise.
        last_file_millis: when the newest of all these files was made, in milliseconds since the epoch.
        buckets: how many buckets the partition has.
    """

    values: Mapping[str, str]
    rows: int
    size: int
    files: int
    last_file_millis: int
    buckets: int


class VersionManagement(ABC):
    """What is asked for a table's versions, where its files alone do not decide them; an instance can be pickled.

    Files of snapshots and schemas stand in the table's folder as anywhere, and whoever wants an old one reads it there.
    """

    @abstractmethod
    def latest(self, branch: str) -> Snapshot | None:
        """The newest snapshot of a branch, None if nothing was written to it."""

    @abstractmethod
    def get(self, branch: str, snapshot_id: int) -> Snapshot | None:
        """The snapshot of that id, None if there is none."""

    @abstractmethod
    def commit(
        self, branch: str, snapshot: Snapshot, base: Snapshot | None, partitions: Sequence[PartitionChange]
    ) -> bool:
        """Make a snapshot the newest one of a branch: False if the newest is not what it was built on.

        Args:
            branch: the branch.
            snapshot: the snapshot.
            base: what it was built on, None for the first one.
            partitions: how it changes partitions.

        Raises:
            AnswerLostError: it may have happened.
            PaimonError: it was refused, and nothing happened.
        """

    @abstractmethod
    def roll_back(self, branch: str, latest_id: int, *, snapshot_id: int | None = None, tag: str | None = None) -> None:
        """Drop what is later than a snapshot, or than a tag's, if ``latest_id`` is still the newest."""

    @abstractmethod
    def create_branch(self, branch: str, name: str, tag: str | None) -> None:
        """Make a branch of another, of its schema alone or of what a tag keeps; AlreadyExistsError if there is one."""

    @abstractmethod
    def delete_branch(self, name: str) -> None:
        """Remove a branch."""

    @abstractmethod
    def rename_branch(self, name: str, target: str) -> None:
        """Give a branch another name."""

    @abstractmethod
    def fast_forward(self, name: str) -> None:
        """Let ``main`` become what a branch is."""

    @abstractmethod
    def mark_done(self, branch: str, partition: Mapping[str, str]) -> None:
        """Say that a partition is complete, by its columns and their values as text."""
