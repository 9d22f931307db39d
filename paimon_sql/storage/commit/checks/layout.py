"""Facet of table layouts: what a commit must keep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.table.layout import TableLayout
from paimon_sql.storage.table.table import Table


class CommitLayout(TableLayout):
    """The commits of a table.

    Class attributes:
        validations: the conditions of every commit.
        append_validations: those of commits that append rows.
        overwrite_validations: those of commits that replace rows.
    """

    validations: ClassVar[tuple[Validation, ...]]
    append_validations: ClassVar[tuple[Validation, ...]] = ()
    overwrite_validations: ClassVar[tuple[Validation, ...]] = ()

    def in_commit_order(self, proposal: Proposal) -> Changes:
        """Return the changes, adapted so that rows of later commits count as newer."""
        return proposal.changes

    def outdated_partitions(self, table: Table, overwritten: Iterable[bytes]) -> tuple[Table, list[bytes]] | None:
        """Return the partitions of another branch that overwritten ones outdate, and that branch; None without any."""
        return None
