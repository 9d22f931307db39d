"""``t$snapshots``: one row per retained snapshot."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import BigIntType, TimestampType, string_type
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import SystemTable, column
from paimon_sql.system_tables.clock import wall_clock


class Snapshots(SystemTable):
    """The snapshots that are retained, oldest first; time travel does not apply to them."""

    name = "snapshots"
    summary = "One row per retained snapshot."
    columns = (
        column("snapshot_id", BigIntType(False), "number of the snapshot, from 1"),
        column("schema_id", BigIntType(False), "schema it was written with"),
        column("commit_user", string_type(False), "identity of the writer"),
        column("commit_identifier", BigIntType(False), "the writer's own number of the commit"),
        column("commit_kind", string_type(False), "APPEND, COMPACT, OVERWRITE or ANALYZE"),
        column("commit_time", TimestampType(False, 3), "when it was committed"),
        column("base_manifest_list", string_type(False), "file that lists the manifests of the state before"),
        column("delta_manifest_list", string_type(False), "file that lists the manifests of this change"),
        column("changelog_manifest_list", string_type(), "file that lists the manifests of the changelog"),
        column("total_record_count", BigIntType(), "records in all live files, before merging"),
        column("delta_record_count", BigIntType(), "records added minus records removed"),
        column("changelog_record_count", BigIntType(), "changelog records of this commit"),
        column("watermark", BigIntType(), "event time in milliseconds that a streaming writer has reached"),
        column("next_row_id", BigIntType(), "next free row id"),
        column("operation", string_type(), "what the engine did"),
        column("writer_version", string_type(), "name and version of the writing software"),
    )

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        # Snapshots before the earliest one are being expired.
        earliest = table.snapshots.earliest_id() or 0
        found = [
            {
                "snapshot_id": s.id,
                "schema_id": s.schema_id,
                "commit_user": s.commit_user,
                "commit_identifier": s.commit_identifier,
                "commit_kind": s.commit_kind.value,
                "commit_time": wall_clock(s.time_millis),
                "base_manifest_list": s.base_manifest_list,
                "delta_manifest_list": s.delta_manifest_list,
                "changelog_manifest_list": s.changelog_manifest_list,
                "total_record_count": s.total_record_count,
                "delta_record_count": s.delta_record_count,
                "changelog_record_count": s.changelog_record_count,
                "watermark": s.watermark,
                "next_row_id": s.next_row_id,
                "operation": s.operation,
                "writer_version": s.writer_version,
            }
            for s in table.snapshots.listed()
            if s.id >= earliest
        ]
        return pa.Table.from_pylist(found, schema=arrow_schema(self.columns))
