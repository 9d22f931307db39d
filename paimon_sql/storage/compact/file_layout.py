"""Statistics of the layout of live files: counts, sizes, sorted runs; computed by columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.metadata.index_manifest import DELETION_VECTORS_INDEX, IndexManifestEntry
from paimon_sql.format.options.operations.compaction import (
    COMPACTION_MIN_FILE_NUM,
    COMPACTION_SMALL_FILE_RATIO,
    NUM_SORTED_RUNS_COMPACTION_TRIGGER,
)
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.settings import WriteSettings

_BUCKET = ["partition", "bucket"]


@dataclass(frozen=True)
class Layout:
    """Statistics of the live files of a table at one snapshot.

    Attributes:
        records: the number of rows, before merging.
        hidden: the number of these that deletion vectors mark as deleted; None if old index files do not record it.
        partitions: the number of partitions with files.
        buckets: the number of buckets with files.
        files: the number of files.
        bytes: their total size.
        small: the number of files smaller than ``small_size``.
        small_size: the size below which compaction considers a file small.
        buckets_to_compact: the number of buckets with enough small files for a compaction of an append table.
        largest_bucket: the size of the largest bucket.
        levels: the number of files by level, in a table with a primary key.
        runs: the number of sorted runs in a table with a primary key: files of level 0, and deeper levels of buckets.
        max_runs: the max number of sorted runs of a bucket.
        unmerged: the number of buckets with so many sorted runs that a write would compact them.
        postponed_files: the number of files in postponed buckets; they are not included in other numbers.
    """

    records: int = 0
    hidden: int | None = 0
    partitions: int = 0
    buckets: int = 0
    files: int = 0
    bytes: int = 0
    small: int = 0
    small_size: int = 0
    buckets_to_compact: int = 0
    largest_bucket: int = 0
    levels: Mapping[int, int] = field(default_factory=dict)
    runs: int = 0
    max_runs: int = 0
    unmerged: int = 0
    postponed_files: int = 0


def layout_of(table: Table, entries: pa.Table, indexes: list[IndexManifestEntry]) -> Layout:
    """Compute the statistics of live files.

    Args:
        table: the table.
        entries: the files, as a table of ``MANIFEST_SCHEMA``.
        indexes: the index files of the same snapshot.
    """
    bucketed = entries.filter(pc.greater_equal(entries["bucket"], 0))
    small_size = int(WriteSettings(table.schema).target_file_size * table.options.get(COMPACTION_SMALL_FILE_RATIO))
    small = bucketed.filter(pc.less(bucketed["file_size"], small_size))
    sizes = bucketed.group_by(_BUCKET).aggregate([("file_size", "sum")])["file_size_sum"]
    found = {
        "records": pc.sum(bucketed["row_count"]).as_py() or 0,
        "hidden": _hidden(indexes),
        "partitions": pc.count_distinct(bucketed["partition"]).as_py(),
        "buckets": len(sizes),
        "files": len(bucketed),
        "bytes": pc.sum(sizes).as_py() or 0,
        "small": len(small),
        "small_size": small_size,
        "largest_bucket": pc.max(sizes).as_py() or 0,
        "postponed_files": len(entries) - len(bucketed),
    }
    if not table.schema.has_key:
        min_files = max(table.options.get(COMPACTION_MIN_FILE_NUM), 2)
        return Layout(**found, buckets_to_compact=_at_least(_counted(small), min_files))
    runs, by_level = _counted(_sorted_runs(bucketed)), bucketed.group_by("level").aggregate([([], "count_all")])
    return Layout(
        **found,
        levels=dict(sorted(zip(by_level["level"].to_pylist(), by_level["count_all"].to_pylist(), strict=True))),
        runs=pc.sum(runs).as_py() or 0,
        max_runs=pc.max(runs).as_py() or 0,
        unmerged=_at_least(runs, table.options.get(NUM_SORTED_RUNS_COMPACTION_TRIGGER)),
    )


def _hidden(indexes: list[IndexManifestEntry]) -> int | None:
    vectors = [e.file.deletion_vectors or () for e in indexes if e.file.index_type == DELETION_VECTORS_INDEX]
    counts = [v.cardinality for in_file in vectors for v in in_file]
    return None if None in counts else sum(c or 0 for c in counts)


def _sorted_runs(entries: pa.Table) -> pa.Table:
    """The bucket of each sorted run."""
    fresh = pc.equal(entries["level"], 0)
    deep = entries.filter(pc.invert(fresh)).group_by([*_BUCKET, "level"]).aggregate([])
    return pa.concat_tables([entries.filter(fresh).select(_BUCKET), deep.select(_BUCKET)])


def _counted(entries: pa.Table) -> pa.ChunkedArray:
    return entries.group_by(_BUCKET).aggregate([([], "count_all")])["count_all"]


def _at_least(counts: pa.ChunkedArray, minimum: int) -> int:
    found: int = pc.sum(pc.greater_equal(counts, minimum)).as_py() or 0
    return found
