"""Rows of postponed buckets that reads merge with those of real buckets (``postpone.merge-on-read``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from paimon_sql.format.layout.paths import POSTPONE_BUCKET
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import entries
from paimon_sql.format.options.table.bucket import BUCKET, POSTPONE_MERGE_ON_READ
from paimon_sql.storage.data_files.live_files import LiveFiles
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.table.table import Table

_COUNTER = re.compile(r"-(\d{1,18})\.")


@dataclass(frozen=True)
class PostponedSplit(Split):
    """The keys of one real bucket, whose rows stand there and among those that wait.

    Attributes:
        placed: the bucket's own splits; none where the partition has no real buckets yet.
        waiting: the partition's waiting files, of whose rows those of the bucket are taken, in the order of their rows.
        buckets: how many real buckets the partition has; 1 where it has none yet.
    """

    placed: tuple[Split, ...] = ()
    waiting: tuple[DataFileMeta, ...] = ()
    buckets: int = 1


def merges_postponed(table: Table) -> bool:
    """Whether reads of a table merge the rows that wait."""
    return table.options.get(BUCKET) == POSTPONE_BUCKET and bool(table.options.get(POSTPONE_MERGE_ON_READ))


def without_postponed(table: Table) -> Table:
    """The table for a read that leaves out the rows that wait, as streams do."""
    return table.with_options({POSTPONE_MERGE_ON_READ.key: "false"}) if merges_postponed(table) else table


def with_postponed(splits: Iterable[Split], live: LiveFiles) -> Iterator[Split]:
    """The splits of a table, those of partitions with waiting rows together with these.

    Args:
        splits: the splits of real buckets, with their deletion vectors.
        live: the files of the table, of all real buckets of each partition.
    """
    held = live.entries.filter(pc.equal(live.entries["bucket"], POSTPONE_BUCKET))
    waiting: dict[bytes, list[DataFileMeta]] = {}
    for entry in entries(held):
        waiting.setdefault(entry.partition, []).append(entry.file)
    placed: dict[bytes, dict[int, list[Split]]] = {}
    for split in splits:
        if split.partition in waiting:
            placed.setdefault(split.partition, {}).setdefault(split.bucket, []).append(split)
        else:
            yield split
    totals = _totals(live)
    for partition, files in waiting.items():
        yield from _merged(partition, sorted(files, key=order), placed.get(partition, {}), totals.get(partition, 1))


def order(file: DataFileMeta) -> tuple[int, str, int]:
    """In which order the rows of a partition's waiting files were written."""
    counters = _COUNTER.findall(file.file_name.partition("-w-")[2])
    number = int(counters[-1]) if counters else 0
    return file.creation_time_millis or 0, file.file_name.rpartition("-w-")[0], number


def _merged(
    partition: bytes, waiting: Sequence[DataFileMeta], placed: Mapping[int, Sequence[Split]], total: int
) -> Iterator[Split]:
    for bucket in range(total):
        own = tuple(placed.get(bucket, ()))
        files = (*(f for split in own for f in split.files), *waiting)
        yield PostponedSplit(
            partition,
            bucket,
            files,
            raw=False,
            deletions={name: d for split in own for name, d in split.deletions.items()},
            placed=own,
            waiting=tuple(waiting),
            buckets=total,
        )


def _totals(live: LiveFiles) -> dict[bytes, int]:
    """How many real buckets each partition has."""
    real = live.entries.filter(pc.greater_equal(live.entries["bucket"], 0))
    grouped = real.group_by("partition").aggregate([("total_buckets", "max")])
    return dict(zip(grouped["partition"].to_pylist(), grouped["total_buckets_max"].to_pylist(), strict=True))
