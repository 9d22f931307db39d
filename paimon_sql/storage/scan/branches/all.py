"""The files of a read, from the table's own branch and those that its options name."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from paimon_sql.errors import NoSuchSnapshotError
from paimon_sql.format.options.operations.scan import SCAN_TIMESTAMP, SCAN_TIMESTAMP_MILLIS
from paimon_sql.storage.branches.chains import Chain
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.scan.branches.chain import ChainFiles, files_of_chain
from paimon_sql.storage.scan.branches.fallback import BranchFiles, files_of_branches
from paimon_sql.storage.scan.single_bucket import in_scanned_bucket, live_in_scanned_bucket
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import Version, version_to_read


def scanned_version(table: Table) -> Version:
    """The state of the table's own branch that a read sees, from its options; the newest by default.

    In a chain table it may be empty at a time when the other branches had snapshots already.

    Raises: as `version_to_read`.
    """
    try:
        return version_to_read(table)
    except NoSuchSnapshotError:
        by_time = table.options.has(SCAN_TIMESTAMP) or table.options.has(SCAN_TIMESTAMP_MILLIS)
        if not by_time or Chain.read_by(table) is None:
            raise
        return Version(None, table.schema.id, travelled=True)


@dataclass(frozen=True)
class FilesToRead:
    """The files of a read.

    Attributes:
        version: the state of the table's own branch.
        parts: the files of partitions that are read from one branch, by branch.
        chain: the partitions that are read as chains; None if the table has no chains.
    """

    version: Version
    parts: list[BranchFiles]
    chain: ChainFiles | None = None


def files_to_read(table: Table, predicate: Predicate | None) -> FilesToRead:
    """The files of a read of the state that the table's options name.

    Args:
        table: the table, under the options of the read.
        predicate: the condition.

    Raises:
        InvalidOptionError: another branch does not exist or has other columns.
    """
    chain, version = Chain.read_by(table), scanned_version(table)
    if chain is None:
        return FilesToRead(version, _of_bucket(table, files_of_branches(table, version, predicate)))
    found = files_of_chain(chain, version, predicate)
    chained = [
        replace(c, files=[(owner, partition, in_scanned_bucket(table, files)) for owner, partition, files in c.files])
        for c in found.chained
    ]
    found = replace(found, single_branch=_of_bucket(table, found.single_branch), chained=chained)
    return FilesToRead(version, found.single_branch, found)


def _of_bucket(table: Table, parts: list[BranchFiles]) -> list[BranchFiles]:
    return [replace(part, live=live_in_scanned_bucket(table, part.live)) for part in parts]


def newest_entries(table: Table) -> pa.Table:
    """The entries of all files that a read of the newest state uses, from all branches."""
    newest = Version(table.snapshots.latest(), table.schema.id)
    chain = Chain.read_by(table)
    if chain is None:
        return pa.concat_tables([part.live.entries for part in files_of_branches(table, newest, None)])
    found = files_of_chain(chain, newest, None)
    return pa.concat_tables([part.live.entries for part in (*found.single_branch, found.deltas)])
