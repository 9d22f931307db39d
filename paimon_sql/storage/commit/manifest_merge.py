"""Many small manifests made into few: a commit's share of keeping the metadata short (spec: Manifest)."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from paimon_sql.format.manifest import ManifestFileMeta, merge_entries
from paimon_sql.format.options.commit import (
    MANIFEST_FULL_COMPACTION_THRESHOLD_SIZE,
    MANIFEST_MERGE_MIN_COUNT,
    MANIFEST_TARGET_FILE_SIZE,
)
from paimon_sql.storage.table import Table


def merge_manifests(table: Table, manifests: Sequence[ManifestFileMeta]) -> tuple[list[ManifestFileMeta], list[str]]:
    """The manifests of a snapshot, small ones rewritten together once there are enough of them.

    Args:
        table: the table.
        manifests: the manifests in the order of their commits.

    Returns:
        The manifests that hold the same live files, and the names of those newly written.
    """
    target = table.options.get(MANIFEST_TARGET_FILE_SIZE)
    least = table.options.get(MANIFEST_MERGE_MIN_COUNT)
    threshold = table.options.get(MANIFEST_FULL_COMPACTION_THRESHOLD_SIZE)
    whole = _merge_whole(table, manifests, target, threshold)
    if whole is not None:
        return whole
    result: list[ManifestFileMeta] = []
    written: list[str] = []
    pending: list[ManifestFileMeta] = []

    def flush() -> None:
        if len(pending) == 1:
            result.append(pending[0])
        elif pending:
            result.extend(_rewrite(table, pending, written))
        pending.clear()

    for manifest in manifests:
        pending.append(manifest)
        if sum(m.file_size for m in pending) >= target:
            flush()
    if len(pending) >= least:
        flush()
    result.extend(pending)
    return result, written


def _rewrite(table: Table, group: Sequence[ManifestFileMeta], written: list[str]) -> list[ManifestFileMeta]:
    entries = merge_entries(table.manifests.read_all([m.file_name for m in group]), unmatched="keep")
    return _write(table, entries, written)


def _merge_whole(
    table: Table, manifests: Sequence[ManifestFileMeta], target: int, threshold: int
) -> tuple[list[ManifestFileMeta], list[str]] | None:
    """All manifests made anew without the files that were deleted, when enough of them are small or hold deletes."""
    changing = [m for m in manifests if m.num_deleted_files > 0 or m.file_size < target]
    if sum(m.file_size for m in changing) < threshold:
        return None
    entries = merge_entries(table.manifests.read_all([m.file_name for m in manifests]))
    written: list[str] = []
    return _write(table, entries, written, target), written


def _write(table: Table, entries: pa.Table, written: list[str], target: int | None = None) -> list[ManifestFileMeta]:
    if not len(entries):
        return []
    metas = [table.manifests.write(entries, table.schema.id)]
    if target is not None and metas[0].file_size > 2 * target:
        # One measured file tells how many entries fill a file of the wanted size.
        step = max(1, len(entries) * target // metas[0].file_size)
        table.file_io.delete(table.manifests.path(metas[0].file_name))
        metas = [table.manifests.write(entries.slice(i, step), table.schema.id) for i in range(0, len(entries), step)]
    written.extend(m.file_name for m in metas)
    return metas
