"""Partition registry: a table's partitions as listed in a metastore for other engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

_DONE = ".done"


def as_done(partition: Mapping[str, str]) -> dict[str, str]:
    """Return the partition whose registration marks another one as done."""
    last = next(reversed(list(partition)))
    return {**partition, last: partition[last] + _DONE}


class PartitionRegistry(ABC):
    """A metastore's list of the partitions of one table; an instance can be pickled.

    A partition spec maps each partition column, in order, to its value as a string.
    """

    @abstractmethod
    def add(self, partitions: Sequence[Mapping[str, str]]) -> None:
        """Register partitions; existing ones are not changed."""

    @abstractmethod
    def drop(self, partitions: Sequence[Mapping[str, str]]) -> None:
        """Deregister partitions; missing ones are ignored."""

    @abstractmethod
    def all(self) -> list[tuple[str, ...]]:
        """Return the values of all registered partitions."""

    @abstractmethod
    def mark_done(self, partition: Mapping[str, str]) -> None:
        """Mark a registered partition as done."""
