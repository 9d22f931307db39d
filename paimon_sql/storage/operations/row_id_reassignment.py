"""Reassignment of row ids, so that those of each partition are contiguous; only manifests are rewritten.

Partitions whose ids are contiguous keep them, and so do long runs of ids.
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
    """A mapping of old to new row ids, as runs of ids in ascending order.

    Attributes:
        starts: the first id of each run.
        ends: the id after the last one of each run.
        targets: the new id of the first row of each run.
        partitions: the number of affected partitions.
        files: the number of affected files.
        next_row_id: the first free id afterwards.
    """

    starts: _Ids
    ends: _Ids
    targets: _Ids
    partitions: int
    files: int
    next_row_id: int

    @property
    def rows(self) -> int:
        """The number of rows that get new ids, deleted rows included."""
        return int((self.ends - self.starts).sum())

    def index_changes(self, entry: IndexManifestEntry) -> list[IndexManifestEntry]:
        """The changes to a global index file: shifted with its rows if all lie in one run, else deleted; or none."""
        meta = meta_of(entry)
        run = int(np.searchsorted(self.ends, meta.row_range_start, side="right"))
        if run == len(self.starts) or self.starts[run] > meta.row_range_end:
            return []
        if meta.row_range_start < self.starts[run] or meta.row_range_end >= self.ends[run]:
            return [entry.as_delete()]
        shift = int(self.targets[run] - self.starts[run])
        moved = replace(meta, row_range_start=meta.row_range_start + shift, row_range_end=meta.row_range_end + shift)
        return [entry.as_delete(), replace(entry, file=replace(entry.file, global_index=moved))]

    def applied(self, entries: pa.Table) -> pa.Table | None:
        """A manifest's entries with new ids; None if none changes."""
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
    """Plan new row ids for a snapshot.

    Args:
        table: a partitioned table with data evolution.
        snapshot: the snapshot.
        partitions: selects partitions; None for all.

    Raises:
        UnsupportedError: a data file stores row ids.
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
    # Partitions are ordered by their min ids, which is the order of their first writes.
    lowest = dict(zip(owners[::-1].tolist(), starts[::-1].tolist(), strict=True))
    by_partition = np.lexsort((starts, np.array([lowest[o] for o in owners.tolist()], dtype=np.int64)))
    counts = (ends - starts)[by_partition]
    free = snapshot.next_row_id or 0
    targets = np.empty(len(starts), dtype=np.int64)
    targets[by_partition] = free + np.cumsum(counts) - counts
    ascending = np.argsort(starts)
    runs = starts[ascending], ends[ascending], targets[ascending]
    plan = Reassignment(*runs, len(lowest), 0, free + int(counts.sum()))
    moved = plan.applied(chosen)
    files = 0 if moved is None else int(pc.sum(pc.not_equal(moved["first_row_id"], chosen["first_row_id"])).as_py())
    return replace(plan, files=files)


def _groups(entries: pa.Table) -> tuple[_Ids, _Ids, _Ids]:
    """For each group of files its first row id, the id after its last, and a number for its partition."""
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
            f"{table.name}: file {name} stores the ids of its rows, so they cannot be reassigned.",
            remedy="Choose partitions without such files.",
        )


class RowIdReassigner:
    """Commits a snapshot with new row ids; it adds and deletes no data file.

    Args:
        table: the table.

    Attributes:
        plan: the plan of the last attempt to commit, or the first plan if nothing was committed.
    """

    plan: Reassignment

    def __init__(self, table: Table) -> None:
        self.table = table

    def run(self, partitions: Predicate | None, *, dry_run: bool = False) -> Snapshot | None:
        """Reassign the row ids of partitions; return the new snapshot, None if there is nothing to change.

        Args:
            partitions: selects partitions; None for all.
            dry_run: only plan.

        Raises:
            CommitConflictError: concurrent commits were faster in every attempt.
            UnsupportedError: a data file stores row ids.
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
