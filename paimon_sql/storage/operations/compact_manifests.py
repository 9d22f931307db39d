"""Compaction of manifests on demand: without deleted files, in fewer files, sorted where the table's options set it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.metadata.manifest import FileKind, ManifestFileMeta, merge_entries
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.format.options.operations.commit import MANIFEST_SORT_MAX_REWRITE_SIZE, MANIFEST_TARGET_FILE_SIZE
from paimon_sql.storage.commit.snapshot.manifests import in_order, parts_by_size, ranges, sort_column
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.data_files.live_files import manifests_of
from paimon_sql.storage.retention.retained_references import file_names, with_kind
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class ManifestPlan:
    """The manifests of a snapshot, and those that replace some of them.

    Attributes:
        before: all manifests.
        rewritten: the manifests that are replaced.
        entries_before: the number of entries in the replaced manifests.
        parts: the entries of each new manifest.
    """

    before: tuple[ManifestFileMeta, ...]
    rewritten: tuple[ManifestFileMeta, ...] = ()
    entries_before: int = 0
    parts: tuple[pa.Table, ...] = ()

    @cached_property
    def kept(self) -> list[ManifestFileMeta]:
        """The manifests that are not replaced, in their order."""
        to_rewrite = {m.file_name for m in self.rewritten}
        return [m for m in self.before if m.file_name not in to_rewrite]

    @property
    def dropped_entries(self) -> int:
        """The number of entries that no new manifest has."""
        return self.entries_before - sum(map(len, self.parts))


@dataclass(frozen=True)
class _Manifest:
    """A manifest with its entries, and the reasons to rewrite it."""

    meta: ManifestFileMeta
    entries: pa.Table
    is_dirty: bool
    """Whether it adds a file that was deleted, or deletes one."""
    is_small: bool


def plan_manifests(table: Table, manifests: Sequence[ManifestFileMeta]) -> ManifestPlan:
    """Plan which manifests of a snapshot are rewritten; none if that would improve nothing.

    Manifests with deleted files are rewritten, and small ones if fewer can replace them. Where manifests are sorted,
    those whose ranges of the partition column overlap are rewritten too, up to ``manifest-sort.max-rewrite-size``.

    Raises:
        InvalidOptionError: the column to sort by is not a partition column.
    """
    column = sort_column(table)
    if not manifests:
        return ManifestPlan(())
    target: int = table.options.get(MANIFEST_TARGET_FILE_SIZE)
    read = _read(table, manifests, target)
    to_rewrite = _worth_merging(read, target)
    ordered = set[str]() if column is None else _worth_sorting(table, column, read, to_rewrite)
    to_rewrite |= ordered
    if not to_rewrite:
        return ManifestPlan(tuple(manifests))
    chosen = [m for m in read if m.meta.file_name in to_rewrite]
    live = merge_entries([m.entries for m in chosen])
    to_sort = file_names(m.entries for m in chosen if m.meta.file_name in ordered)
    is_ordered = pc.is_in(live["file_name"], value_set=to_sort)
    parts = [
        *parts_by_size(table, in_order(table, live.filter(is_ordered)), target),
        *parts_by_size(table, live.filter(pc.invert(is_ordered)), target),
    ]
    count = sum(len(m.entries) for m in chosen)
    return ManifestPlan(tuple(manifests), tuple(m.meta for m in chosen), count, tuple(parts))


class ManifestCompactor:
    """Commits a snapshot with rewritten manifests; it adds and deletes no data file.

    Args:
        table: the table.

    Attributes:
        plan: the plan of the last attempt to commit, or the first plan if nothing was committed.
        written: the new manifests.
    """

    plan: ManifestPlan
    written: list[ManifestFileMeta]

    def __init__(self, table: Table) -> None:
        self.table = table

    def run(self, *, dry_run: bool = False) -> Snapshot | None:
        """Rewrite the manifests of the newest snapshot; return the new snapshot, None if there is nothing to rewrite.

        Args:
            dry_run: only plan.

        Raises:
            CommitConflictError: concurrent commits were faster in every attempt.
        """
        latest = self.table.snapshots.latest()
        self.plan, self.written = plan_manifests(self.table, manifests_of(self.table, latest) if latest else []), []
        if dry_run or not self.plan.rewritten:
            return None
        with Transaction(self.table) as transaction:
            return transaction.commit(CommitKind.COMPACT, lambda latest: Changes(), merge=self._rewritten)

    def _rewritten(
        self, table: Table, manifests: Sequence[ManifestFileMeta], written: list[str]
    ) -> list[ManifestFileMeta]:
        self.plan, self.written = plan_manifests(table, manifests), []
        for part in self.plan.parts:
            self.written.append(table.manifests.write(part, table.schema.id))
            written.append(self.written[-1].file_name)
        return [*self.plan.kept, *self.written]


def _read(table: Table, manifests: Sequence[ManifestFileMeta], target: int) -> list[_Manifest]:
    entries = table.manifests.read_all([m.file_name for m in manifests])
    removed = file_names(with_kind(e, FileKind.DELETE) for e in entries)
    return [
        _Manifest(meta, e, bool(pc.any(pc.is_in(e["file_name"], value_set=removed)).as_py()), meta.file_size < target)
        for meta, e in zip(manifests, entries, strict=True)
    ]


def _worth_merging(manifests: Sequence[_Manifest], target: int) -> set[str]:
    """The names of manifests with deleted files, and of small ones if merging them leaves fewer."""
    dirty = [m for m in manifests if m.is_dirty]
    small = [m for m in manifests if m.is_small and not m.is_dirty]
    size = sum(m.meta.file_size for m in small)
    fewer = len(small) > (1 if size <= 2 * target else -(-size // target))
    return {m.meta.file_name for m in (*dirty, *(small if dirty or fewer else ()))}


def _worth_sorting(table: Table, column: str, manifests: Sequence[_Manifest], to_rewrite: set[str]) -> set[str]:
    """The names of manifests to sort together: those that are rewritten anyway, and those that overlap another.

    If they exceed the max rewrite size, those with the lowest values are chosen: at least two, and the one that exceeds
    it.
    """
    spans = ranges(table, column, [m.entries for m in manifests])
    order = np.argsort(spans[:, 0], kind="stable")
    low, high = spans[order, 0], np.maximum.accumulate(spans[order, 1])
    overlaps = np.zeros(len(order), np.bool_)
    overlaps[1:] = low[1:] < high[:-1]
    overlaps[:-1] |= overlaps[1:]
    budget: int = table.options.get(MANIFEST_SORT_MAX_REWRITE_SIZE)
    chosen: set[str] = set()
    size = 0
    for index, overlap in zip(order.tolist(), overlaps.tolist(), strict=True):
        meta = manifests[index].meta
        if (overlap or meta.file_name in to_rewrite) and (size <= budget or len(chosen) < 2):
            chosen.add(meta.file_name)
            size += meta.file_size
    return chosen
