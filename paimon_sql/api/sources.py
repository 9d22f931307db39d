"""What scans read: the rows of a table, or the changes that its commits made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import pyarrow as pa

from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.read.metadata_columns import metadata_fields
from paimon_sql.storage.read.task import CHANGE_FIELDS, CHANGE_TYPE, CommitTask, ReadTask
from paimon_sql.storage.scan.changes.plan import plan_commits
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.scan.split import SplitSize
from paimon_sql.storage.table.table import Table


class Task(Protocol):
    """A part of a read."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows that satisfy the condition, with the wanted columns."""


@dataclass(frozen=True)
class Source(ABC):
    """Something that can be scanned.

    Attributes:
        table: the table.
    """

    table: Table

    @property
    def counted(self) -> tuple[str, ...]:
        """The columns to read if rows are only counted."""
        return ()

    @property
    @abstractmethod
    def shown(self) -> Sequence[DataField]:
        """The columns that a scan shows by default."""

    @cached_property
    def fields(self) -> Mapping[str, DataField]:
        """All columns that a scan may name; conditions are on the table's own."""
        return {f.name: f for f in self.shown}

    @abstractmethod
    def tasks(
        self, columns: tuple[str, ...], predicate: Predicate | None, limit: int | None, threads: int
    ) -> Sequence[Task]:
        """Plan a read.

        Args:
            columns: the wanted columns.
            predicate: the condition.
            limit: the number of rows that are enough; None for all.
            threads: the number of parallel readers.
        """

    def known_count(self) -> int | None:
        """The number of all rows if metadata determines it; None otherwise."""
        return None


@dataclass(frozen=True)
class Rows(Source):
    """The rows of a table, in the state that its options name."""

    @property
    def shown(self) -> Sequence[DataField]:
        return self.table.schema.fields

    @cached_property
    def fields(self) -> Mapping[str, DataField]:
        return {f.name: f for f in (*metadata_fields(self.table.schema), *self.shown)}

    def tasks(
        self, columns: tuple[str, ...], predicate: Predicate | None, limit: int | None, threads: int
    ) -> Sequence[Task]:
        needed = {*columns, *(predicate.columns() if predicate is not None else ())}
        stored = needed & set(self.table.schema.names)
        plan = plan_scan(
            self.table, predicate, columns=stored or None, limit=None if predicate else limit, parallelism=threads
        )
        return [ReadTask(self.table, split, columns, predicate) for split in plan.splits]

    def known_count(self) -> int | None:
        plan = plan_scan(self.table, columns=())
        return plan.row_count if plan.counts_rows else None


@dataclass(frozen=True)
class Changes(Source):
    """The rows that commits changed, each with the kind of its change, its commit and the time of that.

    Attributes:
        commits: the ids of the snapshots.
    """

    commits: range

    @property
    def counted(self) -> tuple[str, ...]:
        return (CHANGE_TYPE.name,)

    @property
    def shown(self) -> Sequence[DataField]:
        return (*self.table.schema.fields, *CHANGE_FIELDS)

    def tasks(
        self, columns: tuple[str, ...], predicate: Predicate | None, limit: int | None, threads: int
    ) -> Sequence[Task]:
        splits, _ = plan_commits(self.table, self.commits, predicate, SplitSize().target)
        return [CommitTask(self.table, split, columns, predicate) for split in splits]
