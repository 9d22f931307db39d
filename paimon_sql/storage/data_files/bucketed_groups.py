"""File groups of tables with data evolution, with their buckets."""

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
    """A file group and its bucket."""

    partition: bytes
    bucket: int
    total_buckets: int
    group: FileGroup


def bucketed_groups(table: Table, snapshot: Snapshot | None, predicate: Predicate | None = None) -> list[BucketedGroup]:
    """Return the file groups of a snapshot in the order of row ids, without statistics.

    Args:
        table: a table with data evolution.
        snapshot: the snapshot.
        predicate: groups without a matching row may be left out.
    """
    return bucketed_groups_of(table, live_files(table, snapshot, predicate).entries)


def bucketed_groups_of(table: Table, live: pa.Table) -> list[BucketedGroup]:
    """Return the groups of live files in the order of row ids, without statistics."""
    by_bucket: dict[tuple[bytes, int, int], list[DataFileMeta]] = {}
    for e in entries(live):
        by_bucket.setdefault((e.partition, e.bucket, e.total_buckets), []).append(e.file.without_stats())
    found = [BucketedGroup(*key, group) for key, files in by_bucket.items() for group in file_groups(table, files)[0]]
    return sorted(found, key=lambda p: p.group.first_row_id)
