"""Changes that are about to be put on a snapshot, and the named conditions under which they may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from paimon_sql.format.metadata.manifest import manifest_table, merge_entries
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class Proposal:
    """What one attempt at a commit would make of a table.

    Attributes:
        table: the table.
        base: the snapshot that the changes were worked out from; None where they depend on none.
        latest: the newest snapshot, on which they would be put; None for the first one.
        kind: the kind of the commit.
        changes: the changes.
    """

    table: Table
    base: Snapshot | None
    latest: Snapshot | None
    kind: CommitKind
    changes: Changes

    @cached_property
    def live(self) -> pa.Table:
        """The live files before, in the partitions that the changes touch."""
        partitions = {e.partition for e in self.changes.entries} | {e.partition for e in self.changes.indexes}
        return live_files(self.table, self.latest, partitions=partitions).entries

    @cached_property
    def left(self) -> pa.Table:
        """The live files afterwards, in the same partitions."""
        return merge_entries([self.live, manifest_table(self.changes.entries)])


@dataclass(frozen=True)
class Validation:
    """A condition that must hold for changes to be put on a snapshot; it is asked anew for each attempt.

    Attributes:
        name: what holds, as a statement.
        check: raises `CommitConflictError` or `ConstraintViolationError` where it does not.
    """

    name: str
    check: Callable[[Proposal], None]
