"""What the buckets of a table hold, and what a read of each must bring together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.formatting import partition_names

_OWNER = ["partition", "bucket"]


@dataclass(frozen=True)
class Bucket:
    """One bucket of one partition.

    Attributes:
        label: the partition and the bucket, as ``dt=a/bucket-0``.
        files: its data files.
        levels: the bytes on each of its levels.
        runs: how many sorted runs a read merges; of a table without a key, how many files it opens.
    """

    label: str
    files: int
    levels: Mapping[int, int]
    runs: int

    @property
    def bytes(self) -> int:
        """The size of its files."""
        return sum(self.levels.values())


def buckets_of(table: Table, entries: pa.Table) -> list[Bucket]:
    """The buckets that hold a file, those with most to merge first; files that wait for a bucket are left out.

    Args:
        table: the table.
        entries: its live files, in a table of ``MANIFEST_SCHEMA``.
    """
    placed = entries.filter(pc.greater_equal(entries["bucket"], 0))
    if not len(placed):
        return []
    names = partition_names(table.schema, placed["partition"]) if table.schema.partition_keys else None
    grouped = placed.select([*_OWNER, "level", "file_size"])
    if names is not None:
        grouped = grouped.set_column(0, "partition", names)
    by_level = grouped.group_by([*_OWNER, "level"]).aggregate([("file_size", "sum"), ("file_size", "count")])
    found: dict[tuple[object, int], dict[int, tuple[int, int]]] = {}
    for row in by_level.to_pylist():
        levels = found.setdefault((row["partition"], row["bucket"]), {})
        levels[row["level"]] = (row["file_size_sum"], row["file_size_count"])
    keyed = bool(table.schema.primary_keys)
    made = [
        Bucket(
            f"{partition}/bucket-{bucket}" if names is not None else f"bucket-{bucket}",
            sum(files for _, files in levels.values()),
            {level: size for level, (size, _) in sorted(levels.items())},
            sum(files if not keyed or level == 0 else 1 for level, (_, files) in levels.items()),
        )
        for (partition, bucket), levels in found.items()
    ]
    return sorted(made, key=lambda b: (-b.runs, -b.bytes, b.label))
