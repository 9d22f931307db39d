"""Deletes of whole partitions: a change of metadata alone, no row is read or written."""

from __future__ import annotations

from paimon_sql.errors import CommitConflictError
from paimon_sql.format.metadata.manifest import ManifestEntry
from paimon_sql.format.metadata.snapshot import Operation, Snapshot
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.operations import operations
from paimon_sql.storage.staging.proposal import Overwrite, overwritten
from paimon_sql.storage.table.table import Table


def remove_partitions(table: Table, base: Snapshot | None, partitions: Predicate | None) -> None:
    """Commit the deletion of all files of some partitions.

    Args:
        table: the table.
        base: the snapshot whose rows are deleted.
        partitions: a condition on the partitions to delete; None for all.

    Raises:
        CommitConflictError: a concurrent commit has written to these partitions since.
    """
    overwrite = Overwrite(partitions)
    known = {e.file.file_name for e in overwritten(table, base, overwrite, [])}

    def removed(latest: Snapshot | None) -> list[ManifestEntry]:
        found = overwritten(table, latest, overwrite, [])
        if {e.file.file_name for e in found} != known:
            raise CommitConflictError(
                f"{table.name}: another job wrote to the partitions while they were being deleted.",
                remedy="Run the statement again.",
            )
        return found

    with Transaction(table, Operation.DELETE, base=base) as transaction:
        operations.overwrite(transaction, [], removed)
