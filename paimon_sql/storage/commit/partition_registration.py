"""What a metastore that lists a table's partitions for other engines is told after commits and of tags.

The table's own snapshots are what counts. A metastore that cannot be told is a matter for the log, and for ``repair``.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import PaimonError
from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.metadata.manifest import FileKind
from paimon_sql.format.metadata.snapshot import CommitKind
from paimon_sql.format.options.operations.tag import METASTORE_TAG_TO_PARTITION
from paimon_sql.format.options.table.partition import PARTITION_MARK_DONE_ACTION
from paimon_sql.format.options.values import comma_separated
from paimon_sql.storage.branches.management import branch_of
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.metadata.environment.partition_registry import as_done
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.table.table import Table

_LOG = logging.getLogger(__name__)


def register_commit(table: Table, kind: CommitKind, changes: Changes) -> None:
    """Let the listing know the partitions that a commit filled, and those that it left without rows."""
    if (
        table.listing is None
        or not table.schema.partition_keys
        or kind not in (CommitKind.APPEND, CommitKind.OVERWRITE)
    ):
        return
    filled = {e.partition for e in changes.entries if e.kind == FileKind.ADD}
    left = {e.partition for e in changes.entries if e.kind == FileKind.DELETE} - filled
    try:
        specs = PartitionPaths.of(table.schema)
        if filled:
            table.listing.add([specs.spec(p) for p in sorted(filled)])
        if gone := left - _held(table, left):
            partitions = [specs.spec(p) for p in sorted(gone)]
            table.listing.drop([*partitions, *(as_done(p) for p in partitions if _lists_done(table))])
    except (PaimonError, OSError) as error:
        _LOG.warning("%s: the metastore could not be told of partitions: %s", table.name, error)


def register_tags(table: Table, made: Collection[str] = (), gone: Collection[str] = ()) -> None:
    """Let the listing know tags, where they are shown as partitions."""
    field = table.options.get(METASTORE_TAG_TO_PARTITION)
    if table.listing is None or not field or table.schema.partition_keys:
        return
    try:
        if made:
            table.listing.add([{field: name} for name in made])
        if gone:
            table.listing.drop([{field: name} for name in gone])
    except (PaimonError, OSError) as error:
        _LOG.warning("%s: the metastore could not be told of tags: %s", table.name, error)


def relist(table: Table, *, dry_run: bool = False, anew: bool = False, adds: bool = True, drops: bool = True) -> bool:
    """Let the listing hold what the table holds; whether that was not so.

    Args:
        table: the table.
        dry_run: only say it.
        anew: whether all of it is written once more, as after the table has moved.
        adds: whether it takes up what it lacks.
        drops: whether it leaves out what it has over.
    """
    if table.listing is None:
        return False
    field: str = table.options.get(METASTORE_TAG_TO_PARTITION) or ""
    if table.schema.partition_keys:
        specs = PartitionPaths.of(table.schema)
        wanted = {tuple(spec.values()): spec for spec in map(specs.spec, _held(table))}
        known = {*wanted, *(tuple(as_done(p).values()) for p in wanted.values() if _lists_done(table))}
    else:
        wanted = {(name,): {field: name} for name in table.tags.names()}
        known = set(wanted)
    keys = table.schema.partition_keys or (field,)
    listed = set(table.listing.all())
    over = (listed if anew else listed - known) if drops else set()
    missing = [spec for values, spec in wanted.items() if adds and (anew or values not in listed)]
    if not dry_run and over:
        table.listing.drop([dict(zip(keys, values, strict=True)) for values in over])
    if not dry_run and missing:
        table.listing.add(missing)
    return bool(missing or over)


def _lists_done(table: Table) -> bool:
    """Whether partitions are listed that say that others are complete."""
    return "done-partition" in comma_separated(table.options.get(PARTITION_MARK_DONE_ACTION))


def _held(table: Table, among: Collection[bytes] | None = None) -> set[bytes]:
    """The partitions that hold rows in the table or one of its branches; among some of them, if they are given."""
    if among is not None and not among:
        return set()
    held: set[bytes] = set()
    for name in (MAIN_BRANCH, *table.branches.names()):
        branch = table if name == table.branch else branch_of(table, name)
        found = live_files(branch, branch.snapshots.latest()).entries["partition"]
        if among is not None:
            found = found.filter(pc.is_in(found, value_set=pa.array(sorted(among), pa.binary())))
        held.update(pc.unique(found).to_pylist())
    return held
