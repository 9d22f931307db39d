"""Commits of changes that are made up: their data files need not exist."""

from __future__ import annotations

from paimon_sql.format.metadata.snapshot import CommitKind
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.table.table import Table


def commit(table: Table, kind: CommitKind, changes: Changes) -> None:
    """Commit changes, whatever the table holds."""
    with Transaction(table) as transaction:
        transaction.commit(kind, lambda latest: changes)
