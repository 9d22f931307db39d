"""Whether changes can be put on a snapshot that their writer has not seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CommitConflictError
from paimon_sql.format.manifest import FileKind, ManifestEntry, entries, manifest_table, merge_entries
from paimon_sql.format.row_decode import decode_columns
from paimon_sql.format.snapshot import Snapshot
from paimon_sql.storage.scan.live_files import live_files
from paimon_sql.storage.table import Table


def check_conflicts(table: Table, latest: Snapshot | None, changes: Sequence[ManifestEntry]) -> None:
    """Nothing if the changes fit the snapshot.

    Every file that they take away must still be there, a bucket must have been written with the same number of
    buckets, and on the levels of an LSM tree above 0 no two files of a bucket may overlap.

    Args:
        table: the table.
        latest: the snapshot that the changes are put on.
        changes: the entries to be committed.

    Raises:
        CommitConflictError: they do not fit; the message says which file or bucket, and who made the snapshot.
    """
    if latest is None or not changes:
        return
    deletes = [e for e in changes if e.kind == FileKind.DELETE]
    deep = [e for e in changes if e.kind == FileKind.ADD and e.file.level > 0]
    fixed = {(e.partition, e.bucket): e.total_buckets for e in changes if e.total_buckets > 0}
    if not deletes and not deep and not fixed:
        return
    touched = pa.array(sorted({e.partition for e in changes}), pa.binary())
    live = live_files(table, latest).entries
    live = live.filter(pc.is_in(live["partition"], value_set=touched))
    _check_buckets(table, live, fixed)
    if not deletes and not deep:
        return
    held = set(live["file_name"].to_pylist())
    gone = [e for e in deletes if e.file.file_name not in held]
    if gone:
        raise CommitConflictError(
            f"{table.name}: file {gone[0].file.file_name} was removed by another job; snapshot {latest.id} is of commit"
            f" user {latest.commit_user} ({latest.commit_kind.value}).",
            remedy="Run the statement again.",
        )
    if table.schema.primary_keys:
        _check_levels(table, latest, merge_entries([live, manifest_table(changes)]))


def _check_buckets(table: Table, live: pa.Table, fixed: dict[tuple[bytes, int], int]) -> None:
    wanted = {partition: total for (partition, _), total in fixed.items()}
    known = live.select(["partition", "total_buckets"]).group_by(["partition", "total_buckets"]).aggregate([])
    for row in known.to_pylist():
        total = wanted.get(row["partition"])
        if total is not None and row["total_buckets"] > 0 and row["total_buckets"] != total:
            raise CommitConflictError(
                f"{table.name}: a partition has {row['total_buckets']} buckets, but this write used {total}.",
                remedy="Overwrite the partition, or CALL sys.rescale, to change its number of buckets.",
            )


def _check_levels(table: Table, latest: Snapshot, merged: pa.Table) -> None:
    merged = merged.filter(pc.greater(merged["level"], 0))
    groups: dict[tuple[bytes, int, int], list[int]] = defaultdict(list)
    for i, group in enumerate(zip(*(merged[c].to_pylist() for c in ("partition", "bucket", "level")), strict=True)):
        groups[group].append(i)
    types = [f.type for f in table.schema.key_fields]
    for rows in groups.values():
        if len(rows) < 2:
            continue
        files = merged.take(pa.array(rows))
        low = decode_columns(types, files["min_key"])
        high = decode_columns(types, files["max_key"])
        names = [f"k{i}" for i in range(len(types))]
        both = pa.table([pa.concat_arrays([a, b]) for a, b in zip(low, high, strict=True)], names=names)
        rank = np.empty(len(both), dtype=np.int64)
        order = pc.sort_indices(both, [(n, "ascending") for n in names]).to_numpy()
        rank[order] = np.arange(len(order))
        starts, ends = rank[: len(rows)], rank[len(rows) :]
        by_start = np.argsort(starts)
        if (starts[by_start][1:] < ends[by_start][:-1]).any():
            first = entries(files)[0]
            raise CommitConflictError(
                f"{table.name}: another job compacted bucket {first.bucket} meanwhile: on level {first.file.level} two"
                f" files would overlap; snapshot {latest.id} is of commit user {latest.commit_user}.",
                remedy="Run the statement again.",
            )
