"""The snapshot that a read would see, without planning it: shows whether two reads see the same rows."""

from __future__ import annotations

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.operations.scan import (
    SCAN_BUCKET,
    SCAN_CREATION_TIME_MILLIS,
    SCAN_FILE_CREATION_TIME_MILLIS,
)
from paimon_sql.storage.branches.chains import Chain
from paimon_sql.storage.scan.branches.all import scanned_version
from paimon_sql.storage.scan.branches.fallback import OTHER_BRANCHES
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.change_range import change_range_to_read


def snapshot_to_read(table: Table) -> Snapshot | None:
    """The snapshot that a scan plan of the table would have now; None for an empty table.

    Args:
        table: the table, under the options of the read.

    Raises: as `scanned_version` and `change_range_to_read`.
    """
    span = change_range_to_read(table)
    return scanned_version(table).snapshot if span is None else span.end


def depends_on_snapshot_alone(table: Table) -> bool:
    """Whether a read sees all rows of a snapshot: no change range, no min creation time of files, no single bucket."""
    options = table.options
    some = (SCAN_CREATION_TIME_MILLIS, SCAN_FILE_CREATION_TIME_MILLIS, SCAN_BUCKET)
    return (
        sees_one_branch(table)
        and not any(options.has(option) for option in some)
        and change_range_to_read(table) is None
    )


def sees_one_branch(table: Table) -> bool:
    """Whether a read sees no other branch, which would have a snapshot of its own."""
    return OTHER_BRANCHES.isdisjoint(table.schema.options) and Chain.read_by(table) is None
