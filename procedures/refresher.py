"""What a refresh did or would do, and who carries it out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paimon_sql.catalog.identifier import Identifier

NONE, FULL, INCREMENTAL = "NONE", "FULL", "INCREMENTAL"


@dataclass(frozen=True)
class Refreshed:
    """One refresh.

    Attributes:
        mode: FULL where all rows, or all of some partitions, were worked out anew, INCREMENTAL where what is new was
            added, NONE where nothing was to be done.
        partitions: the partitions, ``dt=x/h=1`` with commas between; None for the whole table.
        rows: how many rows were written; None if nothing was to be written or is only foreseen.
        snapshot: the id of the snapshot that was made; None if none was.
        seconds: how long it took.
        note: why it was done in this way, or not done.
    """

    mode: str
    partitions: str | None
    rows: int | None
    snapshot: int | None
    seconds: float
    note: str


class Refresher(ABC):
    """Refreshes the materialized tables of a catalog in a session that can run their queries."""

    @abstractmethod
    def refresh(
        self,
        identifier: Identifier,
        partitions: Sequence[Mapping[str, str]] | None = None,
        *,
        scheduled: bool = False,
        dry_run: bool = False,
    ) -> Refreshed:
        """Bring a table up to date.

        Args:
            identifier: the table.
            partitions: the partitions that are worked out anew, as texts by column; None leaves it to the table.
            scheduled: whether a table whose partitions tell their time is refreshed in those alone that are due.
            dry_run: only say what would be done.

        Raises:
            InvalidInputError: it is no materialized table, or its query cannot be run.
            CommitConflictError: a rival changed the table meanwhile; nothing was changed.
        """

    @abstractmethod
    def sources(self, identifier: Identifier) -> set[str]:
        """The full names of the tables that a table's query reads."""
