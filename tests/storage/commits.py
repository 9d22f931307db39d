"""Commits of tests: each of them one transaction of a new writer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from paimon_sql.format.metadata.manifest import ManifestEntry
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.operations import operations
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.proposal import Validation
from paimon_sql.storage.table.table import Table


def append(
    table: Table, messages: Sequence[CommitMessage], validations: Sequence[Validation] = (), **transaction: Any
) -> list[Snapshot]:
    """Commit new rows and the compactions that came with them, if the validations hold."""
    with Transaction(table, **transaction) as made:
        made.require(*validations)
        return operations.append(made, messages)


def compact(table: Table, messages: Sequence[CommitMessage], **transaction: Any) -> Snapshot | None:
    """Commit a compaction."""
    with Transaction(table, **transaction) as made:
        return operations.compact(made, messages)


def change_indexes(table: Table, messages: Sequence[CommitMessage]) -> Snapshot | None:
    """Commit index files."""
    with Transaction(table) as made:
        return operations.change_indexes(made, messages)


def overwrite(
    table: Table,
    messages: Sequence[CommitMessage],
    removed: Callable[[Snapshot | None], list[ManifestEntry]],
    replaced_partitions: Collection[bytes] | None = None,
    **transaction: Any,
) -> Snapshot | None:
    """Commit files in the place of others."""
    with Transaction(table, **transaction) as made:
        return operations.overwrite(made, messages, removed, replaced_partitions=replaced_partitions)


def annotate(table: Table, properties: dict[str, str] | None = None) -> Snapshot:
    """Commit nothing but properties."""
    with Transaction(table, properties=properties) as made:
        return operations.annotate(made)
