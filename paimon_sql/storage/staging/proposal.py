"""The proposal of a commit, and validations of it."""

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
    """The changes of one commit attempt.

    Attributes:
        table: the table.
        base: the snapshot that the changes were computed from; None if they depend on none.
        latest: the newest snapshot, to commit on; None for the first commit.
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
        """The live files before the commit, in the changed partitions."""
        partitions = {e.partition for e in self.changes.entries} | {e.partition for e in self.changes.indexes}
        return live_files(self.table, self.latest, partitions=partitions).entries

    @cached_property
    def live_after(self) -> pa.Table:
        """The live files after the commit, in the same partitions."""
        return merge_entries([self.live, manifest_table(self.changes.entries)])


@dataclass(frozen=True)
class Validation:
    """A condition for committing changes, checked in every attempt.

    Attributes:
        name: the condition as a statement.
        check: raises `CommitConflictError` or `ConstraintViolationError` if it is violated.
    """

    name: str
    check: Callable[[Proposal], None]
