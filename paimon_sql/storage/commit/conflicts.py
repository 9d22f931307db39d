"""Whether changes can be put on a snapshot that their writer has not seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CommitConflictError
from paimon_sql.format.data_file import DataFileMeta, FileSource
from paimon_sql.format.manifest import FileKind, ManifestEntry, entries, manifest_table, merge_entries
from paimon_sql.format.snapshot import Snapshot
from paimon_sql.storage.commit.messages import Changes
from paimon_sql.storage.index_files import index_entries
from paimon_sql.storage.scan.file_groups import evolves, groups_of_entries, is_dedicated
from paimon_sql.storage.scan.live_files import live_files
from paimon_sql.storage.scan.sections import key_ranks
from paimon_sql.storage.table import Table

_DESCRIPTION = ("file_name", "level", "extra_files", "embedded_index")
"""What tells a file from others, and from itself on another level or with other indexes."""


def check_conflicts(table: Table, latest: Snapshot | None, wanted: Changes) -> None:
    """Nothing if the changes fit the snapshot.

    Every file that they take away must still be there and none that they bring, so must be the files in which they
    mark rows as deleted; a partition must be left with one number of buckets, and on the levels of an LSM tree above 0
    no two files of a bucket may overlap. Where rows lie in several files, files must hold either the same rows or
    others, and no file may be left without one that holds the whole rows.

    Args:
        table: the table.
        latest: the snapshot that the changes are put on.
        wanted: what is to be committed.

    Raises:
        CommitConflictError: they do not fit; the message says which file or bucket, and who made the snapshot.
    """
    changes = wanted.entries
    marked = _marked(wanted)
    if latest is None or not (changes or marked):
        return
    deep = any(e.kind == FileKind.ADD and e.file.level > 0 for e in changes)
    grouped = evolves(table) and any(e.file.first_row_id is not None for e in changes)
    if (
        not deep
        and not marked
        and not grouped
        and not any(e.kind == FileKind.DELETE or e.total_buckets > 0 for e in changes)
    ):
        return
    partitions = {e.partition for e in changes} | {e.partition for e in wanted.indexes}
    live = live_files(table, latest, partitions=partitions).entries
    _check_files(table, latest, live, changes)
    left = merge_entries([live, manifest_table(changes)])
    _check_marked(table, latest, left, marked)
    if not table.schema.primary_keys and any(e.kind == FileKind.ADD for e in changes):
        _check_unmarked(table, latest, wanted)
    _check_buckets(table, left)
    if grouped:
        _check_groups(table, latest, left, changes)
    if deep and table.schema.primary_keys:
        _check_levels(table, latest, left)


def _check_files(table: Table, latest: Snapshot, live: pa.Table, changes: Sequence[ManifestEntry]) -> None:
    named = live.filter(
        pc.is_in(live["file_name"], value_set=pa.array([e.file.file_name for e in changes], pa.string()))
    )
    held = {
        (name, level, tuple(extra), index)
        for name, level, extra, index in zip(*(named[c].to_pylist() for c in _DESCRIPTION), strict=True)
    }
    replaced = {_described(e) for e in changes if e.kind == FileKind.DELETE}
    places = {(name, level) for name, level, *_ in held - replaced}
    for e in changes:
        if e.kind == FileKind.DELETE and _described(e) not in held:
            raise CommitConflictError(
                f"{table.name}: file {e.file.file_name} was removed by another job; snapshot {latest.id} is of commit"
                f" user {latest.commit_user} ({latest.commit_kind.value}).",
                remedy="Run the statement again.",
            )
        if e.kind == FileKind.ADD and (e.file.file_name, e.file.level) in places:
            raise CommitConflictError(
                f"{table.name}: file {e.file.file_name} is in the table already: these changes were committed before.",
                remedy="Read the table before you run the statement again.",
            )


def _described(entry: ManifestEntry) -> tuple[object, ...]:
    f = entry.file
    return f.file_name, f.level, f.extra_files, f.embedded_index


def _marked(wanted: Changes) -> set[str]:
    """The data files in which the changes mark rows as deleted."""
    added = (e.file.deletion_vectors or () for e in wanted.indexes if e.kind == FileKind.ADD)
    return {vector.data_file_name for vectors in added for vector in vectors}


def _check_marked(table: Table, latest: Snapshot, left: pa.Table, marked: set[str]) -> None:
    gone = marked.difference(left["file_name"].to_pylist()) if marked else set()
    if gone:
        raise CommitConflictError(
            f"{table.name}: file {min(gone)}, in which rows are to be deleted, was removed by another job; snapshot"
            f" {latest.id} is of commit user {latest.commit_user} ({latest.commit_kind.value}).",
            remedy="Run the statement again.",
        )


def _check_unmarked(table: Table, latest: Snapshot, wanted: Changes) -> None:
    """Whether the deletion vectors of files whose rows move are those that were known when they were moved."""
    gone = {e.file.file_name for e in wanted.entries if e.kind == FileKind.DELETE}
    known = {e.file.file_name for e in wanted.indexes if e.kind == FileKind.DELETE}
    for entry in index_entries(table, latest) if gone else ():
        marked = {v.data_file_name for v in entry.file.deletion_vectors or ()} & gone
        if marked and entry.file.file_name not in known:
            raise CommitConflictError(
                f"{table.name}: another job deleted rows of file {min(marked)}, whose rows were being moved; snapshot"
                f" {latest.id} is of commit user {latest.commit_user}.",
                remedy="Run the statement again.",
            )


def _check_groups(table: Table, latest: Snapshot, left: pa.Table, changes: Sequence[ManifestEntry]) -> None:
    """Whether all files of the same rows are of the same row ids, and whole files among them."""
    known = left.filter(left["first_row_id"].is_valid())
    numbers = groups_of_entries(known)
    first, count = known["first_row_id"].to_numpy(), known["row_count"].to_numpy()
    names = known["file_name"].to_pylist()
    mine = {e.file.file_name: e.file for e in changes if e.kind == FileKind.ADD and e.file.first_row_id is not None}
    gone = [e.file for e in changes if e.kind == FileKind.DELETE and e.file.first_row_id is not None]
    # New whole files come from compactions; columns of rows are of no use without the rows.
    whole = np.array([n not in mine or mine[n].file_source == FileSource.COMPACT for n in names], dtype=bool)
    based = np.zeros(len(known), dtype=bool)
    based[np.isin(numbers, numbers[whole])] = True
    touched = np.array([n in mine for n in names], dtype=bool)
    own = np.isin(numbers, numbers[touched])
    dedicated = np.array([is_dedicated(n) for n in names], dtype=bool)
    order = np.lexsort((dedicated, numbers))
    leader = order[np.searchsorted(numbers[order], numbers)]
    alike = dedicated | ((first == first[leader]) & (count == count[leader]))
    wrong = (own & ~(alike & based)) | (_overlaps(gone, first, first + count) & ~own)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise CommitConflictError(
            f"{table.name}: another job changed the files that hold the rows from id {first[at]} on; snapshot"
            f" {latest.id} is of commit user {latest.commit_user} ({latest.commit_kind.value}).",
            remedy="Run the statement again.",
        )


def _overlaps(
    files: Sequence[DataFileMeta], low: npt.NDArray[np.int64], high: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """For each range of row ids, from its first to behind its last, whether one of the files has rows in it."""
    if not files:
        return np.zeros(len(low), dtype=bool)
    ends = sorted((f.first_row_id or 0, (f.first_row_id or 0) + f.row_count) for f in files)
    starts = np.array([start for start, _ in ends], dtype=np.int64)
    furthest = np.maximum.accumulate(np.array([end for _, end in ends], dtype=np.int64))
    before = np.searchsorted(starts, high)
    return (before > 0) & (furthest[np.maximum(before - 1, 0)] > low)


def _check_buckets(table: Table, left: pa.Table) -> None:
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


def _check_levels(table: Table, latest: Snapshot, left: pa.Table) -> None:
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
            raise CommitConflictError(
                f"{table.name}: another job compacted bucket {bucket} meanwhile: on level {files[0].level} two files"
                f" would overlap; snapshot {latest.id} is of commit user {latest.commit_user}.",
                remedy="Run the statement again.",
            )
