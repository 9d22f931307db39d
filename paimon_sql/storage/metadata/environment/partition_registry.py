"""The list of a table's partitions that a metastore keeps for other engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

_DONE = ".done"


def as_done(partition: Mapping[str, str]) -> dict[str, str]:
    """The partition that is listed to say that another one is complete."""
    last = next(reversed(list(partition)))
    return {**partition, last: partition[last] + _DONE}


class PartitionRegistry(ABC):
    """A metastore's list of the partitions of one table; an instance can be pickled.

    A partition is given as the text of each value by its column, in the order of the partition columns.
    """

    @abstractmethod
    def add(self, partitions: Sequence[Mapping[str, str]]) -> None:
        """List these partitions; those that are listed already stay as they are."""

    @abstractmethod
    def drop(self, partitions: Sequence[Mapping[str, str]]) -> None:
        """List these partitions no longer, whether they were or not."""

    @abstractmethod
    def all(self) -> list[tuple[str, ...]]:
        """The values of all partitions that are listed."""

    @abstractmethod
    def mark_done(self, partition: Mapping[str, str]) -> None:
        """Mark a partition that is listed as complete."""
