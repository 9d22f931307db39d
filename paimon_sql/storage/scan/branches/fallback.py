"""Reads of two branches, partition by partition (``scan.fallback-branch``, ``scan.primary-branch``).

A partition is read from one branch only: from the first one if it has a file there, else from the other (Paimon:
`FallbackReadFileStoreTable`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow.compute as pc

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.operations.scan import (
    SCAN_FALLBACK_BRANCH,
    SCAN_MODE,
    SCAN_PRIMARY_BRANCH,
    SCAN_TIMESTAMP,
    SCAN_TIMESTAMP_MILLIS,
)
from paimon_sql.format.text.instants import parse_instant
from paimon_sql.storage.branches.management import NAMING_OPTIONS, branch_of_option
from paimon_sql.storage.data_files.live_files import LiveFiles, live_files, partition_predicate
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.metadata.snapshots import SnapshotView
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import Version, version_to_read

OTHER_BRANCHES = frozenset(option.key for option in NAMING_OPTIONS)
"""The options that name another branch to read together with the table's own."""


@dataclass(frozen=True)
class BranchFiles:
    """The files of a read from one branch."""

    table: Table
    snapshot: Snapshot | None
    live: LiveFiles


def files_of_branches(table: Table, version: Version, predicate: Predicate | None) -> list[BranchFiles]:
    """The files of a read: of the table's own branch, and of the one that its options name, if any.

    Args:
        table: the table, under the options of the read.
        version: the state that is read.
        predicate: the condition.

    Raises:
        InvalidOptionError: the other branch does not exist or has other columns.
    """
    own = BranchFiles(table, version.snapshot, live_files(table, version.snapshot, predicate))
    option = SCAN_FALLBACK_BRANCH if table.options.get(SCAN_FALLBACK_BRANCH) else SCAN_PRIMARY_BRANCH
    name = table.options.get(option)
    if not name or name == table.branch:
        return [own]
    other = branch_of_option(table, name, option.key)
    options = {k: v for k, v in other.schema.options.items() if k not in OTHER_BRANCHES}
    other = replace(other, schema=replace(other.schema, options=options))
    read = files_beside(table, version, other, option.key, predicate)
    first, second = (own, read) if option is SCAN_FALLBACK_BRANCH else (read, own)
    # A partition counts as present even if none of its rows satisfies the condition.
    present = live_files(first.table, first.snapshot, partition_predicate(first.table, predicate))
    return [first, replace(second, live=without(second.live, present))]


def files_beside(table: Table, version: Version, other: Table, key: str, predicate: Predicate | None) -> BranchFiles:
    """The files of another branch, at the time of the table's own state, or at the time that the options name.

    Raises:
        InvalidOptionError: it has other columns; ``key`` is the option that names it.
    """
    snapshot = _snapshot_of_other_branch(table, version, other)
    if version.snapshot is not None and version.travelled and snapshot is not None:
        other = other.at_schema(snapshot.schema_id)
    check_columns(table, other, key)
    return BranchFiles(other, snapshot, live_files(other, snapshot, predicate))


def _snapshot_of_other_branch(table: Table, version: Version, other: Table) -> Snapshot | None:
    """The other branch's snapshot at the time of the table's, as snapshot ids and tags are per branch; None without."""
    if not version.travelled or version.created_from_millis is not None:
        return version_to_read(other.with_options({SCAN_MODE.key: table.options.get(SCAN_MODE)})).snapshot
    millis, text = table.options.get(SCAN_TIMESTAMP_MILLIS), table.options.get(SCAN_TIMESTAMP)
    if text is not None:
        millis = parse_instant(text)
    if millis is None:
        millis = version.snapshot.time_millis if version.snapshot else 0
    return SnapshotView(other.snapshots).at_time(millis)


def check_columns(table: Table, other: Table, key: str) -> None:
    """Check that both branches have the same columns, nullability aside.

    Raises:
        InvalidOptionError: they differ.
    """
    one, two = ([(f.name, f.type.as_nullable().sql()) for f in t.schema.fields] for t in (table, other))
    if one != two or table.schema.partition_keys != other.schema.partition_keys:
        shown = (", ".join(f"{name} {kind}" for name, kind in columns) for columns in (one, two))
        raise InvalidOptionError(
            f"'{key}' needs the same columns in both branches, but {table.name} and {other.name} have"
            f" ({') and ('.join(shown)}).",
            key=key,
            remedy="Make the same changes to both.",
        )


def without(live: LiveFiles, held: LiveFiles) -> LiveFiles:
    """The files of partitions that another read has no file of."""
    taken = held.entries["partition"].combine_chunks().unique()
    return live.narrowed(live.entries.filter(pc.invert(pc.is_in(live.entries["partition"], value_set=taken))))
