"""What writes mean to chain tables: a chain keeps its first whole partition, and whole ones end with their changes.

A whole partition that is overwritten in the branch with changes is out of date, so it is dropped. One that is dropped
without a whole one before it would leave the changes behind it without what they change; that is refused. So are new
rows of the table's own branch that would be read in the place of all that the other branches have of their partition.
"""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.errors import ConstraintViolationError
from paimon_sql.format.manifest import FileKind
from paimon_sql.format.partition import PartitionPaths
from paimon_sql.format.snapshot import Snapshot
from paimon_sql.storage.chains import Chain, Timeline
from paimon_sql.storage.commit.messages import Changes
from paimon_sql.storage.scan.live_files import live_files
from paimon_sql.storage.table import Table


def check_overwrite(table: Table, latest: Snapshot | None, changes: Changes) -> None:
    """Nothing if an overwrite leaves each chain what it begins with.

    Args:
        table: the table that is overwritten.
        latest: the snapshot that the changes are put on.
        changes: what the overwrite changes.

    Raises:
        ConstraintViolationError: a whole partition is dropped that later changes need.
    """
    chain = Chain.of(table)
    if chain is None or not (chain.is_snapshot_branch or chain.is_delta_branch):
        return
    added = {e.partition for e in changes.entries if e.kind is FileKind.ADD}
    gone = {e.partition for e in changes.entries} - added
    if chain.is_snapshot_branch:
        if not added:
            _check(chain, gone, _partitions(table, latest), _newest(chain.deltas()))
        return
    whole = _newest(chain.snapshots())
    changed = (_partitions(table, latest) - gone) | added
    _check(chain, {e.partition for e in changes.entries} & whole, whole, changed)


def check_append(table: Table, latest: Snapshot | None, changes: Changes) -> None:
    """Nothing if new rows hide no others: a partition of the table's own branch is read instead of the other branches'.

    Args:
        table: the table that takes rows.
        latest: the snapshot that the changes are put on.
        changes: the new files.

    Raises:
        ConstraintViolationError: rows that are read now would be read no more.
    """
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


def overtaken(table: Table, partitions: Iterable[bytes]) -> tuple[Table, list[bytes]] | None:
    """The whole partitions that are out of date since others of the same values were overwritten, and their branch.

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


def _check(chain: Chain, dropped: set[bytes], whole: set[bytes], changed: set[bytes]) -> None:
    if not dropped:
        return
    timeline = Timeline(chain, whole, changed)
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
