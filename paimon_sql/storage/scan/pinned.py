"""Tables pinned to a snapshot, for statements that change the rows that they read."""

from __future__ import annotations

from dataclasses import replace

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.operations.scan import SCAN_BUCKET, SCAN_SNAPSHOT_ID
from paimon_sql.storage.scan.files_to_read import OTHER_BRANCHES
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS


def pinned(table: Table, snapshot: Snapshot | None) -> Table:
    """Return the table at a snapshot for the statement's reads: with its current schema, and without other branches."""
    ignored = TRAVEL_KEYS | OTHER_BRANCHES | {SCAN_BUCKET.key}
    options = {k: v for k, v in table.schema.options.items() if k not in ignored}
    if snapshot is not None:
        options[SCAN_SNAPSHOT_ID.key] = str(snapshot.id)
    return replace(table, schema=replace(table.schema, options=options))
