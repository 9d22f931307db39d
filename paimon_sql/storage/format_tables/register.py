"""Partition register: a catalog's list of a format table's partitions, which is authoritative."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Spec = Mapping[str, str]
"""The values of a partition as strings by column, as in directory names."""

UNKNOWN = -1
"""The value of a statistic that was not reported."""


@dataclass(frozen=True)
class PartitionStatistics:
    """Statistics of a partition, each `UNKNOWN` if not computed.

    Attributes:
        rows: the number of rows.
        size: the bytes of all files.
        files: the number of files.
        last_file_millis: the creation time of the newest file.
    """

    rows: int = UNKNOWN
    size: int = UNKNOWN
    files: int = UNKNOWN
    last_file_millis: int = UNKNOWN


class PartitionRegister(ABC):
    """The register of one table; an instance can be pickled."""

    @abstractmethod
    def all(self) -> list[tuple[Spec, PartitionStatistics]]:
        """The registered partitions, in no order, with their reported statistics."""

    @abstractmethod
    def add(self, specs: Sequence[Spec], *, strict: bool = False) -> None:
        """Register partitions.

        Args:
            specs: the partitions.
            strict: whether to add none of them if one is registered already.

        Raises:
            AlreadyExistsError: one is registered already, and `strict` is true.
        """

    @abstractmethod
    def report(self, figures: Sequence[tuple[Spec, PartitionStatistics]], *, anew: bool) -> None:
        """Report statistics of registered partitions.

        Args:
            figures: the partitions with their statistics.
            anew: whether these replace the registered statistics; otherwise they are added to them.
        """

    @abstractmethod
    def drop(self, specs: Sequence[Spec]) -> None:
        """Unregister partitions, without their files; unknown ones are ignored."""
