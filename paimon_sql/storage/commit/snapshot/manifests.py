"""Manifests of the next snapshot: small ones are merged, entries are sorted, changes of index files are added."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CommitConflictError, InvalidOptionError
from paimon_sql.format.metadata.index_manifest import DELETION_VECTORS_INDEX, HASH_INDEX, IndexManifestEntry, combine
from paimon_sql.format.metadata.manifest import FileKind, ManifestFileMeta, merge_entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.operations.commit import (
    MANIFEST_FULL_COMPACTION_THRESHOLD_SIZE,
    MANIFEST_MERGE_MIN_COUNT,
    MANIFEST_SORT_ENABLED,
    MANIFEST_SORT_PARTITION_FIELD,
    MANIFEST_TARGET_FILE_SIZE,
)
from paimon_sql.storage.data_files.live_files import values_of_partitions
from paimon_sql.storage.table.index_files import has_buckets, index_entries
from paimon_sql.storage.table.table import Table


def sort_column(table: Table) -> str | None:
    """Return the partition column to sort by, by default the first; None for no order.

    Raises:
        InvalidOptionError: the option names another column.
    """
    partitions = table.schema.partition_keys
    if not table.options.get(MANIFEST_SORT_ENABLED) or not partitions:
        return None
    name: str = table.options.get(MANIFEST_SORT_PARTITION_FIELD) or partitions[0]
    if name not in partitions:
        key = MANIFEST_SORT_PARTITION_FIELD.key
        raise InvalidOptionError(
            f"'{key}' is '{name}', which is not a partition column of {table.name}.",
            key=key,
            remedy=f"Those are {', '.join(partitions)}.",
        )
    return name


def in_order(table: Table, entries: pa.Table) -> pa.Table:
    """Sort the entries if enabled; those of a partition stay in commit order."""
    column = sort_column(table)
    if column is None or not len(entries):
        return entries
    return entries.take(pc.sort_indices(values_of_partitions(table, entries, column)))


def ranges(table: Table, column: str, manifests: Sequence[pa.Table]) -> npt.NDArray[np.int64]:
    """Return the ranks of each manifest's min and max value of a partition column, as two columns.

    Empty manifests have the range 0 to 0, like those of the min value.
    """
    values = values_of_partitions(table, pa.concat_tables(manifests), column)
    order = pc.sort_indices(values).to_numpy()
    ranked = values.take(pa.array(order)).dictionary_encode(null_encoding="encode")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = ranked.indices.to_numpy()
    ends = np.cumsum([len(m) for m in manifests])
    parts = np.split(ranks, ends[:-1])
    return np.array([(p.min(), p.max()) if len(p) else (0, 0) for p in parts], np.int64).reshape(-1, 2)


def merge_manifests(table: Table, manifests: Sequence[ManifestFileMeta], written: list[str]) -> list[ManifestFileMeta]:
    """Merge small manifests once there are enough of them (Paimon: `ManifestFileMerger`).

    Args:
        table: the table.
        manifests: the manifests in commit order.
        written: the names of written manifests are added to it, even if an error follows.

    Returns:
        Manifests with the same live files.
    """
    target = table.options.get(MANIFEST_TARGET_FILE_SIZE)
    min_count = table.options.get(MANIFEST_MERGE_MIN_COUNT)
    threshold = table.options.get(MANIFEST_FULL_COMPACTION_THRESHOLD_SIZE)
    fully_merged = _merge_fully(table, manifests, target, threshold, written)
    if fully_merged is not None:
        return fully_merged
    result: list[ManifestFileMeta] = []
    pending: list[ManifestFileMeta] = []
    size = 0
    for manifest in manifests:
        pending.append(manifest)
        size += manifest.file_size
        if size >= target:
            result.extend(_rewrite(table, pending, written))
            pending, size = [], 0
    result.extend(_rewrite(table, pending, written) if len(pending) >= min_count else pending)
    return result


def _rewrite(table: Table, group: Sequence[ManifestFileMeta], written: list[str]) -> list[ManifestFileMeta]:
    """Merge consecutive manifests into one; entries that delete files of earlier manifests are kept."""
    if len(group) < 2:
        return list(group)
    entries = merge_entries(table.manifests.read_all([m.file_name for m in group]), unmatched="keep")
    return _write(table, entries, written)


def _merge_fully(
    table: Table, manifests: Sequence[ManifestFileMeta], target: int, threshold: int, written: list[str]
) -> list[ManifestFileMeta] | None:
    """Drop deleted files from manifests, if enough of these are small or contain deletes; otherwise None.

    A big manifest without a file that another deletes is kept.
    """
    if sum(m.file_size for m in manifests if m.num_deleted_files > 0 or m.file_size < target) < threshold:
        return None
    tables = table.manifests.read_all([m.file_name for m in manifests])
    deleted = pa.concat_arrays(
        [name for t in tables for name in t.filter(pc.equal(t["kind"], FileKind.DELETE))["file_name"].chunks]
        or [pa.array([], pa.string())]
    )
    unchanged: list[ManifestFileMeta] = []
    rest: list[pa.Table] = []
    for meta, entries in zip(manifests, tables, strict=True):
        changing = meta.num_deleted_files > 0 or meta.file_size < target
        if changing or pc.any(pc.is_in(entries["file_name"], value_set=deleted)).as_py():
            rest.append(entries)
        else:
            unchanged.append(meta)
    return [*unchanged, *(_write(table, merge_entries(rest), written, target) if rest else [])]


def parts_by_size(table: Table, entries: pa.Table, target: int) -> list[pa.Table]:
    """Split entries into manifests of about the target size in bytes; none without entries."""
    if not len(entries):
        return []
    # Entries are smaller on disk than in memory: only measure those that are many times too big in memory.
    size = table.manifests.measure(entries) if entries.nbytes > 2 * target else 0
    if size <= 2 * target:
        return [entries]
    step = max(1, len(entries) * target // size)
    return [entries.slice(first, step) for first in range(0, len(entries), step)]


def _write(table: Table, entries: pa.Table, written: list[str], target: int | None = None) -> list[ManifestFileMeta]:
    ordered = in_order(table, entries)
    metas = []
    for part in parts_by_size(table, ordered, target) if target is not None else [ordered]:
        if len(part):
            metas.append(table.manifests.write(part, table.schema.id))
            written.append(metas[-1].file_name)
    return metas


_ONE_PER_BUCKET = (HASH_INDEX, DELETION_VECTORS_INDEX)


def next_index_manifest(
    table: Table, latest: Snapshot | None, changes: Sequence[IndexManifestEntry], made: list[str]
) -> str | None:
    """Write the index manifest of a snapshot on top of the latest one; return its name.

    Args:
        table: the table.
        latest: the snapshot to build on.
        changes: the added and deleted index files.
        made: the name of a written manifest is added to it.

    Raises:
        CommitConflictError: a concurrent commit changed an index that the changes replace.
    """
    if not changes:
        return latest.index_manifest if latest else None
    before = index_entries(table, latest)
    unaware = not has_buckets(table)
    _check(table, before, changes, unaware=unaware)
    after = combine(before, changes, bucket_unaware=unaware)
    name = table.manifests.write_indexes(after)
    made.append(name)
    return name


def indexes_of_partitions(
    table: Table, latest: Snapshot | None, partitions: frozenset[bytes]
) -> list[IndexManifestEntry]:
    """Return the DELETE entries of the index files of deleted partitions."""
    return [e.as_delete() for e in index_entries(table, latest) if e.partition in partitions]


def _check(
    table: Table, before: Sequence[IndexManifestEntry], changes: Sequence[IndexManifestEntry], *, unaware: bool
) -> None:
    existing = {e.file.file_name for e in before}
    deleted = {e.file.file_name for e in changes if e.kind is FileKind.DELETE}
    stale = deleted - existing
    if not unaware:
        added = {_owner(e) for e in changes if e.kind is FileKind.ADD and e.file.index_type in _ONE_PER_BUCKET}
        stale |= {e.file.file_name for e in before if _owner(e) in added} - deleted
    if stale:
        raise CommitConflictError(
            f"{table.name}: another job concurrently changed the index file {min(stale)}, or that of its bucket.",
            remedy="Run the statement again.",
        )


def _owner(entry: IndexManifestEntry) -> tuple[str, bytes, int]:
    return entry.file.index_type, entry.partition, entry.bucket
