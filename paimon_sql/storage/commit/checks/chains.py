"""Checks of writes to chain tables: full partitions that a chain needs must stay, and new rows must not hide others.

A full partition that is overwritten in the delta branch is outdated, and so dropped. Dropping one without an earlier
full partition is rejected if later changes need it. So are new rows of the table's own branch that would be read
instead of their partition's rows in the other branches.
"""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.errors import ConstraintViolationError
from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.metadata.manifest import FileKind
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.branches.chains import Chain, Timeline
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.table.table import Table


def _check_overwrite(proposal: Proposal) -> None:
    """Check that an overwrite drops no full partition that later changes need."""
    table, latest, changes = proposal.table, proposal.latest, proposal.changes
    chain = Chain.of(table)
    if chain is None or not (chain.is_snapshot_branch or chain.is_delta_branch):
        return
    added = {e.partition for e in changes.entries if e.kind is FileKind.ADD}
    deleted = {e.partition for e in changes.entries} - added
    if chain.is_snapshot_branch:
        if not added:
            _check(chain, deleted, _partitions(table, latest), _newest(chain.deltas()))
        return
    full = _newest(chain.snapshots())
    changed = (_partitions(table, latest) - deleted) | added
    _check(chain, {e.partition for e in changes.entries} & full, full, changed)


def _check_append(proposal: Proposal) -> None:
    """Check that new rows hide no partition: one in the table's own branch is read instead of the other branches'."""
    table, latest, changes = proposal.table, proposal.latest, proposal.changes
    chain = Chain.read_by(table)
    if chain is None:
        return
    added = {e.partition for e in changes.entries if e.kind is FileKind.ADD} - _partitions(table, latest)
    hidden = sorted(added & (_newest(chain.snapshots()) | _newest(chain.deltas()))) if added else []
    if hidden:
        raise ConstraintViolationError(
            f"{table.name}: new rows of partition {PartitionPaths.of(table.schema).name(hidden[0])} would be read"
            f" instead of all that the branches '{chain.snapshot_branch}' and '{chain.delta_branch}' have of it.",
            remedy=f"Write into {table.name}$branch_{chain.delta_branch}, or INSERT OVERWRITE the partition.",
        )


KEEPS_CHAINS = Validation("chains keep the whole partitions that they begin with", _check_overwrite)
HIDES_NO_PARTITION = Validation("new rows hide no partition of a chain's branches", _check_append)


def outdated_partitions(table: Table, partitions: Iterable[bytes]) -> tuple[Table, list[bytes]] | None:
    """Return the full partitions that are outdated because they were overwritten, and their branch.

    Args:
        table: the table that was overwritten.
        partitions: the partitions.

    Returns:
        None if there are none.
    """
    chain = Chain.of(table)
    if chain is None or not chain.is_delta_branch:
        return None
    snapshots = chain.snapshots()
    found = sorted(set(partitions) & _newest(snapshots))
    return (snapshots, found) if found else None


def _check(chain: Chain, dropped: set[bytes], full: set[bytes], changed: set[bytes]) -> None:
    if not dropped:
        return
    timeline = Timeline(chain, full, changed)
    for place in chain.places(sorted(dropped)):
        if timeline.is_first_needed(place):
            raise ConstraintViolationError(
                f"{chain.table.name}: the whole partition {PartitionPaths.of(chain.table.schema).name(place.partition)}"
                f" cannot be dropped: later ones of branch '{chain.delta_branch}' are read from it on, and there is no"
                " whole one before it.",
                remedy="CALL sys.compact_chain_table for the next of them first, or drop them too.",
            )


def _newest(table: Table) -> set[bytes]:
    return _partitions(table, table.snapshots.latest())


def _partitions(table: Table, snapshot: Snapshot | None) -> set[bytes]:
    return set(live_files(table, snapshot).partitions)
