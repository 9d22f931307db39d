"""Many small manifests made into few: a commit's share of keeping the metadata short (spec: Manifest)."""

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
    """The manifests of a snapshot, small ones rewritten together once there are enough of them.

    Args:
        table: the table.
        manifests: the manifests in the order of their commits.
        written: takes the names of the manifests that are newly written, also when an error ends it.

    Returns:
        Manifests that hold the same live files.
    """
    target = table.options.get(MANIFEST_TARGET_FILE_SIZE)
    least = table.options.get(MANIFEST_MERGE_MIN_COUNT)
    threshold = table.options.get(MANIFEST_FULL_COMPACTION_THRESHOLD_SIZE)
    whole = _merge_whole(table, manifests, target, threshold, written)
    if whole is not None:
        return whole
    result: list[ManifestFileMeta] = []
    pending: list[ManifestFileMeta] = []
    size = 0
    for manifest in manifests:
        pending.append(manifest)
        size += manifest.file_size
        if size >= target:
            result.extend(_rewrite(table, pending, written))
            pending, size = [], 0
    result.extend(_rewrite(table, pending, written) if len(pending) >= least else pending)
    return result


def _rewrite(table: Table, group: Sequence[ManifestFileMeta], written: list[str]) -> list[ManifestFileMeta]:
    """Consecutive manifests as one; what they delete of earlier ones stays deleted."""
    if len(group) < 2:
        return list(group)
    entries = merge_entries(table.manifests.read_all([m.file_name for m in group]), unmatched="keep")
    return _write(table, entries, written)


def _merge_whole(
    table: Table, manifests: Sequence[ManifestFileMeta], target: int, threshold: int, written: list[str]
) -> list[ManifestFileMeta] | None:
    """The manifests without the files that were deleted, when enough of them are small or hold deletes.

    A big manifest that holds no file deleted in another stays as it is.
    """
    if sum(m.file_size for m in manifests if m.num_deleted_files > 0 or m.file_size < target) < threshold:
        return None
    tables = table.manifests.read_all([m.file_name for m in manifests])
    gone = pa.concat_arrays(
        [name for t in tables for name in t.filter(pc.equal(t["kind"], FileKind.DELETE))["file_name"].chunks]
        or [pa.array([], pa.string())]
    )
    kept: list[ManifestFileMeta] = []
    rest: list[pa.Table] = []
    for meta, entries in zip(manifests, tables, strict=True):
        changing = meta.num_deleted_files > 0 or meta.file_size < target
        if changing or pc.any(pc.is_in(entries["file_name"], value_set=gone)).as_py():
            rest.append(entries)
        else:
            kept.append(meta)
    return [*kept, *(_write(table, merge_entries(rest), written, target) if rest else [])]


def parts_by_size(table: Table, entries: pa.Table, target: int) -> list[pa.Table]:
    """Entries cut into manifests that have about the wanted size in bytes; none without entries."""
    if not len(entries):
        return []
    # Written, entries take less room than in memory: only what is many times too big there has to be measured.
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
