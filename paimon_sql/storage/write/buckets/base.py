"""What a bucket mode is: it plans the writes of a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from paimon_sql.storage.write.buckets.state import WriteState
from paimon_sql.storage.write.task import WriteTask


class BucketMode(ABC):
    """How the rows of a table find their buckets.

    Attributes:
        name: Paimon's name of the mode.
    """

    name: ClassVar[str]

    @abstractmethod
    def plan(self, state: WriteState) -> WriteTask:
        """The task that each writer of a statement carries out."""
