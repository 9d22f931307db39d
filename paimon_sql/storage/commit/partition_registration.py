"""Registration of partitions and tags in a metastore, after commits.

The table's snapshots are authoritative: errors of the metastore are logged, and fixed by ``repair``.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import PaimonError
from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.metadata.manifest import FileKind
from paimon_sql.format.metadata.snapshot import CommitKind
from paimon_sql.format.options.operations.snapshot import METASTORE_TAG_TO_PARTITION
from paimon_sql.format.options.table.partition import PARTITION_MARK_DONE_ACTION
from paimon_sql.format.options.values import comma_separated
from paimon_sql.storage.branches.selection import branch_of
from paimon_sql.storage.metadata.catalog_environment import as_done
from paimon_sql.storage.table.table import Table

if TYPE_CHECKING:
    from paimon_sql.storage.staging.commit_messages import Changes

_LOG = logging.getLogger(__name__)


def register_commit(table: Table, kind: CommitKind, changes: Changes) -> None:
    """Register partitions that a commit added, and unregister those that it left without rows."""
    has_changed = kind in (CommitKind.APPEND, CommitKind.OVERWRITE)
    if table.partition_registry is None or not (table.schema.partition_keys and has_changed):
        return
    filled = {e.partition for e in changes.entries if e.kind == FileKind.ADD}
    emptied = {e.partition for e in changes.entries if e.kind == FileKind.DELETE} - filled
    try:
        spec = PartitionPaths.of(table.schema).spec
        if filled:
            table.partition_registry.add([spec(p) for p in sorted(filled)])
        if dropped := emptied - _partitions_with_rows(table, emptied):
            partitions = [spec(p) for p in sorted(dropped)]
            table.partition_registry.drop([*partitions, *(as_done(p) for p in partitions if _lists_done(table))])
    except (PaimonError, OSError) as error:
        _LOG.warning("%s: partitions could not be registered in the metastore: %s", table.name, error)


def register_tags(table: Table, made: Collection[str] = (), gone: Collection[str] = ()) -> None:
    """Register and unregister tags, if they are published as partitions."""
    field = table.options.get(METASTORE_TAG_TO_PARTITION)
    if table.partition_registry is None or not field or table.schema.partition_keys:
        return
    try:
        if made:
            table.partition_registry.add([{field: name} for name in made])
        if gone:
            table.partition_registry.drop([{field: name} for name in gone])
    except (PaimonError, OSError) as error:
        _LOG.warning("%s: tags could not be registered in the metastore: %s", table.name, error)


def relist(table: Table, *, dry_run: bool = False, anew: bool = False, adds: bool = True, drops: bool = True) -> bool:
    """Make the metastore consistent with the table; return whether it was not.

    Args:
        table: the table.
        dry_run: only return the result.
        anew: whether to write all of it again, as after a table was moved.
        adds: whether to add missing partitions.
        drops: whether to drop surplus partitions.
    """
    if table.partition_registry is None:
        return False
    field: str = table.options.get(METASTORE_TAG_TO_PARTITION) or ""
    if table.schema.partition_keys:
        specs = PartitionPaths.of(table.schema)
        specs_by_values = {tuple(spec.values()): spec for spec in map(specs.spec, _partitions_with_rows(table))}
        done = [as_done(p) for p in specs_by_values.values()] if _lists_done(table) else []
        valid = {*specs_by_values, *(tuple(p.values()) for p in done)}
    else:
        specs_by_values = {(name,): {field: name} for name in table.tags.names()}
        valid = set(specs_by_values)
    keys = table.schema.partition_keys or (field,)
    listed = set(table.partition_registry.all())
    surplus = (listed if anew else listed - valid) if drops else set()
    missing = [spec for values, spec in specs_by_values.items() if adds and (anew or values not in listed)]
    if not dry_run and surplus:
        table.partition_registry.drop([dict(zip(keys, values, strict=True)) for values in surplus])
    if not dry_run and missing:
        table.partition_registry.add(missing)
    return bool(missing or surplus)


def _lists_done(table: Table) -> bool:
    """Whether the table registers partitions that mark others as done."""
    return "done-partition" in comma_separated(table.options.get(PARTITION_MARK_DONE_ACTION))


def _partitions_with_rows(table: Table, among: Collection[bytes] | None = None) -> set[bytes]:
    """Return the partitions with rows in any branch of the table, of those in ``among`` if given."""
    if among is not None and not among:
        return set()
    # All commits and tags are registered, but few tables have a registry.
    from paimon_sql.storage.data_files.live_files import live_files

    partitions: set[bytes] = set()
    for name in (MAIN_BRANCH, *table.branches.names()):
        branch = table if name == table.branch else branch_of(table, name)
        found = live_files(branch, branch.snapshots.latest()).entries["partition"]
        if among is not None:
            found = found.filter(pc.is_in(found, value_set=pa.array(sorted(among), pa.binary())))
        partitions.update(pc.unique(found).to_pylist())
    return partitions
