"""Merging of small manifests by commits, which keeps scans short (spec: Manifest)."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.metadata.manifest import FileKind, ManifestFileMeta, merge_entries
from paimon_sql.format.options.operations.commit import (
    MANIFEST_FULL_COMPACTION_THRESHOLD_SIZE,
    MANIFEST_MERGE_MIN_COUNT,
    MANIFEST_TARGET_FILE_SIZE,
)
from paimon_sql.storage.commit.snapshot.manifest_order import in_order
from paimon_sql.storage.table.table import Table


def merge_manifests(table: Table, manifests: Sequence[ManifestFileMeta], written: list[str]) -> list[ManifestFileMeta]:
    """Merge small manifests once there are enough of them.

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
