"""Version management: snapshots and branches of a catalog's server (Paimon: `supportsVersionManagement`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paimon_sql.format.metadata.snapshot import Snapshot


@dataclass(frozen=True)
class PartitionChange:
    """The change of a partition by one commit.

    Attributes:
        values: the partition spec, with values as strings.
        rows: rows of added files minus those of deleted files.
        size: bytes, likewise.
        files: number of files, likewise.
        last_file_millis: creation time of the newest of these files, in milliseconds since the epoch.
        buckets: number of buckets of the partition.
    """

    values: Mapping[str, str]
    rows: int
    size: int
    files: int
    last_file_millis: int
    buckets: int


class VersionManagement(ABC):
    """A table's versions, where its files alone do not determine them; an instance can be pickled.

    Snapshot and schema files are in the table's directory as usual, and old ones are read there.
    """

    @abstractmethod
    def latest(self, branch: str) -> Snapshot | None:
        """Return the latest snapshot of a branch; None for an empty one."""

    @abstractmethod
    def get(self, branch: str, snapshot_id: int) -> Snapshot | None:
        """Return the snapshot of the id; None if there is none."""

    @abstractmethod
    def commit(
        self, branch: str, snapshot: Snapshot, base: Snapshot | None, partitions: Sequence[PartitionChange]
    ) -> bool:
        """Make a snapshot the latest one of a branch: False if the latest is not its base.

        Args:
            branch: the branch.
            snapshot: the snapshot.
            base: the snapshot it was built on, None for the first one.
            partitions: its changes of partitions.

        Raises:
            AnswerLostError: it may have been committed.
            PaimonError: it was refused, and nothing was changed.
        """

    @abstractmethod
    def roll_back(self, branch: str, latest_id: int, *, snapshot_id: int | None = None, tag: str | None = None) -> None:
        """Drop the snapshots after a snapshot or a tag's snapshot, if ``latest_id`` is still the latest."""

    @abstractmethod
    def create_branch(self, branch: str, name: str, tag: str | None) -> None:
        """Create a branch of another, with only its schema or from a tag; AlreadyExistsError if it exists."""

    @abstractmethod
    def delete_branch(self, name: str) -> None:
        """Delete a branch."""

    @abstractmethod
    def rename_branch(self, name: str, target: str) -> None:
        """Rename a branch."""

    @abstractmethod
    def fast_forward(self, name: str) -> None:
        """Fast-forward ``main`` to a branch."""

    @abstractmethod
    def mark_done(self, branch: str, partition: Mapping[str, str]) -> None:
        """Mark a partition as done, by its partition spec with values as strings."""
