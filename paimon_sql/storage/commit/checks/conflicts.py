"""Facet of table layouts: what a commit must keep, and what it is checked for (Paimon: `ConflictDetection`).

Conflicts are with snapshots that a writer has not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import AlreadyCommittedError, CommitConflictError, UnsupportedError
from paimon_sql.format.metadata.data_file import DataFileMeta, FileSource
from paimon_sql.format.metadata.index_manifest import DELETION_VECTORS_INDEX
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import CommitKind
from paimon_sql.format.options.table.table import BRANCH_MERGE_ENABLED
from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.data_files.file_groups import groups_of_entries, is_dedicated
from paimon_sql.storage.data_files.lsm_tree import key_ranks
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.staging.commit_messages import Changes, new_files
from paimon_sql.storage.staging.proposal import Proposal, Validation, conflict_error
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.layout import TableLayout
from paimon_sql.storage.table.table import Table


class CommitLayout(TableLayout):
    """The commits of a table.

    Class attributes:
        validations: the conditions of every commit.
        append_validations: those of commits that append rows.
        overwrite_validations: those of commits that replace rows.
    """

    validations: ClassVar[tuple[Validation, ...]]
    append_validations: ClassVar[tuple[Validation, ...]] = ()
    overwrite_validations: ClassVar[tuple[Validation, ...]] = ()

    def in_commit_order(self, proposal: Proposal) -> Changes:
        """Return the changes, adapted so that rows of later commits count as newer."""
        return proposal.changes

    def outdated_partitions(self, table: Table, overwritten: Iterable[bytes]) -> tuple[Table, list[bytes]] | None:
        """Return the partitions of another branch that overwritten ones outdate, and that branch; None without any."""
        return None


_IDENTITY = ("file_name", "level", "extra_files", "embedded_index")
"""The columns that identify a file, on its level and with its indexes."""


def _overtaken(proposal: Proposal, what: str) -> CommitConflictError:
    latest = proposal.latest
    assert latest is not None
    by = f"snapshot {latest.id} is of commit user {latest.commit_user} ({latest.commit_kind.value})"
    return conflict_error(proposal.table, f"{what}; {by}.")


def _check_files(proposal: Proposal) -> None:
    """Check that deleted files are live, and added ones are not."""
    table, latest, changes = proposal.table, proposal.latest, proposal.changes.entries
    if latest is None or not (any(e.kind == FileKind.DELETE for e in changes) or _depends_on_live_files(proposal)):
        return
    live = proposal.live
    names = pa.array([e.file.file_name for e in changes], pa.string())
    named = live.filter(pc.is_in(live["file_name"], value_set=names))
    identities = {
        (name, level, tuple(extra), index)
        for name, level, extra, index in zip(*(named[c].to_pylist() for c in _IDENTITY), strict=True)
    }
    replaced = {_identity(e) for e in changes if e.kind == FileKind.DELETE}
    live_levels = {(name, level) for name, level, *_ in identities - replaced}
    for e in changes:
        if e.kind == FileKind.DELETE and _identity(e) not in identities:
            raise _overtaken(proposal, f"file {e.file.file_name} was removed by another job")
        if e.kind == FileKind.ADD and (e.file.file_name, e.file.level) in live_levels:
            raise AlreadyCommittedError(
                f"{table.name}: file {e.file.file_name} is in the table already: these changes were committed before.",
                remedy="Read the table before you run the statement again.",
            )


def _depends_on_live_files(proposal: Proposal) -> bool:
    """Whether the changes depend on the existing files."""
    changes = proposal.changes
    return (
        any(e.kind == FileKind.ADD and e.file.level > 0 for e in changes.entries)
        or any(e.total_buckets > 0 for e in changes.entries)
        or _is_grouped(proposal)
        or bool(_with_deleted_rows(changes))
    )


def _is_grouped(proposal: Proposal) -> bool:
    """Whether rows may be in several files, matched by row id."""
    groups_files = proposal.table.layout.groups_files
    return groups_files and any(e.file.first_row_id is not None for e in proposal.changes.entries)


def _identity(entry: ManifestEntry) -> tuple[object, ...]:
    f = entry.file
    return f.file_name, f.level, f.extra_files, f.embedded_index


def _with_deleted_rows(changes: Changes) -> set[str]:
    """Return the data files in which the changes delete rows."""
    added = (e.file.deletion_vectors or () for e in changes.indexes if e.kind == FileKind.ADD)
    return {vector.data_file_name for vectors in added for vector in vectors}


def _check_marked(proposal: Proposal) -> None:
    """Check that data files with newly deleted rows are still live."""
    marked = _with_deleted_rows(proposal.changes)
    if proposal.latest is None or not marked:
        return
    missing = marked.difference(proposal.live_after["file_name"].to_pylist())
    if missing:
        raise _overtaken(proposal, f"file {min(missing)}, in which rows are to be deleted, was removed by another job")


def _check_unmarked(proposal: Proposal) -> None:
    """Check that no rows were deleted concurrently in files that are rewritten."""
    table, latest, changes = proposal.table, proposal.latest, proposal.changes
    if latest is None or not any(e.kind == FileKind.ADD for e in changes.entries):
        return
    rewritten = {e.file.file_name for e in changes.entries if e.kind == FileKind.DELETE}
    known = {e.file.file_name for e in changes.indexes if e.kind == FileKind.DELETE}
    for entry in index_entries(table, latest) if rewritten else ():
        marked = {v.data_file_name for v in entry.file.deletion_vectors or ()} & rewritten
        if marked and entry.file.file_name not in known:
            what = f"another job deleted rows of file {min(marked)}, whose rows were being moved"
            raise conflict_error(table, f"{what}; snapshot {latest.id} is of commit user {latest.commit_user}.")


def _check_groups(proposal: Proposal) -> None:
    """Check that files of the same rows have the same row ids, and include one with all rows."""
    changes = proposal.changes.entries
    if proposal.latest is None or not _is_grouped(proposal):
        return
    left = proposal.live_after
    with_ids = left.filter(left["first_row_id"].is_valid())
    numbers = groups_of_entries(with_ids)
    first, count = with_ids["first_row_id"].to_numpy(), with_ids["row_count"].to_numpy()
    names = with_ids["file_name"].to_pylist()
    added = {e.file.file_name: e.file for e in changes if e.kind == FileKind.ADD and e.file.first_row_id is not None}
    deleted = [e.file for e in changes if e.kind == FileKind.DELETE and e.file.first_row_id is not None]
    # New files of all rows come from compactions; without the rows themselves, columns of rows are useless.
    is_base = np.array([n not in added or added[n].file_source == FileSource.COMPACT for n in names], dtype=bool)
    has_base = np.zeros(len(with_ids), dtype=bool)
    has_base[np.isin(numbers, numbers[is_base])] = True
    touched = np.array([n in added for n in names], dtype=bool)
    is_changed = np.isin(numbers, numbers[touched])
    dedicated = np.array([is_dedicated(n) for n in names], dtype=bool)
    order = np.lexsort((dedicated, numbers))
    leader = order[np.searchsorted(numbers[order], numbers)]
    has_same_rows = dedicated | ((first == first[leader]) & (count == count[leader]))
    conflicts = (is_changed & ~(has_same_rows & has_base)) | (_overlaps(deleted, first, first + count) & ~is_changed)
    if conflicts.any():
        at = int(np.flatnonzero(conflicts)[0])
        raise _overtaken(proposal, f"another job changed the files that hold the rows from id {first[at]} on")


def _overlaps(
    files: Sequence[DataFileMeta], low: npt.NDArray[np.int64], high: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Whether one of the files has rows in each range of row ids, from first to last + 1."""
    if not files:
        return np.zeros(len(low), dtype=bool)
    ends = sorted((f.first_row_id or 0, (f.first_row_id or 0) + f.row_count) for f in files)
    starts = np.array([start for start, _ in ends], dtype=np.int64)
    furthest = np.maximum.accumulate(np.array([end for _, end in ends], dtype=np.int64))
    before = np.searchsorted(starts, high)
    return (before > 0) & (furthest[np.maximum(before - 1, 0)] > low)


def _check_buckets(proposal: Proposal) -> None:
    """Check that each partition has one number of buckets."""
    table, changes = proposal.table, proposal.changes.entries
    if proposal.latest is None or not any(e.kind == FileKind.DELETE or e.total_buckets > 0 for e in changes):
        return
    left = proposal.live_after
    fixed = left.filter(pc.greater(left["total_buckets"], 0))
    counted = fixed.group_by("partition").aggregate([("total_buckets", "min"), ("total_buckets", "max")])
    mixed = counted.filter(pc.less(counted["total_buckets_min"], counted["total_buckets_max"]))
    if len(mixed):
        path = table.locations.partition(mixed["partition"][0].as_py())
        few, many = mixed["total_buckets_min"][0], mixed["total_buckets_max"][0]
        raise CommitConflictError(
            f"{table.name}: {f'partition {path}' if path else 'the table'} would hold files of {few} and of {many}"
            " buckets.",
            remedy="Overwrite the partition, or CALL sys.rescale, to change its number of buckets.",
        )


def _check_levels(proposal: Proposal) -> None:
    """Check that files of a bucket do not overlap on a level above 0."""
    table, latest = proposal.table, proposal.latest
    if latest is None or not any(e.kind == FileKind.ADD and e.file.level > 0 for e in proposal.changes.entries):
        return
    left = proposal.live_after
    deep = left.filter(pc.greater(left["level"], 0))
    tree = deep.select(["partition", "bucket", "level"])
    shared = tree.append_column("row", pa.array(np.arange(len(deep)))).group_by(tree.column_names)
    for rows in shared.aggregate([("row", "list")])["row_list"]:
        if len(rows) < 2:
            continue
        files = [e.file for e in entries(deep.take(rows.values))]
        low, high = key_ranks(table.schema, files)
        by_start = np.argsort(low)
        if (low[by_start][1:] <= high[by_start][:-1]).any():
            bucket = deep["bucket"][rows.values[0].as_py()]
            what = (
                f"another job concurrently compacted bucket {bucket}: on level {files[0].level} two files would overlap"
            )
            raise conflict_error(table, f"{what}; snapshot {latest.id} is of commit user {latest.commit_user}.")


def _check_deep(proposal: Proposal) -> None:
    """Check that above level 0 a bucket has what its compaction was planned on (Paimon: one compaction per bucket).

    A compaction that looks up rows of deeper levels, for a changelog, deletion vectors or the first row, depends on
    them, and levels define the order of rows. Of two compactions of one bucket the later one would lose rows or
    duplicate a key, even without common files. The same applies to one that only adds deletion vectors to files of
    deeper levels: a rewrite that does not know them would restore the deleted rows.
    """
    table, latest, planned_files = proposal.table, proposal.latest, proposal.changes.deep
    if latest is None or not planned_files:
        return
    live = proposal.live
    buckets = pa.array({bucket for _, bucket in planned_files}, pa.int32())
    deep = live.filter(pc.and_(pc.greater(live["level"], 0), pc.is_in(live["bucket"], value_set=buckets)))
    current = set(zip(*(deep[c].to_pylist() for c in ("partition", "bucket", "file_name")), strict=True))
    vectors = (e for e in index_entries(table, latest) if e.file.index_type == DELETION_VECTORS_INDEX)
    current |= {(e.partition, e.bucket, e.file.file_name) for e in vectors}
    planned = {(*bucket, name) for bucket, names in planned_files.items() for name in names}
    changed = {(partition, bucket) for partition, bucket, _ in current ^ planned} & planned_files.keys()
    if changed:
        raise _overtaken(proposal, f"another job concurrently compacted or replaced bucket {min(changed)[1]}")


LIVE_FILES = Validation("files that go are live, and files that come are new", _check_files)
LIVE_MARKED = Validation("files in which rows are deleted are live", _check_marked)
UNMARKED = Validation("no rows were deleted in files that are rewritten", _check_unmarked)
ONE_BUCKET_NUMBER = Validation("a partition has one number of buckets", _check_buckets)
WHOLE_GROUPS = Validation("files of the same rows belong together", _check_groups)
DISJOINT_RUNS = Validation("sorted runs above level 0 do not overlap", _check_levels)
KNOWN_DEEP = Validation("a compaction knew all files above level 0 and their deleted rows", _check_deep)


_MIN_AGE_MILLIS = 3_600_000
"""Far less than the grace period of orphan files (a day by default), far more than most statements take."""
_THREADS = 16


def _check_aged(proposal: Proposal) -> None:
    """Check that staged files exist that are so old that a removal of orphan files may have deleted them.

    A writer that was suspended for longer than the grace period of that removal would otherwise commit missing files.
    On a local file system flushing reveals a missing file anyway; an object store does not.
    """
    table, changes = proposal.table, proposal.changes
    before = current_millis() - _MIN_AGE_MILLIS
    moved = {e.file.file_name for e in changes.entries if e.kind is FileKind.DELETE}
    new = (e for e in changes.entries if e.kind is FileKind.ADD and e.file.file_name not in moved)
    aged = [e for e in new if (e.file.creation_epoch_millis() or before) < before]
    if not aged:
        return
    lost = lost_files(table, Changes(aged, changes.changelog, changes.indexes))
    if lost:
        raise CommitConflictError(
            f"{table.name}: {len(lost)} files that the statement wrote were removed before it ended, including"
            f" {lost[0]}.",
            remedy="Run it again, and remove only orphan files that are older than the longest statement.",
        )


def lost_files(table: Table, changes: Changes) -> list[str]:
    """Return the paths of the new files of changes that do not exist."""
    paths = new_files(table, changes)
    existing = map_in_threads(table.file_io.exists, paths, table.file_io.threads_for(table.path, len(paths), _THREADS))
    return [path for path, exists in zip(paths, existing, strict=True) if not exists]


STAGED_FILES_EXIST = Validation("files that were staged long ago still stand", _check_aged)


_WORDS = {
    CommitKind.COMPACT: "its files cannot be compacted",
    CommitKind.OVERWRITE: "rows of it cannot be overwritten, updated or deleted",
}


def is_append_only(table: Table) -> bool:
    """Whether no commit may delete files of the table."""
    return not table.schema.has_key and bool(table.options.get(BRANCH_MERGE_ENABLED))


def growth_error(table: Table, kind: CommitKind) -> UnsupportedError | None:
    """Return the error for a commit of that kind; None if it is allowed."""
    if kind not in _WORDS or not is_append_only(table):
        return None
    return UnsupportedError(
        f"{table.name} has '{BRANCH_MERGE_ENABLED.key}', so {_WORDS[kind]}: its branches could not be merged any more.",
        remedy="Set the option to 'false' if the branches need not be merged.",
    )


def _check_append_only(proposal: Proposal) -> None:
    if (error := growth_error(proposal.table, proposal.kind)) is not None:
        raise error


APPEND_ONLY = Validation("no rows are taken away where branches are to be merged", _check_append_only)
OF_APPENDS = (APPEND_ONLY, LIVE_FILES, LIVE_MARKED, UNMARKED, ONE_BUCKET_NUMBER)
"""The validations of commits to append tables."""
OF_KEYS = (LIVE_FILES, LIVE_MARKED, ONE_BUCKET_NUMBER, DISJOINT_RUNS, KNOWN_DEEP)
"""Those of commits to tables with a primary key, beside that of the order of rows."""
OF_GROUPS = (*OF_APPENDS, WHOLE_GROUPS)
"""Those of commits to tables with data evolution."""
