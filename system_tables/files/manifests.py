"""``t$manifests``: the manifests that make up the snapshot."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from paimon_sql.errors import MissingFileError
from paimon_sql.format.metadata.manifest import ManifestFileMeta
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.records import Long, Record, column
from paimon_sql.storage.data_files.live_files import manifests_of
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import version_to_read
from paimon_sql.system_tables.base import RecordTable, SystemTable
from paimon_sql.system_tables.formatting import partition_labels


class Manifests(RecordTable[Table], SystemTable):
    """The data manifests of the snapshot that is read, and the changelog manifests of its commit."""

    summary = "One row per manifest of the snapshot."

    class Row(Record):
        file_name: str = column("manifest file")
        file_size: Long = column("size of the manifest")
        num_added_files: Long = column("ADD entries in it")
        num_deleted_files: Long = column("DELETE entries in it")
        schema_id: Long = column("schema at writing")
        min_partition_stats: str | None = column("min partition values")
        max_partition_stats: str | None = column("max partition values")
        min_row_id: Long | None = column("min row id, with row tracking")
        max_row_id: Long | None = column("max row id, with row tracking")

    def records(self, table: Table) -> Iterable[object]:
        snapshot = version_to_read(table).snapshot
        metas = [] if snapshot is None else [*manifests_of(table, snapshot), *_changelog(table, snapshot)]
        low = pa.array([m.partition_stats.min_values for m in metas], pa.binary())
        high = pa.array([m.partition_stats.max_values for m in metas], pa.binary())
        bounds = (partition_labels(table.schema, values).to_pylist() for values in (low, high))
        for m, smallest, largest in zip(metas, *bounds, strict=True):
            yield self.row(m, min_partition_stats=smallest, max_partition_stats=largest)


def _changelog(table: Table, snapshot: Snapshot) -> list[ManifestFileMeta]:
    try:
        return table.manifests.read_list(snapshot.changelog_manifest_list)
    except MissingFileError:
        return []  # a tag outlives the changelog of its snapshot
