"""Row ids given anew, so that those of each partition follow one another; manifests are rewritten, data files are not.

Partitions whose ids follow one another already keep them, and so do long runs of ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.metadata.index_manifest import IndexManifestEntry
from paimon_sql.format.metadata.manifest import ManifestFileMeta, merge_entries
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.format.options.table.row_tracking import DATA_EVOLUTION_REASSIGN_SKIP_CONTIGUOUS_ROW_COUNT
from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.data_files.file_groups import groups_of_entries
from paimon_sql.storage.data_files.live_files import filter_partitions, manifests_of
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.scan.global_index.entries import global_entries, meta_of
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.table.table import Table

_Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Reassignment:
    """Which row ids become which: runs of ids in ascending order.

    Attributes:
        starts: the first id of each run.
        ends: the id behind its last.
        targets: what the first id becomes.
        partitions: in how many partitions.
        files: how many files have rows among them.
        next_row_id: the first id that is free afterwards.
    """

    starts: _Ids
    ends: _Ids
    targets: _Ids
    partitions: int
    files: int
    next_row_id: int

    @property
    def rows(self) -> int:
        """How many rows get new ids, deleted ones among them."""
        return int((self.ends - self.starts).sum())

    def index_changes(self, entry: IndexManifestEntry) -> list[IndexManifestEntry]:
        """What becomes of a global index file: it goes along with its rows if they stay together, or else goes."""
        meta = meta_of(entry)
        place = int(np.searchsorted(self.ends, meta.row_range_start, side="right"))
        if place == len(self.starts) or self.starts[place] > meta.row_range_end:
            return []
        if meta.row_range_start < self.starts[place] or meta.row_range_end >= self.ends[place]:
            return [entry.as_delete()]
        shift = int(self.targets[place] - self.starts[place])
        moved = replace(meta, row_range_start=meta.row_range_start + shift, row_range_end=meta.row_range_end + shift)
        return [entry.as_delete(), replace(entry, file=replace(entry.file, global_index=moved))]

    def applied(self, entries: pa.Table) -> pa.Table | None:
        """A manifest's entries with the new ids; None if it has none of the old ones."""
        if not len(self.starts) or not len(entries):
            return None
        column = entries["first_row_id"].combine_chunks()
        first = column.fill_null(-1).to_numpy().astype(np.int64)
        run = np.maximum(np.searchsorted(self.starts, first, side="right") - 1, 0)
        moved = (first >= self.starts[run]) & (first < self.ends[run])
        if not moved.any():
            return None
        ids = np.where(moved, first - self.starts[run] + self.targets[run], first)
        place = entries.schema.get_field_index("first_row_id")
        made = pa.array(ids, column.type, mask=np.asarray(column.is_null()))
        return entries.set_column(place, entries.schema.field(place), made)


def plan_reassignment(table: Table, snapshot: Snapshot, partitions: Predicate | None) -> Reassignment:
    """What becomes of the row ids of a snapshot.

    Args:
        table: a partitioned table with data evolution.
        snapshot: the snapshot.
        partitions: true for those that are looked at; None for all.

    Raises:
        UnsupportedError: a file keeps the ids of its rows itself.
    """
    live = merge_entries(table.manifests.read_all([m.file_name for m in manifests_of(table, snapshot)]))
    chosen = filter_partitions(table, live, partitions)
    _refuse_stored(table, chosen)
    starts, ends, owners = _groups(chosen)
    order = np.lexsort((starts, owners))
    starts, ends, owners = starts[order], ends[order], owners[order]
    fresh = np.ones(len(starts), dtype=bool)
    fresh[1:] = (owners[1:] != owners[:-1]) | (starts[1:] != ends[:-1])
    heads = np.flatnonzero(fresh)
    tails = np.append(heads[1:], len(starts)) - 1 if len(heads) else heads
    starts, ends, owners = starts[heads], ends[tails], owners[heads]
    longest = table.options.get(DATA_EVOLUTION_REASSIGN_SKIP_CONTIGUOUS_ROW_COUNT)
    scattered = np.bincount(owners)[owners] > 1 if len(owners) else np.zeros(0, dtype=bool)
    wanted = scattered & ((ends - starts <= longest) if longest > 0 else True)
    starts, ends, owners = starts[wanted], ends[wanted], owners[wanted]
    # Partitions come in the order of their least ids, as they were first written.
    least = dict(zip(owners[::-1].tolist(), starts[::-1].tolist(), strict=True))
    by_partition = np.lexsort((starts, np.array([least[o] for o in owners.tolist()], dtype=np.int64)))
    counts = (ends - starts)[by_partition]
    free = snapshot.next_row_id or 0
    targets = np.empty(len(starts), dtype=np.int64)
    targets[by_partition] = free + np.cumsum(counts) - counts
    ascending = np.argsort(starts)
    plan = Reassignment(starts[ascending], ends[ascending], targets[ascending], len(least), 0, free + int(counts.sum()))
    moved = plan.applied(chosen)
    files = 0 if moved is None else int(pc.sum(pc.not_equal(moved["first_row_id"], chosen["first_row_id"])).as_py())
    return Reassignment(plan.starts, plan.ends, plan.targets, plan.partitions, files, plan.next_row_id)


def _groups(entries: pa.Table) -> tuple[_Ids, _Ids, _Ids]:
    """Of each group of files the first row id, the one behind the last, and a number for its partition."""
    known = entries.filter(entries["first_row_id"].is_valid())
    numbers = groups_of_entries(known)
    first = known["first_row_id"].to_numpy().astype(np.int64)
    ends = first + known["row_count"].to_numpy()
    owners = known["partition"].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    count = int(numbers.max()) + 1 if len(numbers) else 0
    low = np.full(count, np.iinfo(np.int64).max)
    high, owner = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    np.minimum.at(low, numbers, first)
    np.maximum.at(high, numbers, ends)
    owner[numbers] = owners
    return low, high, owner


def _refuse_stored(table: Table, entries: pa.Table) -> None:
    stored = pc.match_substring(pc.binary_join(entries["write_cols"].combine_chunks(), " "), ROW_ID.name)
    stored = pc.or_(pc.fill_null(stored, False), entries["first_row_id"].combine_chunks().is_null())
    if pc.any(stored).as_py():
        name = entries["file_name"].filter(stored)[0].as_py()
        raise UnsupportedError(
            f"{table.name}: file {name} keeps the ids of its rows itself, so that they cannot get others.",
            remedy="Choose partitions without such files.",
        )


class RowIdReassigner:
    """Puts a snapshot in which rows have other ids on the newest one; no file comes or goes with it.

    Args:
        table: the table.

    Attributes:
        plan: what was done, or was to be done in the first place.
    """

    plan: Reassignment

    def __init__(self, table: Table) -> None:
        self.table = table

    def run(self, partitions: Predicate | None, *, dry_run: bool = False) -> Snapshot | None:
        """Give the rows of partitions new ids: the snapshot made, None if nothing was to be done.

        Args:
            partitions: true for those that are looked at; None for all.
            dry_run: only plan.

        Raises:
            CommitConflictError: rivals won too often.
            UnsupportedError: a file keeps the ids of its rows itself.
        """

        def changes(latest: Snapshot | None) -> Changes:
            assert latest is not None
            self.plan = plan_reassignment(self.table, latest, partitions)
            indexes = [c for e in global_entries(self.table, latest) for c in self.plan.index_changes(e)]
            return Changes(indexes=indexes, taken_row_ids=self.plan.next_row_id)

        latest = self.table.snapshots.latest()
        if latest is None or changes(latest).taken_row_ids == latest.next_row_id or dry_run:
            return None
        with Transaction(self.table) as transaction:
            return transaction.commit(CommitKind.OVERWRITE, changes, merge=self._rewritten)

    def _rewritten(
        self, table: Table, manifests: Sequence[ManifestFileMeta], written: list[str]
    ) -> list[ManifestFileMeta]:
        found = []
        for meta, entries in zip(manifests, table.manifests.read_all([m.file_name for m in manifests]), strict=True):
            moved = self.plan.applied(entries)
            if moved is not None:
                meta = table.manifests.write(moved, meta.schema_id)
                written.append(meta.file_name)
            found.append(meta)
        return found
