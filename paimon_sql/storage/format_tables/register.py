"""The register of a format table's partitions that a catalog keeps: what it holds is what the table has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Spec = Mapping[str, str]
"""The text of each value of a partition by its column, as the names of folders have it."""

UNKNOWN = -1
"""What a register holds of a figure that nobody has reported."""


@dataclass(frozen=True)
class Figures:
    """What a partition holds; `UNKNOWN` where nobody has counted.

    Attributes:
        rows: how many rows.
        size: the bytes of all files.
        files: how many files.
        last_file_millis: when the newest file was made.
    """

    rows: int = UNKNOWN
    size: int = UNKNOWN
    files: int = UNKNOWN
    last_file_millis: int = UNKNOWN


class PartitionRegister(ABC):
    """The register of one table; an instance can be pickled."""

    @abstractmethod
    def all(self) -> list[tuple[Spec, Figures]]:
        """The partitions that are registered, in no order, with what they are said to hold."""

    @abstractmethod
    def add(self, specs: Sequence[Spec], *, strict: bool = False) -> None:
        """Register partitions.

        Args:
            specs: the partitions.
            strict: whether one that is registered already is refused, and then none of them is added.

        Raises:
            AlreadyExistsError: one is there, and `strict` was said.
        """

    @abstractmethod
    def report(self, figures: Sequence[tuple[Spec, Figures]], *, anew: bool) -> None:
        """Say what registered partitions hold.

        Args:
            figures: the partitions.
            anew: whether that is all that they hold, and not what has come to it.
        """

    @abstractmethod
    def drop(self, specs: Sequence[Spec]) -> None:
        """Register partitions no longer, whether they were or not; their files stay."""
