"""Groups of files that hold the same rows, with the bucket that each stands in."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.data_files.file_groups import FileGroup, file_groups
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class BucketedGroup:
    """A group of files, and where it stands."""

    partition: bytes
    bucket: int
    total_buckets: int
    group: FileGroup


def bucketed_groups(table: Table, snapshot: Snapshot | None, predicate: Predicate | None = None) -> list[BucketedGroup]:
    """The groups of a snapshot's files in the order of their row ids, without statistics.

    Args:
        table: a table with data evolution.
        snapshot: the snapshot.
        predicate: groups without a row for which it is true may be left out.
    """
    return placed_in(table, live_files(table, snapshot, predicate).entries)


def placed_in(table: Table, live: pa.Table) -> list[BucketedGroup]:
    """The groups that live files of a table form, in the order of their row ids, without statistics."""
    held: dict[tuple[bytes, int, int], list[DataFileMeta]] = {}
    for e in entries(live):
        held.setdefault((e.partition, e.bucket, e.total_buckets), []).append(e.file.without_stats())
    found = [BucketedGroup(*place, group) for place, files in held.items() for group in file_groups(table, files)[0]]
    return sorted(found, key=lambda p: p.group.first_row_id)
