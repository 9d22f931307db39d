"""``t$manifests``: the manifests that make up the snapshot."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.errors import MissingFileError
from paimon_sql.format.metadata.manifest import ManifestFileMeta
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import BigIntType, string_type
from paimon_sql.storage.data_files.live_files import manifests_of
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import snapshot_to_read
from paimon_sql.system_tables.base import SystemTable, column
from paimon_sql.system_tables.formatting import partition_labels


class Manifests(SystemTable):
    """The data manifests of the snapshot that the read sees, and those of the changelog that its commit made."""

    name = "manifests"
    summary = "One row per manifest of the snapshot."
    columns = (
        column("file_name", string_type(False), "manifest file"),
        column("file_size", BigIntType(False), "its size"),
        column("num_added_files", BigIntType(False), "ADD entries in it"),
        column("num_deleted_files", BigIntType(False), "DELETE entries in it"),
        column("schema_id", BigIntType(False), "schema at writing"),
        column("min_partition_stats", string_type(), "smallest partition values"),
        column("max_partition_stats", string_type(), "largest partition values"),
        column("min_row_id", BigIntType(), "smallest row id, with row tracking"),
        column("max_row_id", BigIntType(), "largest row id, with row tracking"),
    )

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        snapshot = snapshot_to_read(table)
        metas = [] if snapshot is None else [*manifests_of(table, snapshot), *_changelog(table, snapshot)]
        low = pa.array([m.partition_stats.min_values for m in metas], pa.binary())
        high = pa.array([m.partition_stats.max_values for m in metas], pa.binary())
        columns = [
            pa.array([m.file_name for m in metas], pa.string()),
            pa.array([m.file_size for m in metas], pa.int64()),
            pa.array([m.num_added_files for m in metas], pa.int64()),
            pa.array([m.num_deleted_files for m in metas], pa.int64()),
            pa.array([m.schema_id for m in metas], pa.int64()),
            partition_labels(table.schema, low),
            partition_labels(table.schema, high),
            pa.array([m.min_row_id for m in metas], pa.int64()),
            pa.array([m.max_row_id for m in metas], pa.int64()),
        ]
        return pa.Table.from_arrays(columns, schema=arrow_schema(self.columns))


def _changelog(table: Table, snapshot: Snapshot) -> list[ManifestFileMeta]:
    try:
        return table.manifests.read_list(snapshot.changelog_manifest_list)
    except MissingFileError:
        return []  # a tag outlives the changelog of its snapshot
