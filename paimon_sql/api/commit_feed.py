"""The commits of a table in their order, as far as they are there, and then each new one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from paimon_sql.errors import NoSuchSnapshotError
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.change_range import Bound, commits_between


@dataclass(frozen=True)
class CommitFeed:
    """Follows the snapshots of a table; the attributes are arguments of `Table.follow`."""

    table: Table
    consumer: str | None
    wait: float | None
    poll: float

    def first(self, start: int | None) -> int:
        """Return the id of the first snapshot.

        Args:
            start: where to begin unless the consumer has progress; None for the first one with retained changes.

        Raises:
            NoSuchSnapshotError: the changes of that snapshot are not retained.
        """
        progress = self.table.consumers.find(self.consumer) if self.consumer is not None else None
        wanted = start if progress is None else progress.next_snapshot
        if wanted is not None and wanted > (self.table.snapshots.latest_id() or 0):
            return wanted
        return commits_between(self.table, None if wanted is None else Bound(str(wanted)), None).start

    def after(self, first: int) -> Iterator[int]:
        """Yield the ids of the snapshots from a first one on; a commit has been read when the next one is asked for.

        Raises:
            NoSuchSnapshotError: a rollback removed the commit that was read last.
        """
        number, since = first, time.monotonic()
        read: Snapshot | None = None
        self._advance(number)
        while True:
            newest = self.table.snapshots.latest_id() or 0
            self._check_present(read, newest)
            if number <= newest:
                read = self.table.snapshots.find(number)
                yield number
                number, since = number + 1, time.monotonic()
                self._advance(number)
            elif (left := self._seconds_left(since)) > 0:
                time.sleep(min(self.poll, left))
            else:
                return

    def _check_present(self, read: Snapshot | None, newest: int) -> None:
        """Later commits take the ids of those that a rollback removed; an expired commit is still part of the table."""
        if read is None:
            return
        found = self.table.snapshots.find(read.id)
        if newest < read.id or (found is not None and found != read):
            raise NoSuchSnapshotError(
                f"{self.table.name} was rolled back: snapshot {read.id}, which was read, is not part of it any more.",
                name=str(read.id),
                remedy="Discard what was made of the commits after the one that it was rolled back to, and follow from"
                " the next id.",
            )

    def _seconds_left(self, since: float) -> float:
        return self.poll if self.wait is None else self.wait - (time.monotonic() - since)

    def _advance(self, number: int) -> None:
        if self.consumer is not None:
            self.table.consumers.reset(self.consumer, number)
