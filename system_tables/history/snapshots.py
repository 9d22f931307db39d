"""``t$snapshots``: one row per retained snapshot."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.format.schema.records import Long, Record, Timestamp, column
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import RecordTable, SystemTable
from paimon_sql.system_tables.formatting import wall_clock


class Snapshots(RecordTable[Table], SystemTable):
    """The retained snapshots, oldest first; time travel does not apply."""

    summary = "One row per retained snapshot."

    class Row(Record):
        snapshot_id: Long = column("number of the snapshot, from 1")
        schema_id: Long = column("schema it was written with")
        commit_user: str = column("identity of the writer")
        commit_identifier: Long = column("the writer's identifier of the commit")
        commit_kind: str = column("APPEND, COMPACT, OVERWRITE or ANALYZE")
        commit_time: Timestamp = column("when it was committed")
        base_manifest_list: str = column("manifest list of the previous state")
        delta_manifest_list: str = column("manifest list of this commit's changes")
        changelog_manifest_list: str | None = column("manifest list of the changelog")
        total_record_count: Long | None = column("records in all live files, before merging")
        delta_record_count: Long | None = column("records added minus records removed")
        changelog_record_count: Long | None = column("changelog records of this commit")
        watermark: Long | None = column("watermark of a streaming writer, in milliseconds")
        next_row_id: Long | None = column("next free row id")
        operation: str | None = column("operation of the engine")
        writer_version: str | None = column("name and version of the writing software")

    def records(self, table: Table) -> Iterable[object]:
        # Snapshots before the earliest one are being expired.
        earliest = table.snapshots.earliest_id() or 0
        for s in (s for s in table.snapshots.listed() if s.id >= earliest):
            kind, time = s.commit_kind.value, wall_clock(s.time_millis)
            yield self.row(s, snapshot_id=s.id, commit_kind=kind, commit_time=time)
