"""Merge on read of postponed buckets with the real ones (``postpone.merge-on-read``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow.compute as pc

from paimon_sql.format.layout.paths import POSTPONE_BUCKET
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import entries
from paimon_sql.format.options.table.bucket import BUCKET, POSTPONE_MERGE_ON_READ
from paimon_sql.storage.data_files.live_files import LiveFiles, grouped
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.table.table import Table

_COUNTER = re.compile(r"-(\d{1,18})\.")


@dataclass(frozen=True)
class PostponedSplit(Split):
    """One real bucket, and the postponed files of its partition, whose rows of this bucket are merged into it.

    Attributes:
        bucket_splits: the splits of the real bucket; none if the partition has no real buckets yet.
        postponed_files: the postponed files of the partition, in the order of their writes.
        buckets: the number of real buckets of the partition; 1 if it has none yet.
    """

    holds_rows = False

    bucket_splits: tuple[Split, ...] = ()
    postponed_files: tuple[DataFileMeta, ...] = ()
    buckets: int = 1


def merges_postponed(table: Table) -> bool:
    """Whether reads of a table merge postponed rows."""
    return table.options.get(BUCKET) == POSTPONE_BUCKET and bool(table.options.get(POSTPONE_MERGE_ON_READ))


def without_postponed(table: Table) -> Table:
    """The table for a read without postponed rows, as streams do."""
    return table.with_options({POSTPONE_MERGE_ON_READ.key: "false"}) if merges_postponed(table) else table


def with_postponed(splits: Iterable[Split], live: LiveFiles) -> Iterator[Split]:
    """The splits of a table; in partitions with postponed files, one `PostponedSplit` per bucket.

    Args:
        splits: the splits of real buckets, with their deletion vectors.
        live: the files of the table, of all real buckets of each partition.
    """
    postponed = live.entries.filter(pc.equal(live.entries["bucket"], POSTPONE_BUCKET))
    waiting = grouped((e.partition, e.file) for e in entries(postponed))
    own, totals = grouped(((s.partition, s.bucket), s) for s in splits), _totals(live)
    yield from (s for (partition, _), others in own.items() if partition not in waiting for s in others)
    for partition, unordered in waiting.items():
        files, total = sorted(unordered, key=order), totals.get(partition, 1)
        for bucket in range(total):
            of_bucket = own.get((partition, bucket), [])
            yield PostponedSplit(
                partition,
                bucket,
                (*(f for split in of_bucket for f in split.files), *files),
                raw=False,
                deletions={name: d for split in of_bucket for name, d in split.deletions.items()},
                bucket_splits=tuple(of_bucket),
                postponed_files=tuple(files),
                buckets=total,
            )


def order(file: DataFileMeta) -> tuple[int, str, int]:
    """Sort key of a partition's postponed files, by the order of their writes."""
    counters = _COUNTER.findall(file.file_name.partition("-w-")[2])
    number = int(counters[-1]) if counters else 0
    return file.creation_time_millis or 0, file.file_name.rpartition("-w-")[0], number


def _totals(live: LiveFiles) -> dict[bytes, int]:
    """The number of real buckets of each partition."""
    real = live.entries.filter(pc.greater_equal(live.entries["bucket"], 0))
    grouped = real.group_by("partition").aggregate([("total_buckets", "max")])
    return dict(zip(grouped["partition"].to_pylist(), grouped["total_buckets_max"].to_pylist(), strict=True))
