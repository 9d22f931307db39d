"""The files of a read, from the table's own branch and those that its options name."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from paimon_sql.storage.branches.chains import Chain
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.scan.branches.chain import ChainFiles, files_of_chain
from paimon_sql.storage.scan.branches.fallback import BranchFiles, files_of_branches
from paimon_sql.storage.scan.selection.single_bucket import in_scanned_bucket, live_in_scanned_bucket
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import Version


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


def files_to_read(table: Table, version: Version, predicate: Predicate | None) -> FilesToRead:
    """The files of a read of a table without chains; arguments and errors as `files_of_branches`."""
    return FilesToRead(version, _of_bucket(table, files_of_branches(table, version, predicate)))


def files_to_chain(chain: Chain, version: Version, predicate: Predicate | None) -> FilesToRead:
    """The files of a read of a chain table; arguments and errors as `files_of_chain`."""
    table, found = chain.table, files_of_chain(chain, version, predicate)
    chained = [
        replace(c, files=[(owner, partition, in_scanned_bucket(table, files)) for owner, partition, files in c.files])
        for c in found.chained
    ]
    found = replace(found, single_branch=_of_bucket(table, found.single_branch), chained=chained)
    return FilesToRead(version, found.single_branch, found)


def _of_bucket(table: Table, parts: list[BranchFiles]) -> list[BranchFiles]:
    return [replace(part, live=live_in_scanned_bucket(table, part.live)) for part in parts]


def newest_entries(table: Table, chain: Chain | None = None) -> pa.Table:
    """The entries of all files that a read of the newest state uses, from all branches, those of chains included."""
    newest = Version(table.snapshots.latest(), table.schema.id)
    if chain is None:
        return pa.concat_tables([part.live.entries for part in files_of_branches(table, newest, None)])
    found = files_of_chain(chain, newest, None)
    return pa.concat_tables([part.live.entries for part in (*found.single_branch, found.deltas)])
