"""Interfaces to a session: refreshes of materialized tables, with their results, and tables of plain files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.format.schema.records import Long, Record, column
from paimon_sql.storage.copy.migration import PlainTable
from paimon_sql.storage.table.table import Table

NONE, FULL, INCREMENTAL = "NONE", "FULL", "INCREMENTAL"


class RefreshResult(Record):
    """The result of a refresh.

    The mode is FULL if the table or whole partitions were recomputed, INCREMENTAL if new rows were added, NONE if the
    table was up to date. The partitions are ``dt=x/h=1``, separated by commas. The note may also be the reason for not
    refreshing.
    """

    mode: str = column("FULL, INCREMENTAL, or NONE if nothing was due")
    partitions: str | None = column("the partitions; null for the whole table")
    rows: Long | None = column("number of written rows; null if none were due, or in a dry run")
    snapshot_id: Long | None = column("the created snapshot; null without one")
    seconds: float = column("duration in seconds")
    note: str = column("why this mode was chosen")


class Refresher(ABC):
    """Refreshes materialized tables of a catalog, in a session that runs their queries."""

    @abstractmethod
    def refresh(
        self,
        identifier: Identifier,
        partitions: Sequence[Mapping[str, str]] | None = None,
        *,
        scheduled: bool = False,
        dry_run: bool = False,
    ) -> RefreshResult:
        """Refresh a table.

        Args:
            identifier: the table.
            partitions: the partitions to recompute, as strings by column; None to decide by the table.
            scheduled: whether to refresh only the due partitions of a table with time partitions.
            dry_run: whether to only report what would be done.

        Raises:
            InvalidInputError: the table is not a materialized table, or its query cannot be run.
            CommitConflictError: a concurrent commit changed the table; nothing was changed.
        """

    @abstractmethod
    def sources(self, identifier: Identifier) -> set[str]:
        """The full names of the tables that the query of a table reads."""


class PlainTables(Protocol):
    """Tables of plain files (Hive tables, directories) that a session can read."""

    def table(self, source_type: str, name: str, known: Table | None) -> PlainTable:
        """A table of the session's catalog, or a directory.

        Args:
            source_type: ``hive``, or the file format of a directory.
            name: the table, or the directory.
            known: a table with the columns of the directory's files, if there is one.

        Raises:
            NotFoundError: there is no such table or directory.
        """

    def directories(self, source_type: str, name: str) -> list[str]:
        """The directories that may hold files of a table; arguments and errors as in `table`."""

    def names(self, database: str) -> list[str]:
        """The tables of a database, sorted.

        Raises:
            NoSuchDatabaseError: there is no such database.
        """
