"""Manifests rewritten on demand: without the files that were deleted, few, and sorted where the table wants it so."""

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
from paimon_sql.storage.commit.snapshot.manifest_merge import parts_by_size
from paimon_sql.storage.commit.snapshot.manifest_order import in_order, ranges, sort_column
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.data_files.live_files import manifests_of
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.table.table import Table

_NO_NAMES = pa.array([], pa.string())


@dataclass(frozen=True)
class ManifestPlan:
    """What becomes of the manifests of a snapshot.

    Attributes:
        before: all of them.
        rewritten: those that go.
        entries_before: how many entries those hold.
        parts: the entries of each manifest that takes their place.
    """

    before: tuple[ManifestFileMeta, ...]
    rewritten: tuple[ManifestFileMeta, ...] = ()
    entries_before: int = 0
    parts: tuple[pa.Table, ...] = ()

    @cached_property
    def kept(self) -> list[ManifestFileMeta]:
        """Those that stay, in their order."""
        going = {m.file_name for m in self.rewritten}
        return [m for m in self.before if m.file_name not in going]

    @property
    def dropped_entries(self) -> int:
        """How many entries go for good."""
        return self.entries_before - sum(map(len, self.parts))


@dataclass(frozen=True)
class _Manifest:
    """A manifest with its entries, and why it may have to go."""

    meta: ManifestFileMeta
    entries: pa.Table
    is_dirty: bool
    """Whether it holds a file that was deleted, or deletes one."""
    is_small: bool


def plan_manifests(table: Table, manifests: Sequence[ManifestFileMeta]) -> ManifestPlan:
    """Plan which manifests of a snapshot are rewritten: none of them if nothing would be better then.

    Those go that hold deleted files, and small ones if fewer can take their place. Where manifests are sorted, those go
    as well whose values of the partition column overlap others', as far as ``manifest-sort.max-rewrite-size`` allows.

    Raises:
        InvalidOptionError: the column to sort by is none of the table's partition columns.
    """
    column = sort_column(table)
    if not manifests:
        return ManifestPlan(())
    target: int = table.options.get(MANIFEST_TARGET_FILE_SIZE)
    read = _read(table, manifests, target)
    going = _worth_merging(read, target)
    ordered: set[str] = set()
    if column is not None:
        ordered = _worth_sorting(table, column, read, going)
        going |= ordered
    if not going:
        return ManifestPlan(tuple(manifests))
    chosen = [m for m in read if m.meta.file_name in going]
    left = merge_entries([m.entries for m in chosen])
    names = [m.entries["file_name"] for m in chosen if m.meta.file_name in ordered]
    is_ordered = pc.is_in(
        left["file_name"], value_set=pa.concat_arrays([_NO_NAMES, *(c for n in names for c in n.chunks)])
    )
    parts = [
        *parts_by_size(table, in_order(table, left.filter(is_ordered)), target),
        *parts_by_size(table, left.filter(pc.invert(is_ordered)), target),
    ]
    count = sum(len(m.entries) for m in chosen)
    return ManifestPlan(tuple(manifests), tuple(m.meta for m in chosen), count, tuple(parts))


class ManifestCompactor:
    """Puts a snapshot with rewritten manifests on the newest one; no file comes or goes with it.

    Args:
        table: the table.

    Attributes:
        plan: what was done, or was to be done in the first place.
        written: the manifests that were made.
    """

    plan: ManifestPlan
    written: list[ManifestFileMeta]

    def __init__(self, table: Table) -> None:
        self.table = table

    def run(self, *, dry_run: bool = False) -> Snapshot | None:
        """Rewrite the manifests of the newest snapshot: the snapshot made, None if nothing was to be done.

        Args:
            dry_run: only plan.

        Raises:
            CommitConflictError: rivals won too often.
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
    deleted = [e.filter(pc.equal(e["kind"], int(FileKind.DELETE)))["file_name"] for e in entries]
    gone = pa.concat_arrays([_NO_NAMES, *(chunk for names in deleted for chunk in names.chunks)])
    return [
        _Manifest(meta, e, bool(pc.any(pc.is_in(e["file_name"], value_set=gone)).as_py()), meta.file_size < target)
        for meta, e in zip(manifests, entries, strict=True)
    ]


def _worth_merging(manifests: Sequence[_Manifest], target: int) -> set[str]:
    """The names of manifests that hold deleted files, and of small ones if that leaves fewer."""
    dirty = [m for m in manifests if m.is_dirty]
    small = [m for m in manifests if m.is_small and not m.is_dirty]
    size = sum(m.meta.file_size for m in small)
    fewer = len(small) > (1 if size <= 2 * target else -(-size // target))
    return {m.meta.file_name for m in (*dirty, *(small if dirty or fewer else ()))}


def _worth_sorting(table: Table, column: str, manifests: Sequence[_Manifest], going: set[str]) -> set[str]:
    """The names of manifests that are to be sorted together: those that go anyway, and those that overlap another.

    When they are too much, those of the least values are taken: two at least, and the one with which it is too much.
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
    for place, overlap in zip(order.tolist(), overlaps.tolist(), strict=True):
        meta = manifests[place].meta
        if (overlap or meta.file_name in going) and (size <= budget or len(chosen) < 2):
            chosen.add(meta.file_name)
            size += meta.file_size
    return chosen
